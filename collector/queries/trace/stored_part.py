"""Some agent runs of a large trace, rebuilt from their own spans: a first answer cannot wait for all of it.

The outline of the trace says what each run is. Runs that come out otherwise need the whole trace and are not answered.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.collector.store.judging import StoredJudging
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import rebuild
from tracejury.processors.trace_outline import RunOutline, TraceOutline, TurnOutline, outline_of_run
from tracejury.schemas.trajectory import AgentRun, Trace, Turn

MOST_SPANS: Final = 4_000
"""Spans that are read for some runs; those of more are read with the whole trace."""

AROUND: Final = 2
"""Turns that are read before and after some turns of a run: a call's result may stand in the next turn."""


def stored_part(
    judging: StoredJudging, outline: TraceOutline, wanted: Sequence[RunOutline], span_ids: Iterable[str] = ()
) -> Trace | None:
    """A trace with these runs as the whole trace has them, and with these spans; of other runs only beginnings.

    A wanted run may have some of its turns in succession: the found one then has these.

    None where the spans of these runs alone do not show them as the outline does.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    ids = {*_spans_of(outline, wanted), *span_ids}
    if len(ids) > MOST_SPANS:
        return None
    spans, logs = judging.load_some(outline.trace_ids, sorted(ids), outline.received_through)
    held = OpenTrace((outline.tenant, outline.trace_id), first_arrival=0, last_arrival=0)
    held.add_logs(logs)
    for span in spans:
        held.add_span(span)
    made = rebuild(held.spans.values(), state=outline.state)
    runs = {run.id: run for run in made.runs}
    whole = {run.id: run for run in outline.runs}
    for told in wanted:
        run = _placed(runs.get(told.id), replace(told, turns=_turns_read(told, whole[told.id])))
        if run is None:
            return None
        seen, shown = outline_of_run(run), {turn.index for turn in told.turns}
        if replace(seen, turns=tuple(t for t in seen.turns if t.index in shown), others=told.others) != told:
            return None
        runs[told.id] = with_turns_of(run, told)
    return replace(made, trace_id=outline.trace_id, tenant=outline.tenant, runs=tuple(runs.values()))


def with_turns_of(run: AgentRun, told: RunOutline) -> AgentRun:
    """The run with those of its turns that `told` has."""
    shown = {turn.index for turn in told.turns}
    return replace(run, turns=tuple(turn for turn in run.turns if turn.index in shown))


def _spans_of(outline: TraceOutline, wanted: Iterable[RunOutline]) -> set[str]:
    """The spans of these runs, of the turns that started them, and those of the runs that they started."""
    runs = {run.id: run for run in outline.runs}
    found: set[str] = set()
    for run in wanted:
        found |= {run.id, run.span_id, *run.others}
        for turn in _turns_read(run, runs[run.id]):
            found |= _of_turn(turn)
            found |= {runs[started].span_id for started in turn.sub_run_ids if started in runs}
        above = runs.get(run.parent_id)
        if above is not None:
            found |= {above.id, above.span_id}
            found |= {span_id for t in above.turns if t.index == run.parent_turn for span_id in _of_turn(t)}
    return found - {""}


def _of_turn(turn: TurnOutline) -> set[str]:
    return {turn.span_id, *turn.others, *(call.span_id for call in turn.calls)}


def _turns_read(run: RunOutline, whole: RunOutline) -> tuple[TurnOutline, ...]:
    """The turns of a run; where it has only some, with those about them and those that show its task and its answer."""
    if len(run.turns) == len(whole.turns):
        return run.turns
    first, last, length = run.turns[0].index, run.turns[-1].index, len(whole.turns)
    places = {*range(AROUND), *range(first - AROUND, last + 1 + AROUND), *range(length - AROUND, length)}
    return tuple(turn for turn in whole.turns if turn.index in places)


def _placed(run: AgentRun | None, told: RunOutline) -> AgentRun | None:
    """The run under and above those runs that the whole trace shows it under and above; None: it has other turns."""
    if run is None or len(run.turns) != len(told.turns):
        return None
    turns = tuple(map(_placed_turn, run.turns, told.turns))
    kept = {name: getattr(told, name) for name in ("role", "parent_id", "parent_turn", "inferred", "beside")}
    return replace(run, **kept, turns=turns)


def _placed_turn(turn: Turn, told: TurnOutline) -> Turn:
    calls = turn.tool_calls
    if len(calls) == len(told.calls):
        calls = tuple(replace(call, sub_run_id=of.sub_run_id) for call, of in zip(calls, told.calls, strict=True))
    return replace(turn, index=told.index, sub_run_ids=told.sub_run_ids, tool_calls=calls)
