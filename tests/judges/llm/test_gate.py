"""The gate: where claims become findings, and why they do not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from panel_cases import panel
from small_traces import Did, Said, run, tool, trace

from tracejury.judges.llm.answer_types import Claim
from tracejury.judges.llm.criteria import Criteria
from tracejury.judges.llm.gate import Gate
from tracejury.judges.llm.members import llm_judges_of
from tracejury.judges.llm.placing import MOST_SEARCHES
from tracejury.processors.transcript import transcribe
from tracejury.schemas.findings import Finding, FindingState, finding_id, fingerprint
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Dimension, Severity
from tracejury.schemas.trajectory import Trace, TurnKind

PANEL = panel()
REST = ("logical-consistency", "execution-efficiency", "tool-selection", "tool-calling")


def whole() -> Trace:
    """Plans (S1), looks up (S2, S3), answers (S4); the plan's call stops at a tag."""
    made = trace(
        run(
            "r1",
            Said("p1", "1. Look it up. 2. Answer.", kind=TurnKind.PLAN),
            Said("a1", "I look it up.", [Did("look", {"q": "the  first query"}, None, "No such file", "t1")]),
            Said("a2", "It is forty-two.", sees=["No such file"]),
            tools=[tool("unused")],
        )
    )
    turns = made.runs[0].turns
    assert turns[0].llm is not None
    plan = replace(turns[0].llm, stop_sequences=("<end_plan>",), tools=(tool("unused"),))
    return trace(replace(made.runs[0], turns=(replace(turns[0], llm=plan), *turns[1:])))


TRACE = whole()
SHOWN = transcribe(TRACE, TRACE.runs[0])


def claim(label: str, quote: str, *codes: str, **changes: Any) -> Claim:
    fields: dict[str, Any] = {
        "labels": (label,),
        "quote": quote,
        "codes": codes or ("LC",),
        "category": "Goal Deviation",
        "severity": Severity.HIGH,
        "why": "It is so.",
    }
    return Claim(**fields | changes)


def passed(*claims: Claim, asked: tuple[str, ...] = REST, first: str = "") -> tuple[list[Finding], dict[str, int]]:
    gate = Gate(TRACE, TRACE.runs[0], PANEL)
    return gate.findings(claims, asked, SHOWN, first), dict(gate.dropped)


def test_the_transcript_is_as_the_tests_say() -> None:
    """Labels and spans that the cases below rest on."""
    assert SHOWN.spans == {"S1": "p1", "S2": "a1", "S3": "t1", "S4": "a2"}


def test_a_claim_that_stands_is_a_finding() -> None:
    """With identity, place, its judge, and the evidence as the span has it."""
    made = claim(
        "S3",
        "THE FIRST query",
        "LC",
        "TC",
        shown_at=("S4",),
        also_at=("S4", "S9", "S3"),
        why="Because.",
        title="Asked twice",
    )
    (found,), dropped = passed(made)
    assert dropped == {}
    judge = "logical-consistency"
    assert found == Finding(
        id=finding_id("", TRACE.trace_id, "t1", judge, "Goal Deviation", "the  first query"),
        fingerprint=fingerprint("", TRACE.trace_id, "t1", "trail", "Goal Deviation"),
        tenant="",
        trace_id=TRACE.trace_id,
        span_id="t1",
        agent_run_id="r1",
        turn=1,
        judge=judge,
        dimensions=(Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_CALLING),
        taxonomy="trail",
        category="Goal Deviation",
        severity=Severity.HIGH,
        confidence=PANEL.criteria.confidence(judge, Severity.HIGH),
        evidence="the  first query",
        explanation="Because.",
        seen_by_span_id="a2",
        also_at=("a2",),
        state=FindingState.PROVISIONAL,
        title="Asked twice",
    )


def test_one_decision_keeps_the_title_that_one_of_its_claims_has() -> None:
    """That of the surest, where it has one."""
    low = claim("S3", "THE FIRST query", severity=Severity.LOW, title="Query repeated")
    ((found,), _) = passed(low, claim("S3", "the first query"))
    assert (found.severity, found.title) == (Severity.HIGH, "Query repeated")


def test_where_it_showed_is_told_by_the_kind_of_step() -> None:
    """A tool's step and the call that read it; the step itself is neither."""
    ((found,), _) = passed(claim("S2", "I look it up.", shown_at=("S2", "S4", "S3")))
    assert (found.tool_span_id, found.seen_by_span_id) == ("t1", "a2")


@pytest.mark.parametrize(
    ("label", "quote", "span_id"),
    [
        ("S2", "I look it up.", "a1"),
        ("S2", "look", "a1"),  # the tool's name
        ("S2", "calls look", "a1"),  # the transcript's line for a call
        ("S2", 'calls look\n {"q": "the first query"}', "a1"),
        ("S1", "unused", "p1"),  # a tool that the call was given
        ("S1", "chat", "p1"),  # the span's name
        ("S1", "It is forty-two.", "a2"),  # it stands in one other step only
        ("S4", "look it up. 2.", "p1"),
        ("S9", "It is forty-two.", "a2"),
    ],
)
def test_a_claim_goes_where_its_quote_stands(label: str, quote: str, span_id: str) -> None:
    """At its own step, else at the only other one."""
    ((found,), dropped) = passed(claim(label, quote))
    assert (found.span_id, dropped) == (span_id, {})


def test_what_a_step_put_out_can_be_quoted_at_its_call() -> None:
    """It stands in another span: the finding shows words of the call instead."""
    one = run("r1", Said("a1", "print(6 * 7)", observed="Execution logs: forty-two"))
    gate = Gate(trace(one), one, PANEL)
    (found,) = gate.findings([claim("S1", "logs: forty-two")], REST, transcribe(trace(one), one))
    assert (found.span_id, found.evidence) == ("a1", "print(6 * 7)")
    assert gate.findings([claim("S1", "logs: forty-three")], REST, transcribe(trace(one), one)) == []


@pytest.mark.parametrize(
    ("made", "why"),
    [
        (claim("S2", "I never said this."), "no-evidence"),
        (claim("S1", "No such file"), "no-evidence"),  # in two other steps
        (claim("S4", "calls look"), "no-evidence"),  # another step made the call
        (claim("S2", "calls unused"), "no-evidence"),  # the step had the tool and did not call it
        (claim("S2", 'calls look\n {"q": "another query"}'), "no-evidence"),
        (claim("S9", "I never said this."), "unknown-label"),
        (claim("S9", "No such file"), "unknown-label"),
        (claim("S2", "I look it up.", "PQ"), "unsound"),
        (claim("S2", "I look it up.", "GF"), "unsound"),
        (claim("S2", "I look it up.", category="Bad Manners"), "unsound"),
        (claim("S1", "2. Answer.", why="The plan does not end with '<end_plan>'."), "stop-sequence"),
        (claim("S4", "2. Answer.", why="The plan does not end with '<end_plan>'."), "stop-sequence"),
    ],
)
def test_why_a_claim_is_dropped(made: Claim, why: str) -> None:
    """Each by one count."""
    assert passed(made) == ([], {why: 1})


def test_the_same_words_at_a_call_without_the_stop_sequence_are_a_finding() -> None:
    """There the tag could have been written."""
    found, _ = passed(claim("S4", "It is forty-two.", why="It does not end with '<end_plan>'."))
    assert len(found) == 1


@pytest.mark.parametrize(
    ("codes", "judge"),
    [
        (("TC", "LC"), "tool-calling"),
        (("PQ", "GF", "EE"), "execution-efficiency"),
        (("GF", "TS", "LC"), "tool-selection"),
    ],
)
def test_a_claim_belongs_to_the_first_dimension_that_was_asked(codes: tuple[str, ...], judge: str) -> None:
    """The others stay on it, in their order."""
    ((found,), _) = passed(claim("S2", "I look it up.", *codes))
    assert found.judge == judge
    assert found.dimensions == tuple(Dimension(code) for code in codes)


@pytest.mark.parametrize(
    ("label", "quote", "outcome"),
    [
        ("S4", "It is forty-two.", "a2"),
        ("S3", "the first query", "t1"),
        ("S1", "It is forty-two.", "a2"),  # the label is before the window, the quote in it
        ("S1", "2. Answer.", "outside-window"),
        ("S2", "I look it up.", "outside-window"),
        ("S4", "2. Answer.", "no-evidence"),
        ("S9", "2. Answer.", "unknown-label"),
    ],
)
def test_a_window_takes_findings_at_its_own_steps_only(label: str, quote: str, outcome: str) -> None:
    """What stands before it was judged before."""
    found, dropped = passed(claim(label, quote), first="S3")
    assert [f.span_id for f in found] or list(dropped) == [outcome]
    assert [f.span_id for f in found] == ([outcome] if outcome in TRACE.spans else [])


def test_a_range_of_steps_stands_at_the_one_that_holds_the_quote() -> None:
    """The others relay it."""
    ((found,), _) = passed(claim("S1", "It is forty-two.", labels=("S2", "S3", "S4")))
    assert (found.span_id, found.also_at) == ("a2", ("t1",))


def test_one_decision_is_one_finding() -> None:
    """Claims that differ by dimension alone are one; the surest keeps its judge, the gravest its severity."""
    low = claim("S2", "I look it up.", "LC", severity=Severity.LOW, also_at=("S4",))
    high = claim("S2", "i LOOK it up.", "TC", also_at=("S3",))
    ((found,), _) = passed(low, high, low)
    assert found.judge == "tool-calling"
    assert (found.severity, set(found.also_at)) == (Severity.HIGH, {"a2", "t1"})
    assert set(found.dimensions) == {Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_CALLING}
    two, _ = passed(low, claim("S2", "I look it up.", category="Resource Abuse"))
    assert len(two) == 2


@pytest.mark.parametrize(("severity", "material"), [(s, m) for s in Severity for m in (True, False)])
def test_confidence_comes_from_the_criteria(severity: Severity, *, material: bool) -> None:
    """By judge and severity; what is immaterial is as sure as what is LOW."""
    ((found,), _) = passed(claim("S2", "I look it up.", severity=severity, material=material))
    said = PANEL.criteria.confidence("logical-consistency", severity if material else Severity.LOW)
    assert (found.confidence, found.severity) == (said, severity)


def test_searching_for_misplaced_quotes_is_bounded() -> None:
    """An answer that misplaces everything costs no more than that."""
    gate = Gate(TRACE, TRACE.runs[0], PANEL)
    lost = [claim("S1", "It is forty-two.")] * (MOST_SEARCHES + 1)
    gate.findings(lost, REST, SHOWN)
    assert gate.dropped == {"no-evidence": 1}


def test_a_judge_of_ones_own_has_its_own_categories() -> None:
    """Its name stands for it among the dimensions, and its findings carry its taxonomy."""
    tone = Criteria.model_validate(
        {
            "version": 1,
            "name": "tone",
            "title": "Tone",
            "taxonomy": "house",
            "categories": ["Rudeness"],
            "definition": "How it speaks.",
            "in_scope": ["rude words"],
            "scale": {0: "rude", 1: "curt", 2: "fair", 3: "kind"},
        }
    )
    own_set = PANEL.criteria.joined((tone,))
    gate = Gate(TRACE, TRACE.runs[0], llm_judges_of(own_set, "m"))
    said = [claim("S2", "I look it up.", "tone", category="Rudeness"), claim("S2", "I look it up.", "tone")]
    found = gate.findings(said, ("tone",), SHOWN)
    assert [(f.judge, f.taxonomy, f.category, f.dimensions) for f in found] == [
        ("tone", "house", "Rudeness", ()),
        ("tone", "trail", "Goal Deviation", ()),
    ]


def test_a_window_may_begin_at_a_step_without_a_span() -> None:
    """It begins there all the same."""
    steps = tuple(replace(s, span_id="gone") if s.label == "S2" else s for s in SHOWN.steps)
    gate = Gate(TRACE, TRACE.runs[0], PANEL)
    assert gate.findings(
        [claim("S1", "2. Answer."), claim("S4", "It is forty-two.")], REST, replace(SHOWN, steps=steps), "S2"
    )
    assert gate.dropped == {"outside-window": 1}


WORDS = st.sampled_from(
    ["I look", "look it up.", "the first", " query", "No such file", "file", "…", "\n", "nothing", "<|"]
)
QUOTES = st.lists(WORDS, min_size=1, max_size=4).map("".join) | st.text(min_size=1, max_size=20)
LABELS = st.sampled_from(["S0", "S1", "S2", "S3", "S4", "S5"])
CLAIMS = st.builds(
    Claim,
    labels=st.lists(LABELS, min_size=1, max_size=3).map(tuple),
    quote=QUOTES,
    codes=st.lists(st.sampled_from(list(Dimension)), min_size=1, max_size=3).map(tuple),
    category=st.sampled_from([*TRAIL_CATEGORIES, "Bad Manners"]),
    severity=st.sampled_from(Severity),
    why=st.text(max_size=30),
    shown_at=st.lists(LABELS, max_size=2).map(tuple),
    also_at=st.lists(LABELS, max_size=3).map(tuple),
    material=st.booleans(),
)
TEXTS = {
    "p1": ["1. Look it up. 2. Answer.", "chat", "unused"],
    "a1": ["I look it up.", "look", "the  first query", '{"q": "the  first query"}', "chat", "q"],
    "t1": ["look", "the  first query", '{"q": "the  first query"}', "No such file", "Error", "q"],
    "a2": ["It is forty-two.", "No such file", "chat"],
}


@given(st.lists(CLAIMS, max_size=8), st.sampled_from(["", "S1", "S3", "S4", "S9"]))
def test_nothing_comes_out_that_does_not_stand_in_the_trace(claims: list[Claim], first: str) -> None:
    """Checked against the texts of this trace as written down here, not by the gate's own means."""
    found, dropped = passed(*claims, first=first)
    for one in found:
        assert any(one.evidence in text for text in TEXTS[one.span_id])
        assert one.evidence.strip()
        assert one.judge in REST
        assert one.category in TRAIL_CATEGORIES
        assert {one.tool_span_id, one.seen_by_span_id, *one.also_at} <= {"", *TEXTS} - {one.span_id}
    assert len(found) + sum(dropped.values()) <= len(claims)
    assert bool(found) or sum(dropped.values()) == len(claims)
