"""`/api/ledger` and `tracejury ledger`: last words of judges, what they cost, and why a trace has no score."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner, Result
from served_api import KNOWN, NOW, PLAIN, SECOND, Api, ledger_entry, row, served

from tracejury.collector.api.params import LEDGER_SINCE
from tracejury.collector.api.services import Services, no_sessions
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.cli.root import root
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.ledger import JudgesStatus, LedgerQuery
from tracejury.schemas.text.moments import parse_since
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome, SubjectKind

HOUR = 3_600 * SECOND
ON = JudgesStatus(on=True, model="some/model", caps={"usd_per_day": 10.0}, pending=3, in_flight=2)


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, ["ledger", *args], env={"TRACEJURY_URL": api.url, "COLUMNS": "250"})


def spent(api: Api, *sums: Spend) -> None:
    """What calls cost."""
    api.reader.ledger.given["spend"] = lambda since: [one for one in sums if one.hour >= since]


def test_a_word_in_full(api: Api) -> None:
    """Every field, with null for what there is not."""
    api.put_ledger(ledger_entry(1, findings=2, probability=0.25))
    (item,) = api.get("/api/ledger")["items"]
    assert item == {
        "trace_id": KNOWN, "service": "svc",
        "subject": {"kind": "agent-run", "id": "run-1", "trace_id": KNOWN, "agent": "agent", "session_id": None},
        "judge": "goal-fulfilment", "version": "v1", "outcome": "done", "reason": None, "model": "some/model",
        "score": 2, "value": None, "not_applicable": False, "quote_dropped": False,
        "sampling_probability": 0.25, "findings": 2, "at": "2026-11-20T10:09:47.000000Z",
    }  # fmt: skip


def test_a_word_without_a_score(api: Api) -> None:
    """The reason says why; a trace's own word has no agent."""
    reason = "at the cap of $1 a day"
    word = ledger_entry(1, outcome=Outcome.OVER_BUDGET, reason=reason, model="", kind=SubjectKind.TRACE)
    api.put_ledger(replace(word, agent=""))
    (item,) = api.get("/api/ledger")["items"]
    assert (item["outcome"], item["reason"], item["score"], item["model"]) == ("over-budget", reason, None, None)
    assert item["subject"]["agent"] is None


@pytest.mark.parametrize("count", [0, 1, 2, 3, 5])
def test_pages_cover_all_words_once(api: Api, count: int) -> None:
    """Latest first, page by page of two; `next` is null exactly on the last page."""
    api.put_ledger(*(ledger_entry(n // 2, subject_id=f"run-{n}") for n in range(count)))
    seen: list[str] = []
    cursor = ""
    while True:
        page = api.get("/api/ledger", limit="2", **({"cursor": cursor} if cursor else {}))
        seen += [item["subject"]["id"] for item in page["items"]]
        if page["next"] is None:
            break
        cursor = page["next"]
    assert sorted(seen) == [f"run-{n}" for n in range(count)]
    moments = [int(name.removeprefix("run-")) // 2 for name in seen]
    assert moments == sorted(moments, reverse=True)


def test_all_filters_reach_the_ledger(api: Api) -> None:
    """Each parameter becomes the field of the question that it names."""
    api.put_known()
    given = {"judge": "j", "outcome": "failed", "service": "s", "since": "2h", "limit": "7", "all": "true"}
    api.get("/api/ledger", trace=KNOWN.upper(), **given)
    since = NOW - 2 * HOUR
    assert api.reader.ledger.asked[0] == LedgerQuery(8, KNOWN, "j", Outcome.FAILED, "s", since, everything=True)


@pytest.mark.parametrize(("given", "since"), [({}, parse_since(LEDGER_SINCE, NOW)), ({"trace": KNOWN}, 0)])
def test_without_since_it_is_the_last_day(api: Api, given: dict[str, str], since: int) -> None:
    """Of a trace that is named, everything."""
    api.put_known()
    api.get("/api/ledger", **given)
    assert api.reader.ledger.asked[0].since == since


def test_the_summary_is_of_all_pages(api: Api) -> None:
    """Counts by outcome."""
    api.put_ledger(*(ledger_entry(n) for n in range(3)), ledger_entry(9, outcome=Outcome.FAILED))
    assert api.get("/api/ledger", limit="1")["summary"] == {"done": 3, "failed": 1}


def test_spend_of_this_hour_and_this_day(api: Api) -> None:
    """By the clock of UTC; services by what they cost; the caps beside."""
    day, hour = NOW - NOW % (24 * HOUR), NOW - NOW % HOUR
    api.status[0] = ON
    spent(
        api,
        Spend(day - HOUR, "yesterday", 99.0, 9, 9), Spend(day, "shop", 1.0, 100, 1), Spend(hour, "shop", 0.5, 50, 2, 7),
        Spend(hour, "desk", 2.0, 10, 1, purpose="lookup"),
    )  # fmt: skip
    spend = api.get("/api/ledger")["spend"]
    assert spend["hour"] == {
        "since": "2026-11-20T10:00:00.000000Z",
        "usd": 2.5,
        "tokens": 60,
        "unpriced": 7,
        "calls": 3,
    }
    assert spend["day"] == {
        "since": "2026-11-20T00:00:00.000000Z",
        "usd": 3.5,
        "tokens": 160,
        "unpriced": 7,
        "calls": 4,
    }
    assert spend["services"] == [
        {"service": "desk", "usd": 2.0, "tokens": 10}, {"service": "shop", "usd": 1.5, "tokens": 150},
    ]  # fmt: skip
    assert spend["purposes"] == [{"purpose": "lookup", "usd": 2.0, "tokens": 10, "calls": 1}]
    assert spend["caps"] == {"usd_per_day": 10.0}


def test_what_the_process_does_with_judges(api: Api) -> None:
    """Off unless it says otherwise."""
    off = {"on": False, "model": None, "pending": 0, "in_flight": 0, "trouble": None, "failing": None}
    off |= {"missing_keys": None, "stopped": None}
    assert api.get("/api/ledger")["judges"] == off
    api.status[0] = ON
    on = off | {"on": True, "model": "some/model", "pending": 3, "in_flight": 2}
    assert api.get("/api/ledger")["judges"] == on


def test_a_trace_without_a_word_says_why(api: Api) -> None:
    """Also past its last page, and whatever the filters leave over; lists over traces have no such line."""
    api.put_rows(replace(row(0), state=TraceState.OPEN), replace(row(1), trace_id=PLAIN, not_judged=NotJudged.WAITING))
    assert "no LLM judge is switched on" in api.get("/api/ledger", trace=KNOWN)["why"]
    api.status[0] = ON
    assert "not settled yet" in api.get("/api/ledger", trace=KNOWN)["why"]
    assert "not judged at all" in api.get("/api/ledger", trace=PLAIN)["why"]
    assert api.get("/api/ledger")["why"] is None
    api.put_ledger(ledger_entry(1))
    assert api.get("/api/ledger", trace=KNOWN, outcome="failed") | {"spend": 0, "judges": 0} == {
        "items": [], "next": None, "summary": {"done": 2}, "why": None, "spend": 0, "judges": 0, "unknown": {},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("params", "status", "part"),
    [
        ({"trace": "f" * 32}, 404, "is stored"),
        ({"outcome": "fine"}, 422, "outcome"),
        ({"since": "soon"}, 422, "since"),
        ({"cursor": "x"}, 422, "cursor"),
        ({"limit": "0"}, 422, "limit"),
        ({"all": "perhaps"}, 422, "all"),
        ({"bogus": "1"}, 422, "bogus"),
    ],
)
def test_what_is_refused(api: Api, params: dict[str, str], status: int, part: str) -> None:
    """One line that names it."""
    code, detail = api.get("/api/ledger", **params)
    assert code == status
    assert part in detail


def test_judging_again_tells_how_many_runs_wait(api: Api) -> None:
    """It answers after the detectors; what LLM judges have yet to do is counted, where they are on."""
    api.put_ledger(*(ledger_entry(n, outcome=Outcome.PENDING) for n in range(2)))
    body = {"trace_id": KNOWN}
    assert api.client.post("/api/judge", json=body).json()["items"][0]["pending_judges"] == 0
    api.status[0] = ON
    assert api.client.post("/api/judge", json=body).json()["items"][0]["pending_judges"] == 2
    shown = CliRunner().invoke(root, ["judge", "--trace", KNOWN], env={"TRACEJURY_URL": api.url})
    assert "2 waiting for LLM judges" in shown.stdout


def test_a_session_that_is_judged_again_waits_itself(api: Api) -> None:
    """Its checks are asked for once it is closed, after the answer."""
    api.put_rows(*(replace(row(n), session_id="chat") for n in range(2)))
    for close_session, told in (
        (no_sessions, "2 traces judged, 0 errors\n"),
        (lambda _service, _session: True, "; 1 waiting for LLM judges (agent runs,"),
    ):
        services = Services(
            api.reader, api.judge, problems=tuple, metrics=bytes, judges=lambda: ON, close_session=close_session
        )
        with served(create_web_app(services)) as url:
            found = CliRunner().invoke(
                root, ["judge", "--session", "chat"], env={"TRACEJURY_URL": url, "COLUMNS": "200"}
            )
        assert told in found.stdout


def test_the_command_shows_words_summary_spend_and_judges(api: Api) -> None:
    """All that one needs to know, on one screen."""
    api.status[0] = ON
    api.put_ledger(ledger_entry(1), ledger_entry(2, outcome=Outcome.FAILED, reason="no usable answer"))
    hour = NOW - NOW % HOUR
    spent(
        api,
        Spend(hour, "shop", 0.3, 1000, 1, 34, "closing"), Spend(hour, "shop", 0.2, 234, 1, purpose="lookup"),
    )  # fmt: skip
    result = run(api)
    assert result.exit_code == 0
    for part in (
        KNOWN, "svc / agent", "agent-run run-1", "goal-fulfilment", "2 of 3", "failed", "no usable answer",
        "outcomes: 1 done, 1 failed", "today (UTC): $0.5000, 1,234 tokens, 2 calls (34 tokens of unknown price)",
        "today's calls: closing 1 (1,000 tokens), lookup 1 (234 tokens)",
        "caps: usd_per_day 10",
        "LLM judges: some/model, 3 waiting, 2 in flight (agent runs, exchanges, sessions, traces)",
    ):  # fmt: skip
        assert part in result.stdout
    assert result.stdout.startswith("outcomes: "), "the summary comes first"
    assert result.stdout.index("LLM judges: some/model") < result.stdout.index(KNOWN)


def test_the_spend_of_services_that_are_not_named_stands_in_a_line(api: Api) -> None:
    """So that the lines add up to the day."""
    hour = NOW - NOW % HOUR
    spent(api, *(Spend(hour, f"s{n}", 1.0 - n / 10, 10, 1) for n in range(7)))
    shown = run(api).stdout
    assert "  s4 $0.6000" in shown
    assert "  2 more services $0.9000" in shown
    assert "s5" not in shown


def test_the_command_says_why_a_trace_has_no_score(api: Api) -> None:
    """On a line of its own."""
    api.put_rows(replace(row(0), not_judged=NotJudged.WAITING))
    result = run(api, "--trace", KNOWN)
    assert result.exit_code == 0
    assert "\nno score: it has just come" in result.stdout
    assert result.stdout.endswith("\n\nno judge has said anything\n")
    assert "LLM judges: off" in result.stdout
    api.status[0] = replace(ON, trouble="no key")
    assert "LLM judges do not work: no key" in run(api).stdout


def test_the_command_says_that_the_model_cannot_be_reached_and_writes_large_caps_out(api: Api) -> None:
    """What waits would otherwise wait without a word; nobody reads 1e+08."""
    api.status[0] = replace(ON, failing="openai/x cannot be reached", caps={"unpriced_tokens_per_day": 1e8})
    shown = run(api).stdout
    assert "the latest call brought nothing: openai/x cannot be reached" in shown
    assert "caps: unpriced_tokens_per_day 100,000,000" in shown


def test_a_cap_on_tokens_shows_its_use_and_that_it_stops_calls(api: Api) -> None:
    """On the page, on the command line and in the API: what is used this hour, and what becomes of runs meanwhile."""
    why = "judges.budget tokens_per_hour until 11:00 UTC: 1,900,000 of 2,000,000 tokens spent or reserved"
    caps = {"tokens_per_hour": 2e6, "tokens_per_day": 1e7, "usd_per_hour": 4.0}
    api.status[0] = replace(ON, caps=caps, stopped=why)
    hour = NOW - NOW % HOUR
    spent(api, Spend(hour, "shop", 1.0, 1_900_000, 9), Spend(hour - HOUR, "shop", 1.0, 100_000, 9))
    answer = api.get("/api/ledger")
    assert answer["spend"]["used"] == {"tokens_per_hour": 1_900_000, "tokens_per_day": 2_000_000, "usd_per_hour": 1.0}
    assert answer["judges"]["stopped"] == why
    shown = run(api).stdout
    assert "tokens_per_hour 2,000,000 (1,900,000 used)" in shown
    assert f"a cap stops calls, runs are left over-budget: {why}" in shown
    page = api.client.get("/judges", headers={"Accept": "text/html"}).text.replace("\u202f", " ")
    for part in (
        "A cap stops calls", why, "over-budget", "cap 2 000 000 tokens, 95.0 % used", "cap $4.00, 25.0 % used",
        "cap 10 000 000 tokens, 20.0 % used",
    ):  # fmt: skip
        assert part in page
    api.status[0] = replace(ON, caps=caps)
    assert "cap stops calls" not in run(api).stdout + api.client.get("/judges", headers={"Accept": "text/html"}).text


def test_a_missing_key_shows_before_anything_is_asked(api: Api) -> None:
    """On the page, on the command line and in the API."""
    why = "the environment holds no key for openai/x (not set: OPENAI_API_KEY)"
    api.status[0] = replace(ON, missing_keys=why)
    assert api.get("/api/ledger")["judges"]["missing_keys"] == why
    for text in (run(api).stdout, *(api.client.get(path).text for path in ("/judges", "/overview/judging"))):
        assert why in text


def test_the_command_for_programs(api: Api) -> None:
    """The page as it is, all pages put together up to the limit."""
    api.put_ledger(*(ledger_entry(n) for n in range(700)))
    page: dict[str, Any] = json.loads(run(api, "--limit", "600", "--format", "json").stdout)
    assert [item["subject"]["id"] for item in page["items"]] == [f"run-{n}" for n in range(699, 99, -1)]
    assert page["summary"] == {"done": 700}
    assert "there are more than 5" in run(api, "--limit", "5").stderr
    assert json.loads(run(api, "--limit", "900", "--format", "json").stdout)["next"] is None


def test_filters_of_the_command_reach_the_ledger(api: Api) -> None:
    """Each option is the parameter of that name."""
    api.put_known()
    run(api, "--trace", KNOWN, "--judge", "j", "--outcome", "failed", "--service", "s", "--all", "--limit", "9")
    expected = LedgerQuery(10, KNOWN, "j", Outcome.FAILED, "s", everything=True)
    assert api.reader.ledger.asked[0] == expected


@pytest.mark.parametrize(
    ("args", "code"), [(("--trace", "f" * 32), 4), (("--outcome", "fine"), 2), (("--since", "soon"), 2)]
)
def test_misuse_of_the_command(api: Api, args: tuple[str, ...], code: int) -> None:
    """One line and the exit code that every command has for it."""
    result = run(api, *args)
    assert (result.exit_code, result.stderr.count("\n")) == (code, 1)


def test_what_judges_say_is_no_terminal_code(api: Api) -> None:
    """Reasons come from models, names from spans."""
    evil = "\x1b[2J\x07\u202eowned"
    word = ledger_entry(1, reason=evil, judge=evil, model=evil, subject_id=evil)
    api.status[0] = replace(ON, model=evil)
    api.put_ledger(replace(word, service=evil, agent=evil))
    shown = run(api).stdout
    assert "\x1b" not in shown
    assert "\u202e" not in shown
    assert "\\x1b[2J" in shown
