"""Facts from a judged trace: pure, and always from all that is stored of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ...schemas.rates import Population, Unit
from ...schemas.taxonomy import Dimension
from ...schemas.trajectory import TraceState
from ...schemas.verdicts import Outcome
from .base import BaseFinding, BaseRun, BaseTrace
from .facts import HOUR, Fact, FactFinding, FactKey, Standing, short
from .judge_coverage import OPEN, JudgeCoverage, run_coverage, trace_coverage

ABOUT_TOOLS = frozenset({Dimension.TOOL_SELECTION, Dimension.TOOL_CALLING})
"""Dimensions whose findings at a model call are about the tool that it asked for."""


def fold(trace: BaseTrace) -> tuple[Fact, ...]:
    """One fact for each run, then one for the trace as a whole."""
    detectors = _detectors(trace)
    failed = trace.detectors.failed if trace.detectors else ()
    findings = [(f.run_id, _finding(f, trace)) for f in trace.findings]
    of_run: dict[str, list[FactFinding]] = {}
    for run_id, finding in findings:
        of_run.setdefault(run_id, []).append(finding)
    runs = {run.id: run for run in trace.runs}
    words = {run_id: run_coverage((w for w in trace.words if w.subject_id == run_id), trace.scored) for run_id in runs}
    facts = [
        _fact(trace, Unit.RUN, run_id, run, detectors, words[run_id], failed, of_run.get(run_id, ()))
        for run_id, run in runs.items()
    ]
    first = next((run for run in trace.runs if not run.parent_id), next(iter(trace.runs), None))
    said = trace_coverage(list(words.values()))
    return (*facts, _fact(trace, Unit.TRACE, "", first, detectors, said, failed, (f for _, f in findings)))


def _fact(
    trace: BaseTrace,
    unit: Unit,
    run_id: str,
    run: BaseRun | None,
    detectors: Standing,
    said: JudgeCoverage,
    failed: tuple[str, ...],
    findings: Iterable[FactFinding],
) -> Fact:
    judges = Standing(0.0, OPEN) if trace.state is TraceState.OPEN else said.standing
    return Fact(
        key=FactKey(unit, trace.at // HOUR, trace.trace_id, run_id),
        at=trace.at,
        service=short(trace.service),
        version=short(trace.version),
        session=trace.session,
        agent=short(run.name) if run else "",
        role=short(run.role) if run else "",
        model=short(run.model) if run else "",
        recognised=trace.recognised,
        turns=run.turns if run else 0,
        standings={
            Population.DETECTORS: detectors,
            Population.JUDGES: judges,
            Population.BOTH: judges if detectors.weight else detectors,
        },
        scored=said.scored if judges.why != OPEN else (),
        missed=tuple(sorted({*said.missed, *map(short, failed)})),
        findings=tuple(findings),
        parts=trace.parts or (trace.trace_id,),
    )


def _detectors(trace: BaseTrace) -> Standing:
    word = trace.detectors
    if word is None:
        return Standing(0.0, Outcome.PENDING)
    if trace.state is TraceState.OPEN:
        return Standing(0.0, OPEN)
    if word.outcome is not Outcome.DONE or word.probability <= 0:
        return Standing(0.0, word.outcome if word.outcome is not Outcome.DONE else Outcome.SAMPLED_OUT)
    return Standing(1 / word.probability)


def _finding(finding: BaseFinding, trace: BaseTrace) -> FactFinding:
    return FactFinding(
        judge=short(finding.judge),
        llm=finding.llm,
        dimensions=finding.dimensions,
        taxonomy=short(finding.taxonomy),
        category=short(finding.category),
        severity=finding.severity,
        confidence=finding.confidence,
        tool=short(next(_tools(finding, trace), "")),
        turn=finding.turn,
    )


def _tools(finding: BaseFinding, trace: BaseTrace) -> Iterator[str]:
    """The tool where it showed, else where it was made; one that was only asked for, where it is about tools."""
    about = not ABOUT_TOOLS.isdisjoint(finding.dimensions)
    for span_id in (finding.tool_span_id, finding.span_id):
        calls = trace.calls.get(span_id, ()) if span_id else ()
        yield from (call.tool for call in calls if not call.asked)
        yield from (call.tool for call in calls if call.asked and about)
