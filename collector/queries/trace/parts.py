"""A large trace in parts: agent runs, as many as fit, one after the other; one that does not fit by its turns."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Final

from tracejury.collector.queries.errors import labelled, located_errors
from tracejury.collector.queries.present import by_place, present_run
from tracejury.collector.queries.present_errors import present_error
from tracejury.collector.queries.unproven import marked
from tracejury.collector.store.rule_calibrations import TenantCalibrations
from tracejury.judges.measures.error_labels import labels_on
from tracejury.processors.trace_outline import RunOutline, TraceOutline, TurnOutline
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.trace_status import status_of
from tracejury.schemas.trajectory import AgentRun
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.traces import PartedTraceJson, TokensJson, TracePartJson

from .assessment import TraceAssessment
from .trace_index import TraceIndex

PARTED: Final = 5_000
"""Spans from which a trace is answered in parts unless somebody asks otherwise."""

PART_SPANS: Final = 2_000
"""Spans of the runs of a part; a larger run is divided between its turns."""

FIRST_SPANS: Final = 250
"""The same of the first part, which is waited for."""


@dataclass(frozen=True, slots=True)
class TracePart:
    """Consecutive runs of an outline, with some of the turns of one that is divided; `first`: the first one's place."""

    outline: TraceOutline
    first: int
    runs: Sequence[RunOutline]

    @property
    def next(self) -> str | None:
        """The cursor of the next part: the last run of this one, or its last turn; None on the last part."""
        if not self.runs:
            return None
        end, last = self.first + len(self.runs), self.runs[-1]
        if last.turns and last.turns[-1].index + 1 < len(self.outline.runs[end - 1].turns):
            return f"turn:{last.turns[-1].index}:{last.id}"
        return last.id if end < len(self.outline.runs) else None


def part_of(outline: TraceOutline, after: str, limit: int | None) -> TracePart:
    """The part that follows the cursor `after` ("": the first one), of at most `limit` runs.

    Raises:
        ConfigError: the trace has no such run or turn.
    """
    first, turn = _place(outline, after)
    most = PART_SPANS if after else FIRST_SPANS
    runs: list[RunOutline] = []
    size = 0
    for run in outline.runs[first:]:
        rest = replace(run, turns=run.turns[turn:]) if turn else run
        size += _spans(rest)
        if runs and (size > most or len(runs) == limit):
            break
        runs.append(rest if size <= most else _beginning(rest, most))
        turn = 0
    return TracePart(outline, first, runs)


def part_around(trace_index: TraceIndex, span_id: str) -> TracePart:
    """The agent run of a span with the span's turn and those next to it; no run where the span is in none.

    Raises:
        NotFoundError: the trace has no such span.
    """
    outline, key = trace_index.outline, trace_index.key_of_span(span_id)
    if key is None:
        raise NotFoundError(f"no span {span_id[:64]!r} is in this trace")
    turn = 0
    for node in reversed(trace_index.path(key)):
        match trace_index.items.get(node):
            case TurnOutline() as found:
                turn = found.index
            case RunOutline() as run:
                near = replace(run, turns=run.turns[max(0, turn - 1) : turn + 2])
                return TracePart(outline, outline.runs.index(run), [near])
    return TracePart(outline, 0, [])


def present_part(
    part: TracePart,
    runs: Sequence[AgentRun],
    found: TraceAssessment,
    stored: int,
    calibrations: TenantCalibrations,
    said: Iterable[Annotation] = (),
    *,
    judged: bool = True,
    not_judged: NotJudged | None = None,
) -> PartedTraceJson:
    """The part with what was found in its runs; what belongs to no run stands in the last one.

    `stored`: spans; `said`: what people say of the trace; `judged`: as in `TracePartJson`.
    `not_judged`: as in `TraceJson`.
    """
    outline, after = part.outline, part.next
    order = {run.id: position for position, run in enumerate(outline.runs)}
    turns = {run.id: _turns(run, outline.runs[order[run.id]]) for run in part.runs}

    def belongs(run_id: str, turn: int | None = None) -> bool:
        """To the run here, at that turn (None: at its beginning); or to no run, in the last part."""
        if run_id in turns:
            return (-1 if turn is None else turn) in turns[run_id]
        return after is None and run_id not in order

    here = [error for error in found.errors if belongs(error.lead.agent_run_id, error.lead.turn)]
    labels = labels_on(map(summary, found.errors), said)
    errors = labelled(located_errors(outline, map(summary, here), found.least), labels)
    return fill(
        PartedTraceJson,
        outline,
        tokens=TokensJson(
            input=outline.input_tokens,
            output=outline.output_tokens,
            llm_calls=outline.llm_calls,
            calls_without_usage=outline.calls_without_usage,
        ),
        agent_runs=[present_run(run) for run in runs],
        remainder=[] if after else [span.span_id for span in outline.remainder],
        errors=[present_error(located) for located in marked(errors, calibrations)],
        findings=by_place((f for f in found.findings if belongs(f.agent_run_id, f.turn)), order),
        verdicts=[v for v in found.verdicts if belongs(v.subject.run_id)],
        not_judged=not_judged,
        status=status_of(outline.state, not_judged is not None),
        part=TracePartJson(
            rebuilt=outline.rebuilt,
            judged=judged,
            first=part.first,
            agent_runs=len(outline.runs),
            next=after,
            stored_spans=stored,
        ),
    )


def _place(outline: TraceOutline, cursor: str) -> tuple[int, int]:
    """The run and the turn that follow a cursor."""
    if not cursor:
        return 0, 0
    places = {run.id: place for place, run in enumerate(outline.runs)}
    if cursor in places:
        return places[cursor] + 1, 0
    turn, _, run_id = cursor.removeprefix("turn:").partition(":")
    place = places.get(run_id)
    if place is None or turn not in map(str, range(len(outline.runs[place].turns))):
        raise ConfigError("cursor: the trace has no such agent run any more; begin again without a cursor")
    return place, int(turn) + 1


def _turns(run: RunOutline, whole: RunOutline) -> range:
    """The turns of a run that a part shows, -1 for what is before them, and all that follow in the last part of it."""
    if len(run.turns) == len(whole.turns):
        return range(-1, sys.maxsize)
    first, last = run.turns[0].index, run.turns[-1].index
    return range(first or -1, last + 1 if last + 1 < len(whole.turns) else sys.maxsize)


def _beginning(run: RunOutline, most: int) -> RunOutline:
    """The run with as many of its first turns as have so many spans, and with one at least."""
    ends = accumulate(map(_spans_of_turn, run.turns))
    return replace(run, turns=run.turns[: max(1, sum(end <= most for end in ends))])


def _spans(run: RunOutline) -> int:
    return 1 + len(run.others) + sum(map(_spans_of_turn, run.turns))


def _spans_of_turn(turn: TurnOutline) -> int:
    return 1 + len(turn.others) + len(turn.calls)
