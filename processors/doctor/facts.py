"""Facts that the rules share: the spans, calls and runs of some traces, gathered once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.processors.normalize.convention import is_announcement
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState

_BLANKS: Final = frozenset({"", "__REDACTED__", "<redacted>"})
"""Placeholders that instrumentations write for hidden content (OpenInference, Strands)."""


@dataclass(frozen=True, slots=True)
class Facts:
    """`calls`: LLM calls counted once; `tools`: tool calls of all runs; `elsewhere`: agents' runs in other traces."""

    traces: tuple[Trace, ...]
    spans: tuple[NormalizedSpan, ...]
    calls: tuple[NormalizedSpan, ...]
    tools: tuple[ToolCall, ...]
    runs: tuple[AgentRun, ...]
    elsewhere: tuple[ExternalRun, ...] = ()

    @property
    def ended(self) -> tuple[NormalizedSpan, ...]:
        """LLM calls that came to an answer."""
        return tuple(c for c in self.calls if not c.is_error and not c.raw.pending)

    @property
    def settled(self) -> tuple[Trace, ...]:
        """Traces of which nothing more is awaited."""
        return tuple(t for t in self.traces if t.state is not TraceState.OPEN)

    def of(self, *kinds: Kind) -> tuple[NormalizedSpan, ...]:
        """Spans of these kinds."""
        return tuple(s for s in self.spans if s.kind in kinds)


def gather(traces: Sequence[Trace], elsewhere: Iterable[ExternalRun] = ()) -> Facts:
    """The facts of these traces."""
    runs = tuple(run for trace in traces for run in trace.runs)
    return Facts(
        traces=tuple(traces),
        spans=tuple(span for trace in traces for span in trace.spans.values()),
        calls=tuple(call for trace in traces for call in _calls(trace)),
        tools=tuple(call for run in runs for turn in run.turns for call in turn.tool_calls),
        runs=runs,
        elsewhere=tuple(elsewhere),
    )


def _calls(trace: Trace) -> Iterator[NormalizedSpan]:
    """Of LLM spans inside each other, records of one call, the run's choice counts, outside of runs the outermost."""
    for run in trace.agents:
        yield from (turn.llm for turn in run.turns if turn.llm)
    free = {s.span_id for s in trace.outside}
    yield from (s for s in trace.outside if s.raw.parent_span_id not in free)


def lost_parents(trace: Trace) -> tuple[NormalizedSpan, ...]:
    """Spans whose parent, of the same process as far as known, never came."""
    return tuple(s for s in trace.spans.values() if not s.raw.is_root and s.raw.parent_span_id not in trace.spans)


def never_ended(trace: Trace) -> tuple[NormalizedSpan, ...]:
    """Spans that were announced at their start and of which no more came."""
    return tuple(s for s in trace.spans.values() if s.raw.pending and not is_announcement(s.raw))


def says_input(call: NormalizedSpan) -> bool:
    """Whether it holds anything of what was sent to the model."""
    return _says(call.input_text) or any(map(_message_says, call.input_messages))


def says_output(call: NormalizedSpan) -> bool:
    """Whether it holds anything of what the model wrote."""
    return _says(call.output_text) or any(map(_message_says, call.output_messages))


def _says(text: str | None) -> bool:
    return (text or "").strip() not in _BLANKS


def _message_says(message: Message) -> bool:
    asked = any(r.arguments not in (None, "") for r in message.tool_requests)
    return asked or _says(message.text) or _says(message.reasoning)


def arguments_known(call: ToolCall) -> bool:
    """Whether what the tool was called with is known."""
    return call.arguments is not None and not (isinstance(call.arguments, str) and not _says(call.arguments))


def result_known(call: ToolCall) -> bool:
    """Whether what the tool answered is known; an empty answer is one."""
    return call.result is not None and (not call.result or _says(call.result))


def worked(call: ToolCall) -> bool:
    """Whether the call ran to its end and did not fail, as far as a span shows."""
    span = call.span
    return span is not None and not span.raw.pending and not span.is_error and call.error is None


@dataclass(frozen=True, slots=True)
class ExternalRun:
    """A trace that `agent` leads; `start` and `end` in unix nanos by the clock of its own machine."""

    trace_id: str
    service: str
    agent: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class DetectedGap:
    """A gap of a kind that `gaps.yaml` describes; `what` counts it; `spans` are those concerned."""

    kind: str
    what: str
    spans: Sequence[NormalizedSpan]


def count(items: Collection[object] | int, noun: str) -> str:
    """`3 spans`, `1 span`."""
    number = items if isinstance(items, int) else len(items)
    return f"{number} {noun}{'s' * (number != 1)}"
