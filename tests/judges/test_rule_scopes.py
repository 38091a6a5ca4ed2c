"""The declared scopes of the built-in rules: nothing outside of them changes what a rule finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cache, partial

import pytest
from captured_faults import Traces, changed, failed, joined, step_of, with_fault
from fault_kinds import FAULTS, MODEL_FAULTS
from narrowed_traces import only_run, until_turn
from trajectories import FRAMEWORKS, TRAIL, load

from tracejury.judges.base import Detector, RuleScope, scope_of
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.registry import suite_of
from tracejury.judges.suite import Suite
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import AgentRun, Trace

SUITE = suite_of(())
NARROW = {d.name for d in BUILT_IN if scope_of(d) is not RuleScope.TRACE}
TURN = {d.name for d in BUILT_IN if scope_of(d) is RuleScope.TURN}

captured = pytest.mark.skipif(
    not (FRAMEWORKS.exists() and TRAIL.exists()), reason="the shared captures are not on this machine"
)


@cache
def traces() -> tuple[Trace, ...]:
    """All captures of frameworks, healthy ones with faults put in, and every fourth of TRAIL's development traces."""
    found: list[Traces] = [load(path) for path in (*sorted(FRAMEWORKS.glob("*/*.zip")), *sorted(TRAIL.glob("*"))[::4])]
    for path in sorted(FRAMEWORKS.glob("*/S1.zip"))[::3]:
        found += faulty(load(path))
    return tuple(trace for spans in found for trace in joined(spans))


def faulty(healthy: Traces) -> Iterator[Traces]:
    """A healthy capture with each fault that can be put into a call of a tool or of the model."""
    step = step_of(healthy)
    if step is None or step.turn.llm is None:
        return
    for fault in FAULTS.values():
        yield with_fault(healthy, step, fault)
    at = step.turn.llm.span_id
    for message in MODEL_FAULTS:
        yield changed(healthy, at, partial(failed, error=message))
    yield changed(healthy, at, lambda span: replace(span, finish_reasons=("length",)))


def told(findings: Iterable[Finding], run: AgentRun, rules: set[str], turn: int | None = None) -> list[Finding]:
    """What these rules find in a run, or in one of its turns."""
    found = [f for f in findings if f.agent_run_id == run.id and f.judge in rules]
    return [f for f in found if turn is None or f.turn == turn]


@captured
def test_a_rule_of_run_scope_finds_the_same_without_the_contents_of_other_runs() -> None:
    seen: Counter[str] = Counter()
    for trace in traces():
        whole = SUITE.judge(trace).findings
        for run in trace.runs if len(trace.runs) > 1 else ():
            wanted = told(whole, run, NARROW)
            assert told(SUITE.judge(only_run(trace, run)).findings, run, NARROW) == wanted, (trace.trace_id, run.id)
            seen.update(f.judge for f in wanted)
    assert len(seen) >= 15, "too few rules fire for this to say anything"


@captured
def test_a_rule_of_turn_scope_finds_the_same_in_a_run_cut_after_the_turn() -> None:
    rules = Suite([d for d in BUILT_IN if d.name in TURN])
    seen: Counter[str] = Counter()
    for trace in traces():
        whole = rules.judge(trace).findings
        for run in trace.runs:
            for position, turn in enumerate(run.turns):
                wanted = told(whole, run, TURN, turn.index)
                cut = rules.judge(until_turn(trace, run, position)).findings
                assert told(cut, run, TURN, turn.index) == wanted, (trace.trace_id, run.id, position)
                seen.update(f.judge for f in wanted)
    assert seen, "too few rules fire for this to say anything"


def test_a_detector_that_declares_no_scope_has_that_of_a_trace() -> None:
    class Silent:
        name, version = "silent", 1

        def detect(self, *_: object) -> tuple[()]:
            return ()

    detector: Detector = Silent()
    assert scope_of(detector) is RuleScope.TRACE
