"""No text of an alert forges a mention, link, markup, field, header or receiver, and every limit holds."""

from __future__ import annotations

import html
import json
import re
import string
from collections.abc import Iterator
from email import message_from_bytes
from email.policy import default
from html.parser import HTMLParser
from typing import Any

import pytest
from alert_parts import SAMPLE, an_alert
from chat_endpoints import KEY, refusal
from hypothesis import example, given
from hypothesis import strategies as st

from tracejury.collector.outbound.channels.config import MailConfig
from tracejury.collector.outbound.channels.discord import discord_digest, discord_message
from tracejury.collector.outbound.channels.mail_message import alert_mail, digest_mail
from tracejury.collector.outbound.channels.opsgenie import OpsgenieForm
from tracejury.collector.outbound.channels.pagerduty import PagerDutyForm
from tracejury.collector.outbound.channels.signed_json import SignedForm
from tracejury.collector.outbound.channels.slack import slack_digest, slack_message
from tracejury.collector.outbound.channels.teams import teams_digest, teams_message
from tracejury.collector.outbound.channels.texts import fitted, units
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.text.terminal import safe

FRAGMENTS = (
    "<!channel>", "<!here|x>", "<@U012>", "<#C012>", "<https://evil.example|bank>", "@everyone", "<@&1>", "<t:1:R>",
    "[bank](https://evil.example)", "![x](http://e/)", "https://evil.example", "**b**", "_i_", "~~s~~", "`c`", "```\n",
    "> q", "# h", "- l", "1. l", "|| s ||", "<at>Ann</at>", "{{DATE(2017-02-14T06:08:00Z)}}", "{{{", "</td><script>",
    '"><a href="http://e">', "&lt;", "&amp;", "\r\nBcc: evil@example.com\r\n\r\nbody", "\nTo: evil@example.com",
    "=?utf-8?q?=0aBcc:e=40e?=", '", "routing_key": "x', "\\", "\\\\n", "\x00", "\x1b[2J", "\u202e", "\u200b", "\ud800",
    "\u2028", "\U0001f9d1\u200d\U0001f680", "é", "…", " ", "\n",
)  # fmt: skip
TEXTS = st.lists(st.sampled_from(FRAGMENTS) | st.text(max_size=5), max_size=12).map("".join)
LONG = TEXTS.map(lambda text: text * 400)
ALERTS = st.builds(
    Alert,
    id=TEXTS,
    project=TEXTS,
    rule=TEXTS,
    key=TEXTS,
    state=st.sampled_from(AlertState),
    severity=st.just(SAMPLE.severity),
    title=TEXTS | LONG,
    text=TEXTS | LONG,
    facts=st.lists(st.tuples(TEXTS | LONG, TEXTS | LONG), max_size=12),
    link=TEXTS | TEXTS.map("https://pages.example/{}".format) | st.just(SAMPLE.link),
    at=st.integers(1, 2**62),
)
MEGABYTE = [
    an_alert(title=part * many, text=part * many, key=part * many, facts=((part * many, part * many),) * 30)
    for part in ("a", "<", "\\", '"', "\U0001f680", "\x00", "{", "*", "é\n", "\u202e", "\ud800")
    for many in [(1 << 20) // len(part)]
]
PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
MAIL = MailConfig.model_validate({"host": "h", "sender": "jury@example.com", "to": ["ops@example.com"]})


def texts_of(value: Any) -> Iterator[str]:
    """All strings of JSON, without keys."""
    match value:
        case str():
            yield value
        case list():
            for each in value:
                yield from texts_of(each)
        case dict():
            for each in value.values():
                yield from texts_of(each)


def is_cut_of(shown: str, whole: str) -> bool:
    """Whether a text is another's beginning, with the mark of a cut where something is left out."""
    return shown == whole or (shown.endswith("…") and whole.startswith(shown[:-1]))


@given(ALERTS)
def test_slack(alert: Alert) -> None:
    """Texts are plain, in which there is no markup; the link is ours."""
    for said in (slack_message(alert), slack_digest([alert] * 3)):
        assert refusal("slack", bytes_of(said)) == ""
        assert not re.search("[<>]", said["text"])
    blocks = slack_message(alert)["blocks"]
    assert [b["text"]["type"] for b in blocks if "text" in b].count("mrkdwn") <= 1
    assert is_cut_of(html.unescape(blocks[1]["text"]["text"]), safe(alert.text) or "-")


@given(ALERTS)
def test_teams(alert: Alert) -> None:
    """Texts are runs, without dates; each part has the keys that we gave it."""
    for said in (teams_message(alert), teams_digest([alert] * 15)):
        assert refusal("teams", bytes_of(said)) == ""


@given(ALERTS)
def test_discord(alert: Alert) -> None:
    """Every punctuation mark is escaped, and nobody is notified."""
    for said in (discord_message(alert), discord_digest([alert] * 15)):
        assert refusal("discord", bytes_of(said)) == ""
        assert said["allowed_mentions"] == {"parse": []}
        for embed in said["embeds"]:
            texts = [embed["title"], embed.get("description", ""), *texts_of(embed.get("fields", []))]
            for text in texts:
                if text != "-":  # ours
                    assert not PUNCTUATION.search(re.sub(r"\\[!-/:-@\[-`{-~]", "", text))
    description = re.sub(r"\\(.)", r"\1", discord_message(alert)["embeds"][0]["description"])
    assert is_cut_of(description, safe(alert.text))


@given(ALERTS)
def test_pagers(alert: Alert) -> None:
    """The incident is that of rule and key; Opsgenie sees no HTML."""
    event = PagerDutyForm("http://p", KEY).message(alert)
    assert refusal("pagerduty", event.body) == ""
    assert json.loads(event.body)["routing_key"] == KEY
    request = OpsgenieForm("http://o", KEY).message(alert)
    is_close = alert.state is AlertState.RESOLVED
    assert refusal("opsgenie", request.body, "opsgenie-close" if is_close else "") == ""
    assert re.fullmatch(r"http://o/v2/alerts(/tracejury-[0-9a-f]{64}/close\?identifierType=alias)?", request.url)
    assert request.headers == {"authorization": f"GenieKey {KEY}"}
    assert not [text for text in texts_of(json.loads(request.body)) if "<" in text or ">" in text]


@given(ALERTS)
def test_signed_json(alert: Alert) -> None:
    """Fields are ours, and headers are ASCII on one line."""
    request = SignedForm("team", "http://w", bytes(32), clock=lambda: 1.0).message(alert)
    said = json.loads(request.body)
    assert list(said) == ["type", "timestamp", "schema", "id", "channel", "data"]
    assert list(said["data"]["alert"]) == list(Alert.__slots__)
    assert all(value.isascii() and value.isprintable() for value in request.headers.values())


class Seen(HTMLParser):
    """Tags, links and text of HTML."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.links: list[str | None] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name not in {"align", "style"}]

    def handle_data(self, data: str) -> None:
        self.text += data


@given(ALERTS)
@example(an_alert(title="x\r\nBcc: evil@example.com", text="\r\n.\r\nMAIL FROM:<e@e>", key="\r\n"))
@example(an_alert(title="<!channel>" * 8 + "=?utf-8?q?=0aBcc:e=40e?="))
def test_mail(alert: Alert) -> None:
    """Headers, receivers and parts are ours; HTML has our tags, and links to our page alone."""
    for made in (alert_mail(alert, MAIL), digest_mail([alert, SAMPLE], MAIL)):
        sent = made.as_bytes()
        assert sent.isascii()
        assert max(map(len, sent.split(b"\r\n"))) < 998
        assert b"\n" not in sent.replace(b"\r\n", b"")
        ids = re.findall(rb"^(?:Message-ID|References|In-Reply-To): (.*)\r\n(?! )", sent, re.MULTILINE)
        assert all(re.fullmatch(rb"<[!-;=?-~]+@[a-z.]+>", one) for one in ids), ids
        read = message_from_bytes(sent, policy=default)
        assert len(ids) == len({"Message-ID", "References", "In-Reply-To"} & set(read.keys()))
        assert not set(read.keys()) - {
            "Subject", "From", "To", "Date", "Message-ID", "References", "In-Reply-To", "Auto-Submitted",
            "MIME-Version", "Content-Type",
        }  # fmt: skip
        assert len(set(read.keys())) == len(read.keys())
        assert (read["From"], read["To"]) == ("jury@example.com", "ops@example.com")
        assert not read.defects
        plain, page = read.iter_parts()
        seen = Seen(page.get_content())
        assert seen.tags <= {"html", "body", "h3", "p", "table", "tr", "th", "td", "a"}
        assert all(link is not None and link.startswith(("https://", "http://")) for link in seen.links)
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\u202e]", plain.get_content() + seen.text)


@given(st.text() | TEXTS, st.integers(0, 3))
def test_a_link_is_whole_and_of_the_web_or_missing(path: str, which: int) -> None:
    """No other scheme, and no character that ends it."""
    start = ("https://pages.example/", "javascript:", "", "http://[::1]:8321/")[which]
    (embed,) = discord_message(an_alert(link=start + path))["embeds"]
    if "url" in embed:
        assert re.fullmatch(r"https?://[\x21-\x7e]+", embed["url"])
        assert not set(embed["url"]) & set("<>\"'`|\\^{} ")
    else:
        assert which in {1, 2} or len(path) > 100


@given(TEXTS | LONG, st.integers(1, 50))
def test_cuts_are_marked_and_never_split_what_is_escaped(text: str, most: int) -> None:
    """Nothing is left out where it fits."""
    cut = fitted(text, most, lambda char: f"({char})")
    assert units(cut) <= most
    assert is_cut_of(cut, "".join(f"({char})" for char in safe(text)))


@pytest.mark.parametrize("alert", MEGABYTE, ids=lambda alert: ascii(alert.title[0]))
def test_limits_hold_for_texts_of_a_megabyte(alert: Alert) -> None:
    """Of each service, whatever escaping does to their length."""
    for made in (slack_message(alert), slack_digest([alert] * 30)):
        assert refusal("slack", bytes_of(made)) == ""
    for made in (teams_message(alert), teams_digest([alert] * 30)):
        assert refusal("teams", bytes_of(made)) == ""
    for made in (discord_message(alert), discord_digest([alert] * 30)):
        assert refusal("discord", bytes_of(made)) == ""
    assert refusal("pagerduty", PagerDutyForm("http://p", KEY).message(alert).body) == ""
    created = OpsgenieForm("http://o", KEY).message(alert).body
    assert refusal("opsgenie", created) == ""
    assert sum(len(name) + len(value) for name, value in json.loads(created)["details"].items()) <= 8_000
    assert len(SignedForm("team", "http://w", bytes(32)).digest([alert] * 3).body) < 1 << 20
    assert len(alert_mail(alert, MAIL).as_bytes()) < 1 << 20
    assert len(alert_mail(alert, MAIL)["Subject"]) <= 200
