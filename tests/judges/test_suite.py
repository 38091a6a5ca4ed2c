"""The suite: isolation, gate, calibration, identity."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import pytest
from faulty_traces import FAULTY, failing
from small_traces import Did, Said, run, trace

from tracejury.judges.base import Context
from tracejury.judges.records import RecordedConfidence
from tracejury.judges.registry import suite_of
from tracejury.judges.suite import MAX_DRAFTS, Suite
from tracejury.schemas.findings import Draft, finding_id, fingerprint
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import KnownRuns, Trace, TraceState

TRACE = trace(
    run("r1", Said("a1", "First text.", [Did("look", {"q": "x"}, "seen", None, "t1")]), Said("a2", "Second text.")),
    tenant="acme",
)


def draft(**fields: Any) -> Draft:
    """A valid draft, changed in some fields."""
    valid = Draft("mine", "a1", "Resource Abuse", (Dimension.TOOL_CALLING,), Severity.LOW, 0.6, "First text.", "Why.")
    return replace(valid, **fields)


@dataclass(frozen=True)
class Fixed:
    """A detector that yields what it was given."""

    yields: Callable[[], Iterable[object]]
    name: str = "fixed"
    version: int = 1

    def detect(self, trace: Trace, ctx: Context) -> Iterable[Draft]:
        """What it was given, whatever the trace."""
        del trace, ctx
        return self.yields()  # type: ignore[return-value]  # garbage is what the tests are about


def _raises() -> Iterable[object]:
    yield draft()
    raise ValueError("broken\nin two lines")


def _deep() -> Iterable[object]:
    return _deep()


GARBAGE: list[tuple[Callable[[], Iterable[object]], str]] = [
    (_raises, "ValueError: broken in two lines"),
    (_deep, "RecursionError"),
    (lambda: 3, "TypeError"),  # type: ignore[list-item, return-value]
    (lambda: ["text"], "yielded str, not a Draft"),
    (lambda: [None], "yielded NoneType"),
    (lambda: [draft(span_id="nowhere")], "not in the trace"),
    (lambda: [draft(span_id=7)], "must be text"),
    (lambda: [draft(evidence=None)], "must be text"),
    (lambda: [draft(category="No such category")], "not one of its taxonomy"),
    (lambda: [draft(category="", taxonomy="own")], "not one of its taxonomy"),
    (lambda: [draft(severity="HIGH!")], "must be a Severity"),
    (lambda: [draft(dimensions=["TC"])], "tuple of Dimension"),
    (lambda: [draft(confidence=1.01)], "from 0 to 1"),
    (lambda: [draft(confidence=float("nan"))], "from 0 to 1"),
    (lambda: [draft(confidence=True)], "from 0 to 1"),
    (lambda: [draft(tool_span_id="nowhere")], "names a span"),
    (lambda: [draft(also_at="t1")], "names a span"),
    (lambda: [draft(linked=("nowhere",))], "names a span"),
    (lambda: [draft()] * (MAX_DRAFTS + 1), f"more than {MAX_DRAFTS}"),
]


@pytest.mark.parametrize(("yields", "why"), GARBAGE)
def test_a_broken_detector_costs_nobody_elses_findings(yields: Callable[[], Iterable[object]], why: str) -> None:
    """Whatever it raises or yields: its failure is one line in the result, and the other's finding stands."""
    good = Fixed(lambda: [draft(span_id="a2", evidence="Second text.")], "good")
    result = Suite([Fixed(yields, "bad"), good]).judge(TRACE)
    assert [f.judge for f in result.findings] == ["good"]
    assert [name for name, _ in result.failures] == ["bad"]
    assert why in result.failures[0][1]
    assert "\n" not in result.failures[0][1]


def test_valid_drafts_of_a_detector_survive_its_invalid_ones() -> None:
    """One wrong draft is refused and reported; the rest of that detector's are kept."""
    result = Suite([Fixed(lambda: [draft(), draft(span_id="nowhere")])]).judge(TRACE)
    assert len(result.findings) == 1
    assert len(result.failures) == 1


@pytest.mark.parametrize(
    ("evidence", "at", "dropped"),
    [
        ("First text.", "a1", 0),
        ("first   TEXT.", "a1", 0),
        ("Second text.", "a2", 0),
        ("seen", "t1", 0),
        ("nowhere at all", None, 1),
        (" ", None, 1),
        ("text.", "a1", 0),
        ("x" * 2001, None, 1),
    ],
)
def test_a_finding_stands_where_its_quote_stands(evidence: str, at: str | None, dropped: int) -> None:
    """At its span, exactly or but for white space and case; else at the one other span of the run; else nowhere."""
    result = Suite([Fixed(lambda: [draft(evidence=evidence)])]).judge(TRACE)
    assert [f.span_id for f in result.findings] == ([at] if at else [])
    assert result.dropped == dropped


def test_a_quote_in_two_other_spans_points_nowhere() -> None:
    """Moving is for the one place that is meant, not for a choice."""
    twice = trace(run("r1", Said("a1", "One."), Said("a2", "Twice."), Said("a3", "Twice.")))
    result = Suite([Fixed(lambda: [draft(evidence="Twice.")])]).judge(twice)
    assert result.findings == ()
    assert result.dropped == 1


def test_a_quote_in_another_run_points_nowhere() -> None:
    """Two agents may say the same; a finding does not change the agent."""
    other = trace(run("r1", Said("a1", "One.")), run("r2", Said("b1", "Other.")))
    assert Suite([Fixed(lambda: [draft(evidence="Other.")])]).judge(other).dropped == 1


def test_one_finding_a_rule_span_and_category() -> None:
    """Each rule speaks, and once: of what one rule says twice of a span, the surest."""
    rules = [
        Fixed(lambda: [draft(confidence=0.5, severity=Severity.HIGH)], "less-sure"),
        Fixed(lambda: [draft(confidence=0.7), draft(confidence=0.6)], "surer"),
        Fixed(lambda: [draft(category="Goal Deviation", confidence=0.1)], "other"),
    ]
    findings = Suite(rules).judge(TRACE).findings
    assert [(f.judge, f.category, f.confidence) for f in findings] == [
        ("other", "Goal Deviation", 0.1),
        ("less-sure", "Resource Abuse", 0.5),
        ("surer", "Resource Abuse", 0.7),
    ]


def test_a_finding_knows_what_it_is_and_where() -> None:
    """Identity by tenant, trace, span, judge, category and evidence; run and turn filled in; the rule's own name."""
    (finding,) = Suite([Fixed(lambda: [draft(judge="forged", span_id="t1", evidence="seen")])]).judge(TRACE).findings
    assert finding.judge == "fixed"
    assert (finding.agent_run_id, finding.turn, finding.tenant) == ("r1", 0, "acme")
    assert finding.id == finding_id("acme", TRACE.trace_id, "t1", "fixed", "Resource Abuse", "seen")
    assert finding.fingerprint == fingerprint("acme", TRACE.trace_id, "t1", "trail", "Resource Abuse")


def test_two_anchors_of_one_claim_know_each_other() -> None:
    """Drafts that name each other's span are linked by finding ids; a one-sided link is none."""
    made = draft(linked=("a2",))
    read = draft(span_id="a2", evidence="Second text.", linked=("a1",))
    first, second = Suite([Fixed(lambda: [made]), Fixed(lambda: [read], "reader")]).judge(TRACE).findings
    assert first.linked == (second.id,)
    assert second.linked == (first.id,)
    (alone, _) = Suite([Fixed(lambda: [made, replace(read, linked=())])]).judge(TRACE).findings
    assert alone.linked == ()


def test_the_order_of_detectors_and_runs_changes_nothing() -> None:
    """Findings, ids and version are the same whatever comes first."""
    detectors = list(suite_of(()).detectors)
    for whole in FAULTY.values():
        turned = replace(whole, runs=tuple(reversed(whole.runs)), spans=dict(reversed(list(whole.spans.items()))))
        forwards, backwards = Suite(detectors), Suite(reversed(detectors))
        assert forwards.version == backwards.version
        assert forwards.judge(whole) == backwards.judge(turned)


def test_known_runs_change_nothing() -> None:
    """A caller may keep them while a trace grows."""
    suite = suite_of(())
    for whole in FAULTY.values():
        known = KnownRuns()
        assert suite.judge(whole) == suite.judge(whole, known) == suite.judge(whole, known)


def test_the_version_follows_rules_and_calibration() -> None:
    """Another rule, another version of one, or another table: stored traces must be judged again."""
    nothing = Fixed(list)
    suites = [
        Suite([nothing]),
        Suite([replace(nothing, version=2)]),
        Suite([replace(nothing, name="other")]),
        Suite([nothing], RecordedConfidence({})),
        Suite([nothing], RecordedConfidence({"identical-call": 0.5})),
    ]
    assert len({s.version for s in suites}) == len(suites)
    assert Suite([nothing]).version == suites[0].version


def test_a_turn_is_judged_once_it_has_closed() -> None:
    """A draft at an open turn of an open trace waits without counting as dropped; once settled it shows."""
    one = failing("ValueError: no").runs[0]
    open_turn = replace(one, turns=(replace(one.turns[0], closed=False),), span=None)
    waiting = Suite([Fixed(lambda: [draft(span_id="a0", evidence="Reading.")])])
    live = waiting.judge(trace(open_turn, state=TraceState.OPEN))
    assert (live.findings, live.dropped, live.failures) == ((), 0, ())
    assert len(waiting.judge(trace(open_turn)).findings) == 1
