"""Checks of a subject: who is asked what, and the verdicts that come of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from check_cases import CHAT, OBSERVATIONS, POLICIES, STATES, asked_of, check, check_case, how, only, policies
from check_replies import entry, reply
from check_replies import numbers as numbers_of
from sessions import Asked
from small_traces import Did, Said, run, trace, without_content

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.deliberation import judge_checks
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.packs import sources
from tracejury.processors.exchanges import find_exchanges
from tracejury.processors.transcript import session_record, split
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.errors import LlmError, OverBudgetError, PromptTooLongError, RetryableError, TracejuryError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.taxonomy import Dimension

WRONG = {"answer": "no", "reason": "It looked in vain.", "label": "E2.S2", "quote": "I look at Rome now."}


def test_the_checks_of_an_exchange_share_a_call() -> None:
    """Each has a verdict of its own, from the answers to its items."""
    listed = [entry("check-observations", mention="Rome has 12")]
    said, client = asked_of(check_case(1, STATES, OBSERVATIONS), lambda p: reply(p, {2: WRONG}, listed))
    assert [numbers_of(p) for p in client.prompts] == [{"check-states": [1, 2], "check-observations": []}]
    states, observations = said.verdicts
    assert (states.judge, states.version, states.model) == ("check-states", "v-check-states", "scripted")
    assert (states.value, states.raw, states.numerator, states.denominator) == (0.5, 0.5, 1, 2)
    assert (states.score, states.not_applicable, states.unscored_reason) == (None, False, "")
    assert states.reasons == "yes for 1 of 2 states"
    assert [(i.label, i.best, i.quote) for i in states.items] == [
        ("E2.S1", True, ""),
        ("E2.S2", False, "I look at Rome now."),
    ]
    assert (observations.value, [i.item for i in observations.items]) == (1.0, ["Rome has 12"])
    assert (said.failures, dict(said.dropped), said.known, said.models) == ({}, {}, False, ("scripted",))


def test_an_item_below_its_best_answer_is_a_finding_of_its_pack() -> None:
    """At its span, with the check as judge, the pack as taxonomy, the reason as explanation."""
    case = check_case(1, STATES)
    said, _ = asked_of(case, lambda p: reply(p, {2: WRONG}))
    (found,) = said.findings
    assert (found.judge, found.taxonomy, found.category) == ("check-states", "pack", "unsound states")
    assert (found.severity, found.confidence) == (STATES.severity, STATES.confidence)
    assert (found.evidence, found.explanation) == ("I look at Rome now.", "It looked in vain.")
    assert (found.state, found.dimensions, found.turn) == (FindingState.PROVISIONAL, (), 1)
    item = case.checks[0].items[1]
    assert (found.trace_id, found.span_id) == (item.trace_id, item.span_id)
    assert found.agent_run_id == case.traces[found.trace_id].runs[0].id


def test_a_finding_has_the_dimension_of_its_check() -> None:
    """By which it may be part of an error of others."""
    consistent = check(sources.STATES, dimension=Dimension.LOGICAL_CONSISTENCY)
    said, _ = asked_of(check_case(1, consistent), lambda p: reply(p, {2: WRONG}))
    assert [found.dimensions for found in said.findings] == [(Dimension.LOGICAL_CONSISTENCY,)]


def test_separate_items_have_a_call_each() -> None:
    """All begin alike, and are sent at once; what a judge lists cannot be taken apart."""
    _, client = asked_of(check_case(1, STATES, OBSERVATIONS), mode="separate")
    assert [numbers_of(p) for p in client.prompts] == [
        {"check-states": [1]},
        {"check-states": [1]},
        {"check-observations": []},
    ]
    assert len({p.messages[:-1] for p in client.prompts}) == 1
    case = check_case(1, STATES, OBSERVATIONS)
    assert len(next(judge_checks(case, how(case, mode="separate")))) == 3


def test_a_session_is_asked_as_a_whole() -> None:
    """A quote may stand in any of its traces."""
    case = check_case(None, policies("Never promise a date.", "Greet."))
    wrong = {"answer": "no", "reason": "It did.", "label": "E2.S3", "quote": "more come on Monday"}
    said, client = asked_of(case, lambda p: reply(p, {1: wrong}))
    assert "Answer for the session as a whole (E1.S1 to E3.S1)." in client.prompts[0].messages[-1].text
    verdict = only(said)
    assert (verdict.value, verdict.subject) == (0.5, case.subject)
    assert (verdict.items[0].label, verdict.items[0].quote) == ("E2.S3", "more come on Monday")
    assert [f.trace_id for f in said.findings] == [case.record.exchanges[1].trace_id]


@pytest.mark.parametrize(
    ("check_asked", "exchange", "chat", "reason"),
    [
        (STATES, 2, CHAT, "no states"),
        (OBSERVATIONS, 0, (Asked("Hello?", ""),), "no answer"),
        (AskedCheck(check(sources.ANSWERS)), 0, CHAT, "no answer"),
        (AskedCheck(POLICIES), None, CHAT, "no policies"),
        (AskedCheck(check(sources.CALLS)), 0, CHAT, "no calls"),
    ],
)
def test_without_items_a_check_is_not_applicable(
    check_asked: Any, exchange: int | None, chat: tuple[Asked, ...], reason: str
) -> None:
    """Nothing is asked."""
    said, client = asked_of(check_case(exchange, check_asked, chat=chat))
    verdict = only(said)
    assert (verdict.not_applicable, verdict.reasons, verdict.value, client.prompts) == (True, reason, None, [])
    assert not said.failures


def test_without_captured_content_nothing_is_asked() -> None:
    """Names and times alone; what structure answers is still answered."""
    one = run("r1", Said("a1", "I look.", [Did("look", {"q": "x"}, "found", span_id="t1")]), answer="Done.", goal="Go.")
    bare = without_content(trace(one))
    bare = replace(bare, exchanges=find_exchanges(bare.runs))
    record = session_record("s", [bare])
    calls = AskedCheck(check(sources.CALLS), answers=(ItemAnswer("look", "yes", best=True),))
    states = AskedCheck(STATES, (CheckItem("llm", "E1.S1", bare.trace_id, "a1"),))
    case = check_case(None, states, policies("Greet."), calls, record=record, traces={bare.trace_id: bare})
    said, client = asked_of(case)
    assert [(v.not_applicable, v.reasons, v.value) for v in said.verdicts] == [
        (True, "no content captured", None),
        (True, "no content captured", None),
        (False, "yes for 1 of 1 calls", 1),
    ]
    assert client.prompts == []


def test_nothing_listed_is_not_applicable() -> None:
    """The answer mentions nothing that was retrieved."""
    verdict = only(asked_of(check_case(2, OBSERVATIONS))[0])
    assert (verdict.not_applicable, verdict.value, verdict.reasons) == (True, None, "no observations")
    assert verdict.denominator == 0


def test_structure_answers_without_a_call() -> None:
    """The answers are the caller's; what fails is a finding where its quote stands."""
    item = check_case(1, STATES).checks[0].items[1]
    failed = ItemAnswer("stock", "no", best=False, reason="It failed.", label=item.label, quote="I look at Rome now.")
    unseen = ItemAnswer("stock", "no", best=False, reason="It failed.")
    calls = AskedCheck(check(sources.CALLS), answers=(ItemAnswer("stock", "yes", best=True), failed, unseen), pack="p")
    said, client = asked_of(check_case(1, calls))
    assert (only(said).value, only(said).items, client.prompts) == (1 / 3, calls.answers, [])
    assert [(f.span_id, f.tool_span_id, f.evidence, f.category) for f in said.findings] == [
        (item.span_id, item.span_id, "I look at Rome now.", "unsound calls")
    ]


def test_a_failed_call_leaves_its_checks_unscored() -> None:
    """With one line why; a check that needed none is scored."""
    calls = AskedCheck(check(sources.CALLS), answers=(ItemAnswer("stock", "yes", best=True),))
    said, _ = asked_of(check_case(1, STATES, calls), lambda _: LlmError("the model\nis away"))
    states, structural = said.verdicts
    assert (states.unscored_reason, states.value, states.not_applicable) == ("the model is away", None, False)
    assert structural.value == 1
    assert said.failures == {"check-states": "the model is away"}


@pytest.mark.parametrize("error", [OverBudgetError("spent"), RetryableError("away"), PromptTooLongError("too long")])
def test_what_can_be_had_later_is_raised(error: TracejuryError) -> None:
    """The case was not judged."""
    with pytest.raises(type(error)):
        asked_of(check_case(1, STATES), lambda _: error)


def test_items_beyond_a_call_go_to_further_ones_up_to_a_bound() -> None:
    """What is left out is counted."""
    said, client = asked_of(check_case(None, policies(*(f"Policy {n}." for n in range(312)))))
    assert [len(own) for p in client.prompts for own in numbers_of(p).values()] == [60] * 5
    verdict = only(said)
    assert (len(verdict.items), verdict.denominator) == (300, 300)
    assert verdict.reasons == "yes for 300 of 300 policies; 12 left out"


def test_long_items_fill_calls_sooner() -> None:
    """A call is bounded in characters, too."""
    _, client = asked_of(check_case(None, policies(*("long " * 1000 for _ in range(30)))))
    assert [len(own) for p in client.prompts for own in numbers_of(p).values()] == [12, 12, 6]
    assert all(p.characters < 40_000 for p in client.prompts)


def test_thousands_of_items_and_chapters_stay_bounded() -> None:
    """What is asked does not grow with them."""
    case = check_case(1, AskedCheck(STATES, check_case(1, STATES).checks[0].items * 2500, "pack"))
    said, client = asked_of(case, chapters=split(case.record.transcript, 700, len))
    assert len(client.prompts) <= 10
    assert (len(only(said).items), only(said).reasons) == (300, "yes for 300 of 300 states; 4700 left out")


def test_a_prompt_says_for_whom_it_is_and_which_asking_it_is() -> None:
    """Spend is booked on service, trace and run."""
    case = check_case(1, STATES)
    _, client = asked_of(case, max_answer_tokens=77, repeat=2)
    (prompt,) = client.prompts
    assert (prompt.service, prompt.purpose, prompt.trace_id) == ("shop", "exchange", case.subject.trace_id)
    assert (prompt.run_id, prompt.max_tokens, prompt.repeat) == (case.traces[prompt.trace_id].runs[0].id, 77, 2)


def test_answers_known_already_cost_nothing() -> None:
    """As the ledger tells them."""

    def known(prompt: Prompt) -> Any:
        return Reply(reply(prompt), "m", known=True)

    assert asked_of(check_case(1, STATES), known)[0].known
