"""Errors from findings: one mistake is one error, whatever the order, and no finding is lost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.causes import cause, shared_causes
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.grouping import group
from tracejury.judges.llm.criteria_types import GPA_JUDGES
from tracejury.schemas.agent_errors import AgentError, Cause, ErrorRole, summary
from tracejury.schemas.decisive import DECISIVE
from tracejury.schemas.findings import Finding, FindingState, finding_id, fingerprint
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity

RUNS = ("manager", "searcher")


def a_finding(span_id: str, judge: str, confidence: float = 0.5, **other: Any) -> Finding:
    """A finding of a built-in rule in turn 1 of the manager."""
    category = other.pop("category", "Formatting Errors")
    whole: dict[str, Any] = {
        "agent_run_id": "manager", "turn": 1, "dimensions": (), "taxonomy": TRAIL, "severity": Severity.MEDIUM,
        "evidence": "quote", "explanation": "why",
    }  # fmt: skip
    return Finding(
        id=finding_id("", "t", span_id, judge, category, other.get("evidence", "quote")),
        fingerprint=fingerprint("", "t", span_id, TRAIL, category),
        tenant="", trace_id="t", span_id=span_id, judge=judge, category=category, confidence=confidence,
        **whole | other,
    )  # fmt: skip


def judges_of(errors: tuple[AgentError, ...]) -> list[list[str]]:
    return [[f.judge for f in error.findings] for error in errors]


def test_a_failed_call_and_its_reading_are_one_error() -> None:
    made = a_finding("llm1", "schema-violation", 0.6, tool_span_id="tool1", seen_by_span_id="llm2")
    at_tool = a_finding("tool1", "raised-error-at-tool", 0.3, tool_span_id="tool1")
    read = a_finding("llm2", "schema-violation-read", 0.4, turn=2, tool_span_id="tool1", seen_by_span_id="llm2")
    (error,) = group([read, at_tool, made], RUNS)
    assert error.lead is made
    assert error.spans == {"llm1": ErrorRole.DECIDED, "tool1": ErrorRole.SHOWN, "llm2": ErrorRole.READ}


def test_the_reader_of_a_failure_that_fails_itself_is_another_error() -> None:
    made = [
        a_finding(f"llm{n}", "service-error", turn=n, tool_span_id=f"tool{n}", seen_by_span_id=f"llm{n + 1}")
        for n in (1, 2)
    ]
    read = a_finding("llm2", "service-error-read", turn=2, tool_span_id="tool1", seen_by_span_id="llm2")
    assert judges_of(group([*made, read], RUNS)) == [["service-error", "service-error-read"], ["service-error"]]


def test_anchors_of_a_claim_without_a_span_of_the_call_are_one_error() -> None:
    read = a_finding("llm2", "parse-error-read", 0.3, turn=2, seen_by_span_id="llm2")
    made = a_finding("llm1", "parse-error", linked=(read.id,))
    assert judges_of(group([read, made], RUNS)) == [["parse-error", "parse-error-read"]]


def test_rules_of_one_cause_in_a_turn_are_one_error_and_other_causes_are_not() -> None:
    found = [
        a_finding("llm1", "ungrounded-turn", 0.7),
        a_finding("llm1", "ungrounded-assumption", 0.5),
        a_finding("llm1", "first-tool-differs", 0.6),
        a_finding("llm2", "ungrounded-turn", 0.7, turn=2),
        a_finding("llm3", "ungrounded-turn", 0.7, agent_run_id="searcher"),
    ]
    assert sorted(map(len, judges_of(group(found, RUNS)))) == [1, 1, 1, 2]


@pytest.mark.parametrize(
    ("other", "leads"),
    [
        ({}, "ungrounded-after-failure"),
        ({"judge": "logical-consistency"}, "logical-consistency"),
        ({"confidence": 0.6}, "ungrounded-turn"),  # less sure
        ({"span_id": "llm0"}, "ungrounded-turn"),  # elsewhere in the turn
        ({"judge": "first-tool-differs"}, "ungrounded-turn"),  # another error
    ],
)
def test_a_rule_that_says_more_leads_where_it_is_as_sure(other: dict[str, Any], leads: str) -> None:
    """Whatever leads, identity and confidence are the same."""
    general = a_finding("llm1", "ungrounded-turn", 0.752)
    said: dict[str, Any] = {"span_id": "llm1", "judge": "ungrounded-after-failure", "confidence": 0.744}
    more = a_finding(**said | other)
    (alone,) = group([general], RUNS)
    error = next(e for e in group([more, general], RUNS) if general in e.findings)
    assert (error.lead.judge, error.id, error.confidence()) == (leads, alone.id, 0.752)


def test_a_detector_and_a_judge_that_agree_are_one_error() -> None:
    found = [a_finding("llm1", "unobserved-answer", 0.6), a_finding("llm1", "logical-consistency", 0.9)]
    assert judges_of(group(found, RUNS)) == [["logical-consistency", "unobserved-answer"]]


def test_a_judge_of_ones_own_has_its_category_as_cause() -> None:
    assert cause("my-error", "shop", "Wrong price") == "shop/Wrong price"
    own = a_finding("llm1", "my-error", taxonomy="shop", category="Wrong price")
    assert len(group([own, a_finding("llm1", "service-error")], RUNS)) == 2


def test_declared_repeats_are_part_of_the_error_that_they_repeat() -> None:
    first = a_finding("llm1", "logical-consistency", 0.8, also_at=("llm2", "llm7"))
    again = a_finding("llm2", "logical-consistency", 0.9, turn=2)
    other = a_finding("llm2", "plan-adherence", 0.9, turn=2)
    error, apart = group([other, again, first], RUNS)
    assert (error.lead, set(error.findings)) == (first, {first, again})
    assert error.spans == {"llm1": ErrorRole.DECIDED, "llm2": ErrorRole.REPEATED, "llm7": ErrorRole.REPEATED}
    assert apart.findings == (other,)


def test_a_report_that_relays_two_mistakes_joins_neither_to_the_other() -> None:
    one = a_finding("llm1", "logical-consistency", 0.8, agent_run_id="searcher", also_at=("report",))
    two = a_finding("llm2", "logical-consistency", 0.7, agent_run_id="searcher", turn=2, also_at=("report",))
    report = a_finding("report", "logical-consistency", 0.9, turn=5)
    assert {tuple(f.span_id for f in e.findings) for e in group([report, two, one], RUNS)} == {
        ("llm1", "report"),
        ("llm2",),
    }


def test_mistakes_that_declare_each_other_end() -> None:
    one = a_finding("llm1", "logical-consistency", 0.8, also_at=("llm2",))
    two = a_finding("llm2", "logical-consistency", 0.7, turn=2, also_at=("llm1",))
    (error,) = group([two, one], RUNS)
    assert error.lead is one


def test_another_finding_raises_the_severity_only_where_it_shows_itself() -> None:
    sure = a_finding("llm1", "service-error", 0.8, severity=Severity.LOW)
    grave = a_finding("llm1", "unknown-tool", 0.3, severity=Severity.HIGH)
    (error,) = group([sure, grave], RUNS)
    assert (error.severity(0.5), error.severity(0.3)) == (Severity.LOW, Severity.HIGH)
    assert [error.confidence(s) for s in Severity] == [0.8, 0.3, 0.3]
    assert group([sure], RUNS)[0].confidence(Severity.HIGH) < 0


def test_ties_go_to_the_earliest() -> None:
    found = [
        a_finding("b", "service-error", agent_run_id="searcher", tool_span_id="tool"),
        a_finding("a", "service-error", turn=3, tool_span_id="tool"),
        a_finding("c", "service-error", turn=2, tool_span_id="tool"),
    ]
    assert [e.lead.span_id for e in group(found, RUNS)] == ["c"]


def test_the_state_is_that_of_its_findings() -> None:
    states = [FindingState.PROVISIONAL, FindingState.CURRENT]
    found = [
        a_finding("llm1", judge, state=s) for judge, s in zip(("service-error", "code-error"), states, strict=True)
    ]
    assert group(found, RUNS)[0].state is FindingState.CURRENT
    assert group(found[:1], RUNS)[0].state is FindingState.PROVISIONAL


def a_pack_finding(span_id: str, check: str = "state", confidence: float = 0.9, **other: Any) -> Finding:
    """A finding of a check of the pack "club"."""
    return a_finding(span_id, f"club-{check}", confidence, taxonomy="club", category=f"bad {check}", **other)


def test_a_failed_call_and_a_packs_item_of_it_are_one_error_that_the_detector_leads() -> None:
    made = a_finding("llm1", "schema-violation", 0.3, tool_span_id="tool1")
    item = a_pack_finding("tool1", "tools", tool_span_id="tool1", severity=Severity.HIGH)
    (error,) = group([item, made], RUNS)
    assert error.findings == (made, item)
    assert (error.confidence(), error.severity(), error.title) == (0.3, Severity.MEDIUM, made.shown_title)


def test_a_packs_finding_is_part_of_an_error_with_the_cause_of_its_dimension() -> None:
    judged = a_finding("llm1", "logical-consistency", 0.4)
    within = a_pack_finding("llm1", dimensions=(Dimension.LOGICAL_CONSISTENCY,))
    beside = a_pack_finding("llm1", "policy", dimensions=(Dimension.PLAN_ADHERENCE,))
    later = a_pack_finding("llm2", turn=2, dimensions=(Dimension.LOGICAL_CONSISTENCY,))
    errors = group([within, beside, later, judged], RUNS)
    assert sorted(judges_of(errors)) == [["club-policy"], ["club-state"], ["logical-consistency", "club-state"]]


def test_a_packs_finding_without_dimension_is_an_error_of_its_own() -> None:
    assert len(group([a_finding("llm1", "logical-consistency"), a_pack_finding("llm1")], RUNS)) == 2


def test_a_packs_finding_stands_alone_where_the_error_of_others_was_retracted() -> None:
    gone = a_finding("llm1", "schema-violation", tool_span_id="tool1", state=FindingState.RETRACTED)
    item = a_pack_finding("tool1", "tools", tool_span_id="tool1")
    assert [(e.lead, e.state) for e in group([item, gone], RUNS)] == [
        (gone, FindingState.RETRACTED),
        (item, FindingState.CURRENT),
    ]


@pytest.mark.parametrize("dimension", Dimension)
def test_a_pack_shares_the_causes_of_the_judges_of_its_dimensions(dimension: Dimension) -> None:
    own = cause(GPA_JUDGES[dimension], TRAIL, "Goal Deviation")
    assert shared_causes(a_pack_finding("llm1", dimensions=(dimension,))) == (own,)


def test_every_built_in_rule_has_a_class() -> None:
    classes = {cause(d.name, TRAIL, TRAIL_CATEGORIES[0]) for d in BUILT_IN}
    assert classes <= set(Cause)


SPANS = st.sampled_from(["s1", "s2", "s3", "s4", "s5", ""])
CHECKS = st.sampled_from(["club-tools", "club-state", "club-policy"])
RULES = st.sampled_from(["service-error", "service-error-read", "ungrounded-turn", "query-churn", "my-rule"])


@st.composite
def findings(draw: st.DrawFn, *, packs: bool = True) -> list[Finding]:
    found: dict[str, Finding] = {}
    for number in range(draw(st.integers(0, 12))):
        span_id = draw(SPANS.filter(bool))
        judge = draw(st.one_of(RULES, CHECKS) if packs else RULES)
        finding = a_finding(
            span_id,
            judge,
            draw(st.sampled_from([0.2, 0.4, 0.6])),
            agent_run_id=draw(st.sampled_from(["manager", "searcher", ""])),
            turn=draw(st.sampled_from([None, 0, 1, 2])),
            tool_span_id=draw(SPANS),
            seen_by_span_id=draw(SPANS),
            also_at=tuple(draw(st.lists(SPANS.filter(bool), max_size=2))),
            severity=draw(st.sampled_from(Severity)),
            evidence=f"quote {number}",
            state=draw(st.sampled_from([*FindingState, FindingState.CURRENT])),
            dimensions=tuple(draw(st.lists(st.sampled_from(Dimension), max_size=2, unique=True))),
            **({"taxonomy": "club", "category": f"bad {judge}"} if judge.startswith("club-") else {}),
        )
        others = draw(st.lists(st.sampled_from(sorted(found)), max_size=1)) if found else []
        found[finding.id] = replace(finding, linked=tuple(others))
    return list(found.values())


@given(findings(), st.randoms())
def test_every_finding_is_in_one_error_in_any_order(found: list[Finding], random: Any) -> None:
    errors = group(found, RUNS)
    assert sorted(f.id for e in errors for f in e.findings) == sorted(f.id for f in found)
    shuffled = random.sample(found, len(found))
    assert group(shuffled, RUNS) == errors
    assert len({error.id for error in errors}) == len(errors)
    for error in errors:
        roles = [role for role in error.spans.values() if role is not ErrorRole.REPEATED]
        assert len(roles) <= 3
        assert len(set(roles)) == len(roles)
        assert {f.span_id for f in error.findings} <= error.spans.keys()
        assert "" not in error.spans


@given(findings())
def test_the_errors_of_an_errors_findings_are_that_error(found: list[Finding]) -> None:
    for error in group(found, RUNS):
        again = group(error.findings, RUNS)
        assert [e.lead for e in again if e.id == error.id] == [error.lead]


def described(error: AgentError) -> tuple[Any, ...]:
    """All of an error that a pack must not change."""
    shares = [(error.confidence(s), error.severity(error.confidence(s))) for s in Severity]
    seen = summary(error).first_seen
    return error.id, error.title, error.lead, error.cause, error.state, shares, error.shown_at, error.read_at, seen


@given(findings())
def test_packs_change_nothing_of_the_errors_of_others(found: list[Finding]) -> None:
    without = group([f for f in found if not f.of_pack], RUNS)
    shared = [e for e in group(found, RUNS) if not all(f.of_pack for f in e.findings)]
    assert [described(e) for e in shared] == [described(e) for e in without]
    assert [[f for f in e.findings if not f.of_pack] for e in shared] == [list(e.findings) for e in without]


def a_mark(of: Finding, **other: Any) -> Finding:
    """A finding that marks the error of another one as decisive."""
    more: dict[str, Any] = {"linked": (of.id,), "explanation": "It decided. Instead: count.", "category": of.category}
    return a_finding(of.span_id, DECISIVE, 0.9, **more | {"severity": Severity.HIGH} | other)


@given(findings(), st.integers(0, 10**6))
def test_the_mark_of_the_decisive_error_changes_nothing_else_of_any_error(found: list[Finding], which: int) -> None:
    without = group(found, RUNS)
    marked = found[which % len(found)] if found else a_finding("llm1", "service-error")
    errors = group([*found, a_mark(marked)], RUNS)
    if found:
        assert [described(e) for e in errors] == [described(e) for e in without]
        assert [marked in e.findings for e in errors] == [summary(e).decisive for e in errors]
        assert [e.spans for e in errors] == [e.spans for e in without]
    assert [e.decided for e in errors if e.decided] == ["It decided. Instead: count."]


def test_a_mark_whose_error_is_gone_is_an_error_by_itself() -> None:
    other, gone = a_finding("llm1", "service-error"), a_finding("llm2", "service-error", turn=2)
    errors = group([other, a_mark(gone, turn=2)], RUNS)
    assert judges_of(errors) == [["service-error"], [DECISIVE]]
    assert [e.state for e in errors] == [FindingState.CURRENT] * 2


def test_ten_thousand_findings_of_one_turn_are_grouped_at_once() -> None:
    found = [
        a_finding(f"s{n}", "service-error", evidence=f"e{n}", tool_span_id=f"t{n % 7}", also_at=(f"s{n + 1}",))
        for n in range(10_000)
    ]
    (error,) = group(found, RUNS)
    assert len(error.findings) == 10_000
