"""A trace in outline: who did what and when, with hints of the contents and none of them.

A rebuilt trace holds megabytes; what a tree and a timeline need of it is a few hundred bytes a turn, which can be kept
and read again without rebuilding anything. Texts are cut, on one line, and safe to show.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

import orjson

from tracejury import __version__
from tracejury.schemas.call_graph import CallEdge, CalleeKind
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState, Turn

from .call_edges import edges_of
from .shared_texts import long_texts
from .tokens import sum_tokens

FORMAT: Final = f"4/{__version__}"
"""This form, and the program that made it; outlines of another one are made anew."""

LARGE: Final = 1000
"""Spans from which a trace's outline is kept: rebuilding takes about 0.1 ms a span."""
LARGE_TEXTS: Final = 8_000_000
"""Characters of texts from which it is: reading takes about as long."""

NAME: Final = 80
HINT: Final = 120
GOAL: Final = 400


@dataclass(frozen=True, slots=True)
class ToolCallOutline:
    """A tool call. `span_id`: "" where no span stands for it; `state`: ok, error, refused, unknown.

    `hint`: the start of its error or result. Times in unix nanos, 0 where none is known, here and below.
    """

    name: str
    span_id: str
    sub_run_id: str
    state: str
    hint: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TurnOutline:
    """A turn. `span_id`: of the LLM call, "" without one; `others`: further spans of the turn."""

    index: int
    kind: str
    span_id: str
    failed: bool
    closed: bool
    hint: str
    start: int
    end: int
    calls: tuple[ToolCallOutline, ...] = ()
    sub_run_ids: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class RunOutline:
    """An agent run. `others`: spans below it that belong to none of its turns."""

    id: str
    name: str
    role: str
    status: str
    span_id: str
    parent_id: str
    parent_turn: int | None
    goal: str
    answer: str
    start: int
    end: int
    inferred: bool = False
    beside: bool = False
    turns: tuple[TurnOutline, ...] = ()
    others: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class SpanOutline:
    """A span outside of all agent runs."""

    span_id: str
    parent_id: str
    name: str
    kind: str
    failed: bool
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class TraceOutline:
    """A trace in outline. `homes`: trace ids of the spans of joined traces that are not of the first one.

    `input_tokens` and `output_tokens`: None where no call recorded any, and partial where `calls_without_usage` of them
    recorded none. `rebuilt`: whether its agent runs are known; `large`: whether it takes long to rebuild them.
    """

    trace_id: str
    trace_ids: tuple[str, ...]
    tenant: str
    service: str
    session_id: str
    state: TraceState
    conventions: tuple[str, ...]
    spans: int
    start: int
    end: int
    received_through: int
    llm_calls: int
    input_tokens: int | None
    output_tokens: int | None
    calls_without_usage: int = 0
    runs: tuple[RunOutline, ...] = ()
    remainder: tuple[SpanOutline, ...] = ()
    homes: Mapping[str, str] = field(default_factory=dict)
    edges: tuple[CallEdge, ...] = ()
    rebuilt: bool = True
    large: bool = False

    def home(self, span_id: str) -> str:
        """Id of the trace that the span is of."""
        return self.homes.get(span_id, self.trace_id)


_COPIED: Final = (
    "trace_id", "trace_ids", "tenant", "service", "session_id", "state", "conventions", "start", "end",
    "received_through",
)  # fmt: skip


def outline_of(trace: Trace) -> TraceOutline:
    """The outline of a rebuilt trace."""
    tokens = sum_tokens(trace.spans)
    below = _unplaced(trace)
    return TraceOutline(
        **{name: getattr(trace, name) for name in _COPIED},
        spans=len(trace.spans),
        llm_calls=tokens.calls,
        input_tokens=tokens.input_tokens,
        output_tokens=tokens.output_tokens,
        calls_without_usage=tokens.without_usage,
        runs=tuple(outline_of_run(run, below.get(run.id, ())) for run in trace.runs),
        remainder=tuple(map(_loose, (*trace.remainder, *below.get("", ())))),
        homes={i: s.raw.trace_id for i, s in trace.spans.items() if s.raw.trace_id != trace.trace_id},
        edges=tuple(edge for edge in edges_of(trace) if edge.shown),
        large=is_large(trace),
    )


def is_large(trace: Trace) -> bool:
    """Whether its outline is kept: rebuilding it takes long, for its spans or for what they hold."""
    return len(trace.spans) >= LARGE or sum(long_texts(span.raw) for span in trace.spans.values()) >= LARGE_TEXTS


def _unplaced(trace: Trace) -> dict[str, list[NormalizedSpan]]:
    """Spans in no turn and not in the remainder, by the run that they stand under ("" for none)."""
    place: dict[str, str] = {s.span_id: "" for s in trace.remainder}
    for run in trace.runs:
        place[run.id] = run.id
        if run.span:
            place[run.span.span_id] = run.id
        place.update((s.span_id, run.id) for turn in run.turns for s in turn.spans)
    found: dict[str, list[NormalizedSpan]] = {}
    for span in trace.spans.values():  # parents first
        if span.span_id not in place:
            place[span.span_id] = place.get(span.raw.parent_span_id, "")
            found.setdefault(place[span.span_id], []).append(span)
    return found


def outline_of_run(run: AgentRun, others: Sequence[NormalizedSpan] = ()) -> RunOutline:
    """The outline of an agent run; `others`: spans below it that belong to none of its turns."""
    turns = tuple(map(_turn, run.turns))
    start, end = _extent([run.span] if run.span else [])
    if not run.span:
        start = min((t.start for t in turns if t.start), default=0)
        end = max((t.end for t in turns), default=0)
    return RunOutline(
        id=run.id,
        name=one_line(run.name, NAME),
        role=run.role,
        status=run.status,
        span_id=run.span.span_id if run.span else "",
        parent_id=run.parent_id,
        parent_turn=run.parent_turn,
        goal=one_line(run.goal, GOAL),
        answer=one_line(run.answer, GOAL),
        start=start,
        end=end,
        inferred=run.inferred,
        beside=run.beside,
        turns=turns,
        others=tuple(s.span_id for s in others),
    )


def _turn(turn: Turn) -> TurnOutline:
    start, end = _extent(turn.spans)
    return TurnOutline(
        index=turn.index,
        kind=turn.kind.value,
        span_id=turn.llm.span_id if turn.llm else "",
        failed=turn.llm is not None and turn.llm.is_error,
        closed=turn.closed,
        hint=one_line(turn.text, HINT),
        start=start,
        end=end,
        calls=tuple(map(_call, turn.tool_calls)),
        sub_run_ids=turn.sub_run_ids,
        others=tuple(s.span_id for s in turn.wrappers),
    )


def _call(call: ToolCall) -> ToolCallOutline:
    start, end = _extent([call.span] if call.span else [])
    if call.error is not None:
        state = "error"
    else:
        state = "refused" if call.executed is False else "ok" if call.executed else "unknown"
    return ToolCallOutline(
        name=one_line(call.name, NAME),
        span_id=call.span.span_id if call.span else "",
        sub_run_id=call.sub_run_id,
        state=state,
        hint=one_line(call.error if call.error is not None else call.result or "", HINT),
        start=start,
        end=end,
    )


def _loose(span: NormalizedSpan) -> SpanOutline:
    start, end = _extent([span])
    return SpanOutline(
        span_id=span.span_id,
        parent_id=span.raw.parent_span_id,
        name=one_line(span.raw.name, NAME),
        kind=span.kind.value,
        failed=span.is_error,
        start=start,
        end=end,
    )


def _extent(spans: Iterable[NormalizedSpan]) -> tuple[int, int]:
    """First start and last end; a span that is still running, or ends before it begins, ends where it begins."""
    start = end = 0
    for span in spans:
        begun = span.raw.start or span.raw.end
        start = min(start, begun) if start else begun
        end = max(end, begun, span.raw.end)
    return start, end


def to_json(outline: TraceOutline) -> bytes:
    """The outline as JSON, a list a run, a turn and a call: names of fields would be half of it."""
    return orjson.dumps([FORMAT, outline], default=_values, option=orjson.OPT_PASSTHROUGH_DATACLASS)


def _values(item: Any) -> list[Any]:
    return [getattr(item, f.name) for f in fields(item)]


def from_json(data: bytes | str) -> TraceOutline | None:
    """The outline that `to_json` wrote; None where another version of this program did.

    Raises:
        PermanentError: no outline.
    """
    try:
        made_by, values = orjson.loads(data)
        if made_by != FORMAT:
            return None
        read = TraceOutline(*values)
        return TraceOutline(*(_READ.get(f.name, _same)(getattr(read, f.name)) for f in fields(TraceOutline)))
    except (ValueError, TypeError) as error:
        raise PermanentError(f"an outline cannot be read: {error}") from error


def _same(value: Any) -> Any:
    return value


def _read_run(values: list[Any]) -> RunOutline:
    *head, turns, others = values
    return RunOutline(*[*head, tuple(map(_read_turn, turns)), tuple(others)])


def _read_turn(values: list[Any]) -> TurnOutline:
    *head, calls, sub_runs, others = values
    return TurnOutline(*[*head, tuple(ToolCallOutline(*call) for call in calls), tuple(sub_runs), tuple(others)])


_READ: Final[Mapping[str, Any]] = {
    "trace_ids": tuple,
    "conventions": tuple,
    "state": TraceState,
    "runs": lambda runs: tuple(map(_read_run, runs)),
    "edges": lambda edges: tuple(CallEdge(CalleeKind(kind), *rest) for kind, *rest in edges),
    "remainder": lambda spans: tuple(SpanOutline(*span) for span in spans),
}
