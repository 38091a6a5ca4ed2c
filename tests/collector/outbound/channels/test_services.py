"""Each service takes what its channel sends, by the schema and limits that its vendor publishes."""

from __future__ import annotations

import json
from functools import reduce
from operator import getitem

import pytest
from alert_parts import FIRED_AT, RESOLVED, SAMPLE, a_channel, an_alert
from chat_endpoints import KEY, ChatEndpoint, chat_endpoint
from hook_server import SECRET, hook_server

from tracejury.schemas.errors import PermanentError
from tracejury.schemas.taxonomy import Severity

SECRETS = {"pagerduty": KEY, "opsgenie": KEY}
CHATS = ("slack", "teams", "discord")
LINK = "https://tracejury.example/services/checkout?window=1h&of=errors"


@pytest.mark.parametrize("kind", [*CHATS, "pagerduty", "opsgenie"])
async def test_an_alert_and_its_resolution_arrive(kind: str) -> None:
    """With title, text, facts and link, as the service takes them."""
    with chat_endpoint(kind) as service:
        channel = a_channel(kind, service.url, SECRETS.get(kind, ""))
        await channel.send(SAMPLE)
        await channel.send(RESOLVED)
        fired, resolved = (json.dumps(said, ensure_ascii=False).replace("\\\\", "") for said in service.said)
    assert not service.problems
    for part in ("checkout: 31 % of runs have an error", "hour's interval is 24 to 38 %", LINK.partition("&")[0]):
        assert part in fired
    assert "31 %" in fired
    assert "3 % of runs" in resolved


@pytest.mark.parametrize("kind", CHATS)
async def test_a_digest_lists_alerts_and_counts_the_rest(kind: str) -> None:
    """Ten of them, in one message."""
    many = [an_alert(id=f"a{n}", key=f"s{n}", title=f"service number {n}") for n in range(12)]
    with chat_endpoint(kind) as service:
        await a_channel(kind, service.url).send_digest([*many, RESOLVED])
        (said,) = service.said
    text = json.dumps(said)
    assert not service.problems
    assert "13 alerts: 12 firing, 1 resolved" in text
    assert [f"service number {n}" in text for n in range(12)] == [True] * 10 + [False] * 2
    assert "and 3 more" in text
    assert text.count("https://tracejury.example") == 10


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
async def test_a_pager_closes_the_incident_that_it_opened(kind: str) -> None:
    """By what rule and key say, although title, text and severity differ; another key is another incident."""
    with chat_endpoint(kind) as service:
        channel = a_channel(kind, service.url, KEY)
        await channel.send(SAMPLE)
        await channel.send(an_alert(title="worse", severity=Severity.MEDIUM))
        assert len(service.incidents) == 1
        for other in (an_alert(key="other"), an_alert(rule="other"), an_alert(project="other")):
            await channel.send(other)
        assert len(service.incidents) == 4
        await channel.send(RESOLVED)
        assert len(service.incidents) == 3
    assert not service.problems


@pytest.mark.parametrize("kind", ["pagerduty", "opsgenie"])
async def test_a_pager_gets_no_digest(kind: str) -> None:
    """Nothing is sent."""
    with chat_endpoint(kind) as service:
        with pytest.raises(PermanentError, match="a pager gets no digest"):
            await a_channel(kind, service.url, KEY).send_digest([SAMPLE, RESOLVED])
        assert not service.said


def severities(service: ChatEndpoint, *place: str) -> list[object]:
    return [reduce(getitem, place, said) for said in service.said]


async def test_severities_are_told_in_the_pagers_terms() -> None:
    """HIGH pages; LOW does not wake anybody."""
    with chat_endpoint("pagerduty") as duty, chat_endpoint("opsgenie") as genie:
        for severity in (Severity.HIGH, Severity.MEDIUM, Severity.LOW):
            await a_channel("pagerduty", duty.url, KEY).send(an_alert(severity=severity))
            await a_channel("opsgenie", genie.url, KEY).send(an_alert(severity=severity))
        assert severities(duty, "payload", "severity") == ["critical", "error", "warning"]
        assert severities(genie, "priority") == ["P1", "P3", "P5"]


async def test_a_webhook_gets_the_alert_as_signed_json() -> None:
    """Every field; the id is the same in each attempt."""
    with hook_server() as server:
        channel = a_channel("webhook", server.url, SECRET)
        await channel.send(SAMPLE)
        await channel.send(SAMPLE)
        await channel.send(RESOLVED)
        await channel.send_digest([SAMPLE, RESOLVED])
        first, again, resolved, digest = server.received
    assert all(each.signed for each in server.received)
    assert first.id == again.id == first.said["id"]
    assert len({first.id, resolved.id, digest.id}) == 3
    assert {**first.said, "id": ""} == {
        "type": "alert.firing",
        "timestamp": "2026-11-18T11:06:40.123456Z",
        "schema": 1,
        "id": "",
        "channel": "team",
        "data": {
            "alert": {
                "id": "alert-1",
                "project": "",
                "rule": "error-rate",
                "key": "checkout",
                "state": "firing",
                "severity": "HIGH",
                "title": SAMPLE.title,
                "text": SAMPLE.text,
                "facts": [{"name": "service", "value": "checkout"}, {"name": "rate", "value": "31 %"}],
                "link": LINK,
                "at": "2026-11-18T11:06:40.123456Z",
            }
        },
    }
    assert FIRED_AT // 10**9 == 1_795_000_000
    assert resolved.said["type"] == "alert.resolved"
    assert (digest.said["type"], digest.said["data"]["count"]) == ("alert.digest", 2)
    assert [each["id"] for each in digest.said["data"]["alerts"]] == ["alert-1", "alert-2"]


@pytest.mark.parametrize("kind", [*CHATS, "pagerduty", "opsgenie"])
async def test_empty_texts_are_taken_too(kind: str) -> None:
    """And an alert without facts or link."""
    empty = an_alert(title="", text="", key="", facts=(), link="")
    with chat_endpoint(kind) as service:
        channel = a_channel(kind, service.url, SECRETS.get(kind, ""))
        await channel.send(empty)
        await channel.send(an_alert(facts=(("", ""),), title="", text=" \n "))
    assert not service.problems
