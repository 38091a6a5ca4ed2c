"""Findings against the failures that were built in, and on runs that had none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tracejury.schemas.findings import Finding
from tracejury.schemas.taxonomy import Severity

from .export import Export
from .items import CaptureCase, Measure, ScoredFact
from .rebuilt import RebuiltCapture, spans_of
from .stated import NO_SPAN, NO_TEXT
from .truth import InjectedFailure

_OF_SYSTEM: Final = {
    "Tool-related", "Service Errors", "Tool Definition Issues", "Environment Setup Errors", "Rate Limiting",
    "Authentication Errors", "Resource Not Found", "Resource Exhaustion", "Timeout Issues",
}  # fmt: skip
CATEGORIES: Final[Mapping[str, set[str]]] = {
    "loop": {"Resource Abuse"},
    "fabricated_answer": {"Language-only", "Tool-related", "Tool Output Misinterpretation", "Goal Deviation"},
    "no_tools_used": {
        "Tool Selection Errors", "Goal Deviation", "Tool-related", "Language-only", "Instruction Non-compliance",
    },
    "tool_error": _OF_SYSTEM,
}  # fmt: skip
"""Kinds of built-in failures and the categories of findings that say the same; others are not scored."""

BESIDE: Final = " before a made-up answer"
"""Of a tool's error after which an answer was made up: that answer is the failure to find."""


def failures(case: CaptureCase) -> Iterator[ScoredFact]:
    """Whether each built-in failure has a finding at one of its spans, or in a turn that holds one."""
    truth, rebuilt = case.capture.truth, case.rebuilt
    made_up = any(f.type == "fabricated_answer" for f in truth.failures)
    for failure in truth.failures:
        if failure.type not in CATEGORIES:
            continue
        rules = tuple(_untold(failure, case.export, truth.answers))
        turns = _turns(rebuilt, failure)
        there = [f for f in rebuilt.findings if _at(f, failure, turns)]
        right = any(f.category in CATEGORIES[failure.type] for f in there)
        yield case.fact(
            Measure.FAILURES,
            failure.type + (BESIDE if made_up and failure.type == "tool_error" else ""),
            sorted(failure.span_ids),
            sorted({f"{f.category} ({f.judge})" for f in there}),
            "" if right else "another category" if there else _elsewhere(rebuilt, failure),
            ok=right or bool(rules),
            rules=rules,
            stated=not rules,
        )


def _elsewhere(rebuilt: RebuiltCapture, failure: InjectedFailure) -> str:
    wanted = CATEGORIES[failure.type]
    return "elsewhere" if any(f.category in wanted for f in rebuilt.findings) else "not found"


def _untold(failure: InjectedFailure, export: Export, answers: tuple[str, ...]) -> Iterator[str]:
    spans = {key[1] for key in export.spans}
    if not failure.span_ids & spans:
        yield NO_SPAN
    texts = (*failure.texts, *(answers if failure.type == "no_tools_used" else ()))
    if failure.type != "tool_error" and not all(map(export.stands, texts)):
        yield NO_TEXT


def _turns(rebuilt: RebuiltCapture, failure: InjectedFailure) -> set[tuple[str, int]]:
    """Turns that hold a span of the failure, as (run id, index)."""
    found = set()
    for trace in rebuilt.traces:
        for run in trace.runs:
            found |= {(run.id, t.index) for t in run.turns if failure.span_ids.intersection(spans_of(t))}
    return found


def _at(finding: Finding, failure: InjectedFailure, turns: set[tuple[str, int]]) -> bool:
    if finding.span_id in failure.span_ids or finding.tool_span_id in failure.span_ids:
        return True
    return finding.turn is not None and (finding.agent_run_id, finding.turn) in turns


def happy(case: CaptureCase) -> Iterator[ScoredFact]:
    """Findings on a run in which all went well: those that a balanced reader sees."""
    truth, found = case.capture.truth, case.rebuilt.findings
    if truth.failures or any(c.error for c in truth.calls) or not truth.answers:
        return
    kind = "HIGH" if any(f.severity is Severity.HIGH for f in found) else ""
    got = [f"{f.category} {f.severity.name} ({f.judge}): {f.evidence[:80]}" for f in found]
    yield case.fact(Measure.FINDINGS, truth.scenario, 0, got, kind, ok=not found)


def faults(case: CaptureCase) -> Iterator[ScoredFact]:
    """Spans lost, crashes and traces that never settle, one item each."""
    for what, why in case.rebuilt.faults:
        yield case.fact(Measure.FAULTS, what, "", why, what)
