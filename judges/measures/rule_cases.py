"""Cases of a rule: the errors that it saw, each once, however many findings it has in one.

A rule that repeats one mistake eight times was right or wrong once. Records count cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from tracejury.judges.grouping import Run, standing_errors
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace


@dataclass(frozen=True, slots=True)
class RuleCase:
    """What a rule said of one error. All spans are of the trace `trace_id`.

    `at`: where its findings stand; `spans`: all that they name. `agents`: names of the agents in whose runs they are.
    """

    trace_id: str
    judge: str
    at: frozenset[str]
    spans: frozenset[str]
    agents: frozenset[str]


def rule_cases(trace: Trace, findings: Iterable[Finding]) -> tuple[RuleCase, ...]:
    """The cases of each rule in a trace."""
    return tuple(_case(trace, found) for found in cases(findings, trace.runs))


def cases(findings: Iterable[Finding], runs: Iterable[Run]) -> Iterator[list[Finding]]:
    """The findings of each rule in each error of a trace; `runs` in order.

    Errors are of findings that are equally sure, since the confidence of a rule follows from its cases.
    """
    for error in standing_errors((replace(finding, confidence=1.0) for finding in findings), runs):
        by_rule: dict[str, list[Finding]] = {}
        for finding in error.findings:
            by_rule.setdefault(finding.judge, []).append(finding)
        yield from by_rule.values()


def _case(trace: Trace, found: Sequence[Finding]) -> RuleCase:
    named = (s for f in found for s in (f.span_id, f.tool_span_id, f.seen_by_span_id, *f.also_at) if s)
    runs = (trace.run(finding.agent_run_id) for finding in found)
    return RuleCase(
        trace_id=found[0].trace_id,
        judge=found[0].judge,
        at=frozenset(finding.span_id for finding in found),
        spans=frozenset(named),
        agents=frozenset(run.name for run in runs if run and run.name),
    )
