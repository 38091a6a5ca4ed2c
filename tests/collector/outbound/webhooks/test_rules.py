"""Of what a webhook is told."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from store_parts import a_finding

from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.outbound.webhooks.rules import WebhookRules, news
from tracejury.judges.grouping import standing_errors
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import FindingState, Verification
from tracejury.schemas.queries.webhook_events import GIVEN_UP, SENT, Event, Found, Looked, message_id
from tracejury.schemas.taxonomy import Severity

CONFIG = WebhookConfig(name="ops", url="http://127.0.0.1:1/", secret="${S}")


def found(
    *, service: str = "shop", agent: str = "planner", conventions: tuple[str, ...] = ("genai",), **of: Any
) -> Found:
    """A finding with its place."""
    return Found(a_finding(**of), service, agent, "", "open", conventions, judged_at=9, received=8)


def told(
    rules: WebhookRules, *some: Found, known: dict[tuple[str, Event], str] | None = None, since: int = 0
) -> list[Event]:
    """Which events are news."""
    errors = tuple(map(summary, standing_errors((one.finding for one in some), ())))
    return [one.event for one in news(Looked(some, known or {}, errors), rules, since)]


@pytest.mark.parametrize(
    ("setting", "fits", "not_fit"),
    [
        ({"severity": "MEDIUM"}, {"severity": Severity.MEDIUM}, {"severity": Severity.LOW}),
        ({"categories": ["Resource Abuse"]}, {}, {"category": "Timeout Issues"}),
        ({"judges": ["loops"]}, {}, {"judge": "failures"}),
        ({"services": ["shop"]}, {}, {"service": "bank"}),
        ({"agents": ["planner"]}, {}, {"agent": "reader"}),
        ({"profile": "0.5"}, {"confidence": 0.5}, {"confidence": 0.49}),
        ({"profile": ""}, {"confidence": 0.4}, {"confidence": 0.4, "conventions": ()}),
        ({"states": ["current"]}, {}, {"state": FindingState.PROVISIONAL}),
        ({}, {"state": FindingState.PROVISIONAL}, {"state": FindingState.RETRACTED}),
        ({"only_verified": True}, {"verification": Verification.VERIFIED}, {"verification": Verification.UNVERIFIED}),
        ({"only_verified": True}, {"verification": Verification.VERIFIED}, {}),
    ],
)
def test_filters(setting: dict[str, Any], fits: dict[str, Any], not_fit: dict[str, Any]) -> None:
    """Each keeps what it names and leaves out the rest."""
    rules = WebhookRules.of(WebhookConfig.model_validate({**CONFIG.model_dump(), **setting}))
    assert told(rules, found(**fits)) == [Event.FOUND]
    assert told(rules, found(**not_fit)) == []


def test_a_backfilled_trace_is_told_of_unless_the_webhook_says_no() -> None:
    """By the time from its end to its arrival: one of last year, one that has just ended."""
    fresh = replace(found(), received=10**18, ended=10**18 - 10**9)
    old = replace(fresh, ended=10**18 - 365 * 86_400 * 10**9)
    rules = WebhookRules.of(WebhookConfig.model_validate({**CONFIG.model_dump(), "max_trace_age_seconds": 86_400}))
    assert told(rules, fresh) == [Event.FOUND]
    assert told(rules, old) == []
    assert told(WebhookRules.of(CONFIG), old) == [Event.FOUND]


PACKS: dict[str, Any] = {"judge": "club-state", "taxonomy": "club", "category": "Bad state"}


@pytest.mark.parametrize(
    ("setting", "is_told"),
    [
        ({}, False),
        ({"severity": "LOW", "services": ["shop"], "profile": "recall"}, False),
        ({"judges": ["loops"]}, False),
        ({"judges": ["loops", "club-state"]}, True),
        ({"categories": ["Bad state"]}, True),
    ],
)
def test_a_finding_of_a_pack_is_told_where_its_judge_or_category_is_named(
    setting: dict[str, Any], *, is_told: bool
) -> None:
    """So that no webhook hears more because a pack was switched on."""
    rules = WebhookRules.of(WebhookConfig.model_validate({**CONFIG.model_dump(), **setting}))
    assert bool(told(rules, found(**PACKS))) is is_told


def test_a_fingerprint_is_told_once_whatever_is_said_of_it() -> None:
    """Two judges and a rewording share one; what was sent, or given up, is told no more."""
    rules = WebhookRules.of(CONFIG)
    some = (found(), found(judge="trajectory"), found(evidence="again, again"))
    assert len({f.finding.id for f in some}) == 3
    assert told(rules, *some) == [Event.FOUND]
    print_ = some[0].finding.fingerprint
    for state in (SENT, GIVEN_UP):
        assert told(rules, *some, known={(print_, Event.FOUND): state}) == []


def test_an_error_is_told_once_whichever_of_its_findings_was() -> None:
    """Another rule or judge that sees the same mistake later is no news, nor that one of them takes it back."""
    rules = replace(WebhookRules.of(CONFIG), retractions=True)
    call: dict[str, Any] = {"judge": "service-error", "category": "Service Errors", "tool_span_id": "f" * 16}
    made, read = found(**call), found(**{**call, "judge": "service-error-read", "span_id": "d" * 16, "turn": 3})
    other = found(judge="plan-quality", category="Task Orchestration")
    assert made.finding.fingerprint != read.finding.fingerprint
    assert told(rules, made, read) == [Event.FOUND]
    assert told(rules, made, read, other) == [Event.FOUND] * 2
    sent = {(read.finding.fingerprint, Event.FOUND): SENT}
    assert told(rules, made, read, known=sent) == []
    gone = replace(read, finding=replace(read.finding, state=FindingState.RETRACTED))
    assert told(rules, made, gone, known=sent) == []
    both = replace(made, finding=replace(made.finding, state=FindingState.RETRACTED))
    assert told(rules, both, gone, known=sent) == [Event.RETRACTED]
    assert told(rules, both, gone, known=sent | {(read.finding.fingerprint, Event.RETRACTED): SENT}) == []


def test_what_was_seen_before_the_webhook_was_set_up_is_no_news() -> None:
    """A new webhook does not announce the past."""
    assert told(WebhookRules.of(CONFIG), found(first_seen=99), since=100) == []
    assert told(WebhookRules.of(CONFIG), found(first_seen=100), since=100) == [Event.FOUND]


def test_a_retraction_is_told_once_and_only_of_what_was_sent() -> None:
    """Where another finding of the fingerprint holds, nothing was taken back."""
    rules = replace(WebhookRules.of(CONFIG), retractions=True)
    gone = found(state=FindingState.RETRACTED)
    key = gone.finding.fingerprint
    sent = {(key, Event.FOUND): SENT}
    assert told(rules, gone, known=sent) == [Event.RETRACTED]
    assert told(WebhookRules.of(CONFIG), gone, known=sent) == []
    assert told(rules, gone) == []
    assert told(rules, gone, known={(key, Event.FOUND): GIVEN_UP}) == []
    assert told(rules, gone, known=sent | {(key, Event.RETRACTED): SENT}) == []
    assert told(rules, gone, found(evidence="reworded"), known=sent) == []


def test_ids_tell_webhook_fingerprint_and_event_apart() -> None:
    """And are the same whenever they are made."""
    ids = {message_id(hook, print_, event) for hook in ("a", "b") for print_ in ("x", "y") for event in Event}
    assert len(ids) == 8
    assert message_id("a", "x", Event.FOUND) in ids
    assert all(i.startswith("msg_") and "." not in i for i in ids)


def test_a_webhook_of_verified_findings_fires_once_when_one_becomes_verified() -> None:
    """Not while nobody has looked, nor for what was refuted, nor again when it is judged anew."""
    rules = WebhookRules.of(WebhookConfig.model_validate({**CONFIG.model_dump(), "only_verified": True}))
    early, refuted = found(), found(verification=Verification.REFUTED, confidence=0.9)
    late = found(verification=Verification.VERIFIED)
    assert told(rules, early) == told(rules, refuted) == []
    assert told(rules, late) == [Event.FOUND]
    assert told(rules, late, known={(late.finding.fingerprint, Event.FOUND): SENT}) == []
