"""The gate for checks: what counts as evidence, where a finding stands, and what an unproven answer costs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from check_cases import ANSWERS, CHAT, OBSERVATIONS, STATES, asked_of, check_case, only, policies, states_of
from check_replies import entry, reply
from sessions import Asked, Layout, session

from tracejury.judges.checks.case import AskedCheck, CheckCase
from tracejury.judges.llm.case import Deliberation
from tracejury.processors.rebuild import rebuild
from tracejury.processors.transcript import session_record
from tracejury.schemas.checks import CheckItem
from tracejury.schemas.findings import Finding
from tracejury.schemas.normalized import Kind

LAYOUTS = pytest.mark.parametrize("layout", list(Layout))


def wrong(quote: str, label: str = "", **changes: Any) -> dict[str, Any]:
    return {"answer": "no", "reason": "It is wrong.", "quote": quote, "label": label} | changes


def label_of(case: CheckCase, found: Finding) -> str:
    """The first step at the finding's span."""
    steps = case.record.transcript.steps
    return next(s.label for s in steps if (s.trace_id, s.span_id) == (found.trace_id, found.span_id))


def at_state(layout: Layout, **said: Any) -> Deliberation:
    """The second state of the second exchange (E2.S2) before a judge that finds it wrong."""
    case = check_case(1, STATES, layout=layout)
    return asked_of(case, lambda p: reply(p, {2: wrong(**said)}))[0]


@LAYOUTS
@pytest.mark.parametrize(
    "said",
    [
        {"quote": "I look at Rome now."},
        {"quote": "i  LOOK at rome"},
        {"quote": "I look … Rome now."},
        {"quote": "I look at Rome now.", "label": "E2.S2"},
        {"quote": "I look at Rome now.", "label": "E1.S1"},  # an item is at fault at its own step
        {"quote": "12 parts"},  # what the call was sent newly
    ],
)
def test_an_item_is_at_fault_at_its_own_step(layout: Layout, said: dict[str, Any]) -> None:
    """The evidence is the quote as the span has it."""
    came = at_state(layout, **said)
    (found,) = came.findings
    item = only(came).items[1]
    assert (item.label, item.grounded, item.quote) == ("E2.S2", True, found.evidence)
    assert (item.trace_id, item.span_id) == (found.trace_id, found.span_id)
    assert found.evidence in {"I look at Rome now.", "I look at Rome", "12 parts", "Rome now."}


@LAYOUTS
@pytest.mark.parametrize(
    "said",
    [
        {"quote": "I never said this."},
        {"quote": "7 parts in Oslo"},  # another exchange's
        {"quote": "0 on order", "label": "E2.S3"},  # another step's
        {"quote": ""},
        {"quote": None},
        {"quote": ["I look at Rome now."]},
        {"quote": "I look at Rome now.", "reason": " "},  # nobody could say what is wrong
    ],
)
def test_without_a_quote_there_an_item_is_ungrounded(layout: Layout, said: dict[str, Any]) -> None:
    """No finding; out of numerator and denominator; failed in `raw`."""
    came = at_state(layout, **said)
    verdict = only(came)
    assert came.findings == ()
    assert (verdict.value, verdict.numerator, verdict.denominator, verdict.raw) == (1, 1, 1, 0.5)
    assert [(i.best, i.grounded, i.quote) for i in verdict.items] == [(True, True, ""), (False, False, "")]
    assert verdict.reasons == "yes for 1 of 2 states; 1 ungrounded"
    assert came.dropped == {"no-evidence": 1}


def asked_at_the_agent() -> CheckCase:
    """An exchange whose calls hold no messages: what the user asked stands in the agent's span, not in E1.S1's."""
    (trace,) = session(CHAT[:1], Layout.KEPT)
    spans = [
        replace(span, input_text=CHAT[0].said) if span.kind is Kind.AGENT else replace(span, input_messages=())
        for span in trace.spans.values()
    ]
    whole = rebuild(spans)
    record = session_record("chat", [whole])
    asked = (AskedCheck(STATES, states_of(record, 0), "pack"), policies("Count where you are asked to."))
    return check_case(0, *asked, chat=CHAT[:1], layout=Layout.KEPT, record=record, traces={whole.trace_id: whole})


@pytest.mark.parametrize("number", [1, 2], ids=["a state", "a policy"])
def test_a_step_may_be_quoted_with_what_it_shows_of_other_spans(number: int) -> None:
    """The evidence is then words of the step's own span."""
    case = asked_at_the_agent()
    said = wrong("How many brake pads are there in Oslo?", label="E1.S1")
    came, _ = asked_of(case, lambda p: reply(p, {number: said}))
    (found,) = came.findings
    assert (label_of(case, found), found.evidence) == ("E1.S1", "I count in Oslo.")


@pytest.mark.parametrize("quote", ["the user:", "E1.S1 llm", "wrote:", "How many wheels are there?"])
def test_headings_of_ours_and_words_of_nobody_are_no_quotes(quote: str) -> None:
    case = asked_at_the_agent()
    came, _ = asked_of(case, lambda p: reply(p, dict.fromkeys((1, 2), wrong(quote, label="E1.S1"))))
    assert came.findings == ()


def test_where_every_item_is_ungrounded_there_is_no_value() -> None:
    """Yet there is a raw one."""
    case = check_case(1, STATES)
    verdict = only(asked_of(case, lambda p: reply(p, dict.fromkeys((1, 2), wrong("made up"))))[0])
    assert (verdict.value, verdict.raw, verdict.not_applicable, verdict.unscored_reason) == (None, 0, True, "")
    assert verdict.quote_dropped


def test_a_quote_that_stands_leaves_a_verdict_unmarked() -> None:
    """One of two is enough."""
    case = check_case(1, STATES)
    changed = {1: wrong("made up"), 2: wrong("I look at Rome now.")}
    assert not only(asked_of(case, lambda p: reply(p, changed))[0]).quote_dropped


@LAYOUTS
@pytest.mark.parametrize(
    ("label", "quote", "where"),
    [
        ("E2.S3", "more come on Monday", "E2.S3"),
        ("e2 s3", "more come on Monday", "E2.S3"),
        ("step E2.S3", "more come on Monday", "E2.S3"),
        ("E1.S1, E2.S3", "more come on Monday", "E2.S3"),
        ("E2.S1 to S3", "more come on Monday", "E2.S3"),
        ("E1.S1", "more come on Monday", "E2.S3"),  # it stands in one step only
        ("E9.S9", "more come on Monday", "E2.S3"),
        ("", "more come on Monday", "E2.S3"),
        ("E2.S1", "I look at Rome now.", "E2.S1"),  # of two steps the one that is named
        ("E2.S2", "I look at Rome now.", "E2.S2"),
    ],
)
def test_what_stands_nowhere_is_at_fault_where_its_quote_stands(
    layout: Layout, label: str, quote: str, where: str
) -> None:
    """A policy, at the step that was named or the only other one."""
    case = check_case(None, policies("Promise nothing."), layout=layout)
    came, _ = asked_of(case, lambda p: reply(p, {1: wrong(quote, label)}))
    (found,) = came.findings
    assert (label_of(case, found), only(came).items[0].label) == (where, where)
    home = case.record.exchanges[1].trace_id
    assert (found.trace_id, found.agent_run_id) == (home, case.traces[home].runs[0].id)


@pytest.mark.parametrize(
    ("label", "quote"), [("", "I look at Rome now."), ("S2", "I look at Rome now."), ("E2.S1", "x")]
)
def test_an_ambiguous_quote_is_no_evidence(label: str, quote: str) -> None:
    """It stands in two steps, and none of them is named: there is an S2 in two exchanges."""
    came, _ = asked_of(check_case(None, policies("Ask.")), lambda p: reply(p, {1: wrong(quote, label)}))
    assert (came.findings, only(came).raw) == ((), 0)


def test_a_step_without_its_exchange_is_meant_where_it_is_the_only_one() -> None:
    """Within an exchange it is."""
    policy = AskedCheck(policies("Ask.").check, policies("Ask.").items, "pack")
    case = check_case(1, policy)
    came, _ = asked_of(case, lambda p: reply(p, {1: wrong("I look at Rome now.", "S2")}))
    assert [label_of(case, found) for found in came.findings] == ["E2.S2"]


@LAYOUTS
@pytest.mark.parametrize(
    "quote", ["more come on Monday", "0 on order", "I look at Rome now.", "12 parts", "7 parts in Oslo"]
)
def test_a_listed_item_is_at_fault_by_its_own_words(layout: Layout, quote: str) -> None:
    """What proves it may stand at any step of the record: it was settled before, perhaps."""
    case = check_case(1, OBSERVATIONS, layout=layout)
    listed = [entry("check-observations", mention="MORE come on Monday") | wrong(quote, "E2.S2")]
    came, _ = asked_of(case, lambda p: reply(p, {}, listed))
    (found,) = came.findings
    assert (label_of(case, found), found.evidence) == ("E2.S3", "more come on Monday")
    assert (only(came).value, only(came).items[0].quote) == (0, "more come on Monday")


MARKED = (Asked("How many parts are there?", "# Parts: **7**\n\nAll *in* the `north_hall`.", ["7 parts in Oslo"]),)


@pytest.mark.parametrize("mention", ["# Parts: **7**", "# parts:  **7**", "Parts: 7", "*Parts*: 7"])
@pytest.mark.parametrize("quote", ["All *in* the `north_hall`.", "All in the north_hall.", "7 parts in Oslo"])
def test_what_is_copied_without_markup_stands(mention: str, quote: str) -> None:
    """The evidence is what the span has."""
    listed = [entry("check-observations", mention=mention) | wrong(quote)]
    came, _ = asked_of(check_case(0, OBSERVATIONS, chat=MARKED), lambda p: reply(p, {}, listed))
    (found,) = came.findings
    assert found.evidence == "# Parts: **7**" if mention.startswith("#") else found.evidence == "Parts: **7"
    assert not came.dropped


@pytest.mark.parametrize("mention", ["***", "Parts: 8", "Parts 7"])
def test_other_words_than_those_of_the_answer_are_no_listed_item(mention: str) -> None:
    listed = [entry("check-observations", mention=mention)]
    came, _ = asked_of(check_case(0, OBSERVATIONS, chat=MARKED), lambda p: reply(p, {}, listed))
    assert came.dropped == {"not-in-answer": 1}


@pytest.mark.parametrize("quote", ["All in the south_hall.", "A l l i n", "***"])
def test_a_quote_of_other_words_or_of_few_letters_does_not_stand_without_markup(quote: str) -> None:
    listed = [entry("check-observations", mention="Parts: 7") | wrong(quote)]
    came, _ = asked_of(check_case(0, OBSERVATIONS, chat=MARKED), lambda p: reply(p, {}, listed))
    assert came.dropped == {"no-evidence": 1}


def test_a_report_beside_the_items_may_leave_out_markup() -> None:
    also = [{"check": "check-observations", "category": "omitted observation", "reason": "It says not which.",
             "label": None, "quote": "All in the north_hall"}]  # fmt: skip
    came, _ = asked_of(check_case(0, OBSERVATIONS, chat=MARKED), lambda p: reply(p, {}, also=also))
    assert [found.evidence for found in came.findings] == ["All *in* the `north_hall"]


def test_a_listed_item_needs_a_quote_that_stands() -> None:
    """Else it is ungrounded, although the answer mentions it."""
    listed = [entry("check-observations", mention="more come on Monday") | wrong("8 parts in Oslo", "E1.S2")]
    came, _ = asked_of(check_case(1, OBSERVATIONS), lambda p: reply(p, {}, listed))
    assert (came.findings, only(came).value, only(came).raw) == ((), None, 0)


def test_an_answer_as_a_whole_is_at_fault_at_its_step() -> None:
    """As one item."""
    case = check_case(1, OBSERVATIONS)
    step = next(s for s in case.record.transcript.steps if s.label == case.answered)
    item = CheckItem("the answer", step.label, step.trace_id, step.span_id)
    came, _ = asked_of(
        check_case(1, AskedCheck(ANSWERS, (item,), "pack")), lambda p: reply(p, {1: wrong("more come on Monday")})
    )
    assert [label_of(case, found) for found in came.findings] == ["E2.S3"]


def test_two_items_with_one_fault_are_one_finding() -> None:
    """Identity is place, category and evidence."""
    case = check_case(None, policies("Promise nothing.", "Promise no date."))
    changed = dict.fromkeys((1, 2), wrong("more come on Monday", "E2.S3"))
    came, _ = asked_of(case, lambda p: reply(p, changed))
    assert (len(came.findings), only(came).value) == (1, 0)


def test_findings_of_an_unscored_check_do_not_stand() -> None:
    """They would be counted over subjects of which it has no verdict."""
    bad = {1: wrong("I look at Rome now."), 2: {"answer": "maybe"}}
    came, _ = asked_of(check_case(1, STATES), lambda p: reply(p, bad))
    assert (came.findings, set(came.failures)) == ((), {"check-states"})


def test_a_trace_that_is_gone_proves_nothing() -> None:
    """It may have been deleted since; the rest is judged."""
    case = check_case(None, policies("Promise nothing.", "Greet."), chat=CHAT)
    kept = {i: t for i, t in case.traces.items() if i != case.record.exchanges[1].trace_id}
    case = check_case(None, policies("Promise nothing.", "Greet."), traces=kept)
    changed = {1: wrong("more come on Monday", "E2.S3"), 2: wrong("There are 7 in Oslo.", "E1.S2")}
    came, _ = asked_of(case, lambda p: reply(p, changed))
    assert [found.evidence for found in came.findings] == ["There are 7 in Oslo."]


def test_a_proof_in_a_trace_that_is_gone_is_none() -> None:
    """The observation is ungrounded."""
    case = check_case(1, OBSERVATIONS, layout=Layout.KEPT)
    kept = {i: t for i, t in case.traces.items() if i != case.record.exchanges[0].trace_id}
    listed = [entry("check-observations", mention="more come on Monday") | wrong("7 parts in Oslo", "E1.S2")]
    for traces, proven in ((case.traces, True), (kept, False)):
        asked = check_case(1, OBSERVATIONS, layout=Layout.KEPT, traces=traces)
        came, _ = asked_of(asked, lambda p: reply(p, {}, listed))
        assert bool(came.findings) is proven


@LAYOUTS
def test_words_that_answer_and_result_share_are_proof(layout: Layout) -> None:
    """Without a label, too: what is wrong are the words of the answer."""
    chat = (Asked("How many?", "There are 7 parts in Oslo.", ["7 parts in Oslo are reserved"]),)
    listed = [entry("check-observations", mention="7 parts") | wrong("7 parts in Oslo")]
    came, _ = asked_of(check_case(0, OBSERVATIONS, chat=chat, layout=layout), lambda p: reply(p, {}, listed))
    assert [found.evidence for found in came.findings] == ["7 parts"]
