"""A large trace in parts: whole agent runs, as many as fit, one after the other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from ....processors.trace_outline import RunOutline, TraceOutline
from ....schemas.errors import ConfigError
from ....schemas.findings import Finding
from ....schemas.trajectory import AgentRun
from ....schemas.verdicts import Verdict
from ....schemas.wire.base import fill
from ....schemas.wire.traces import PartedTraceJson, TokensJson, TracePartJson
from ..present import by_place, present_run

PARTED: Final = 5_000
"""Spans from which a trace is answered in parts unless somebody asks otherwise."""

PART_SPANS: Final = 2_000
"""Spans of the runs of a part; a larger run is a part of its own."""


@dataclass(frozen=True, slots=True)
class TracePart:
    """Consecutive runs of an outline; `first`: the place of the first one."""

    outline: TraceOutline
    first: int
    runs: Sequence[RunOutline]

    @property
    def next(self) -> str | None:
        """Where the next part begins: the id of the last run of this one, None on the last part."""
        return self.runs[-1].id if self.first + len(self.runs) < len(self.outline.runs) else None


def part_of(outline: TraceOutline, after: str, limit: int | None) -> TracePart:
    """The part that follows the run `after` ("": the first one), of at most `limit` runs.

    Raises:
        ConfigError: the trace has no such run.
    """
    ids = [run.id for run in outline.runs]
    if after and after not in ids:
        raise ConfigError("cursor: the trace has no such agent run any more; begin again without a cursor")
    first = end = ids.index(after) + 1 if after else 0
    size = 0
    while end < len(ids) and (limit is None or end - first < limit):
        size += _spans(outline.runs[end])
        if end > first and size > PART_SPANS:
            break
        end += 1
    return TracePart(outline, first, outline.runs[first:end])


def present_part(
    part: TracePart, runs: Sequence[AgentRun], findings: Sequence[Finding], verdicts: Sequence[Verdict], stored: int
) -> PartedTraceJson:
    """The part with what was found in its runs; what belongs to no run stands in the last one. `stored`: spans."""
    outline, shown = part.outline, {run.id for run in part.runs}
    others = {run.id for run in outline.runs} - shown if part.next is None else set()
    order = {run.id: position for position, run in enumerate(outline.runs)}

    def belongs(run_id: str) -> bool:
        return run_id in shown or (part.next is None and run_id not in others)

    return fill(
        PartedTraceJson,
        outline,
        tokens=TokensJson(input=outline.input_tokens, output=outline.output_tokens, llm_calls=outline.llm_calls),
        agent_runs=[present_run(run) for run in runs],
        remainder=[] if part.next else [span.span_id for span in outline.remainder],
        findings=by_place((f for f in findings if belongs(f.agent_run_id)), order),
        verdicts=[v for v in verdicts if belongs(v.subject.id)],
        part=TracePartJson(
            rebuilt=outline.rebuilt, first=part.first, agent_runs=len(outline.runs), next=part.next, stored_spans=stored
        ),
    )


def _spans(run: RunOutline) -> int:
    return 1 + len(run.others) + sum(1 + len(turn.others) + len(turn.calls) for turn in run.turns)
