"""Faults put into healthy captures of agent frameworks: each is a step of its own before a healthy one.

The step is a copy of one that asks a tool, made just before it: so whatever is said later is still supported, and the
fault is the only mistake. Spans are changed after they were normalised, which is the same for every framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import StrEnum
from typing import Any

from tracejury.processors.joining import rebuild_joined
from tracejury.schemas.normalized import ExceptionInfo, Kind, Message, NormalizedSpan, ToolRequest
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn, TurnKind

Traces = Mapping[str, Sequence[NormalizedSpan]]

LLM, TOOL, CALL = "fa" * 8, "fb" * 8, "call_of_the_fault"
"""Ids of the copied step's spans and call."""


@dataclass(frozen=True, slots=True)
class Step:
    """A healthy step: a call of a tool, the turn that made it, and its run."""

    run: AgentRun
    turn: Turn
    call: ToolCall

    @property
    def sent(self) -> tuple[Message, ...]:
        """The messages that the model was sent, as far as they are recorded."""
        return self.turn.llm.input_messages if self.turn.llm is not None else ()


def joined(traces: Traces) -> list[Trace]:
    """The traces rebuilt."""
    return rebuild_joined(traces)


def step_of(traces: Traces) -> Step | None:
    """The first step that asks for a tool, None where no model's call is recorded."""
    for trace in joined(traces):
        for run in trace.runs:
            for turn in run.turns:
                for call in turn.tool_calls:
                    asked = turn.llm is not None and bool(turn.llm.tool_requests) and call.requested
                    if asked and call.result and not call.sub_run_id and not call.closing:
                        return Step(run, turn, call)
    return None


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong in the copied step.

    `request` changes what the model asks for; `tool` the tool's span, None where the tool never ran; `told` is the
    result that the model is sent, None for none at all.
    """

    told: str | None
    request: Callable[[ToolRequest], ToolRequest] = lambda asked: asked
    tool: Callable[[NormalizedSpan], NormalizedSpan] | None = None


def with_fault(traces: Traces, step: Step, fault: Fault) -> Traces:
    """The traces with the step made once before, faulty."""
    llm = step.turn.llm
    assert llm is not None
    asked = next(r for r in llm.tool_requests if r.name == step.call.name)
    request = replace(fault.request(asked), call_id=CALL)
    messages = [Message("assistant", "", (request,))]
    if fault.told is not None:
        messages.append(Message("tool", fault.told, tool_call_id=CALL, name=request.name))
    parent, start = place_of(step.turn)
    copies = [copied(llm, LLM, parent, start - 40, output_messages=tuple(messages[:1]), output_text="")]
    if fault.tool is not None and step.call.span is not None:
        span = step.call.span
        copies.append(
            fault.tool(copied(span, TOOL, parent, start - 20, tool_call_id=CALL if span.tool_call_id else ""))
        )
    own = {s.span_id for turn in step.run.turns for s in turn.spans}
    changed: dict[str, list[NormalizedSpan]] = {}
    for trace_id, spans in traces.items():
        changed[trace_id] = [_told(s, llm, messages) if s.span_id in own else s for s in spans]
        changed[trace_id] += [c for c in copies if c.raw.trace_id == trace_id]
    return changed


def place_of(turn: Turn) -> tuple[str, int]:
    """Parent and start of a turn's call to the model, of which there may be several records, each within the other."""
    records = {s.span_id: s for s in turn.spans if s.kind is Kind.LLM}
    assert turn.llm is not None
    above, start = turn.llm.raw.parent_span_id, min(s.raw.start for s in records.values())
    while above in records:
        above = records[above].raw.parent_span_id
    return above, start


def copied(span: NormalizedSpan, span_id: str, parent: str, start: int, **fields: Any) -> NormalizedSpan:
    """A copy of a span at another place, with some fields changed."""
    raw = replace(span.raw, span_id=span_id, parent_span_id=parent, start=start, end=start + 10)
    return replace(span, raw=raw, **fields)


def _told(span: NormalizedSpan, llm: NormalizedSpan, messages: Sequence[Message]) -> NormalizedSpan:
    """The span, with the faulty step in its history if it is a call of the model that came later."""
    sent = len(llm.input_messages)
    if span.kind is not Kind.LLM or span.input_messages[:sent] != llm.input_messages or not sent:
        return span
    return replace(span, input_messages=(*llm.input_messages, *messages, *span.input_messages[sent:]))


def raising(error: str) -> Callable[[NormalizedSpan], NormalizedSpan]:
    """A tool's span that failed with this error."""

    def fail(span: NormalizedSpan) -> NormalizedSpan:
        return replace(failed(span, error), tool_result=None, output_text="")

    return fail


def failed(span: NormalizedSpan, error: str) -> NormalizedSpan:
    """A span whose status says that it failed."""
    return replace(
        span,
        raw=replace(span.raw, status_code=STATUS_ERROR, status_message=error),
        exceptions=(ExceptionInfo("", error),),
    )


def answering(result: str) -> Callable[[NormalizedSpan], NormalizedSpan]:
    """A tool's span with this result."""
    return lambda span: replace(span, tool_result=result, output_text=result)


def silent(span: NormalizedSpan) -> NormalizedSpan:
    """A tool's span without a result."""
    return replace(span, tool_result=None, output_text="")


def changed(traces: Traces, span_id: str, change: Callable[[NormalizedSpan], NormalizedSpan]) -> Traces:
    """The traces with one span changed."""
    return {i: [change(s) if s.span_id == span_id else s for s in spans] for i, spans in traces.items()}


SPENT = "Your steps are used up. Give an answer to the task from what you know."


def limited(traces: Traces, *, closing: bool, spare: int = 0) -> tuple[Traces, frozenset[str]] | None:
    """A manager that has used all of its steps but `spare`, and the spans of its last turn; None without such a run.

    `closing`: its last call is given no tools and words an answer; else there is none, and the step before is the last.
    """
    runs = [r for t in joined(traces) for r in t.runs if not r.parent_id and r.span and r.span.kind is Kind.AGENT]
    acts = [t for t in (runs[0].turns if runs else ()) if t.kind is TurnKind.ACT and t.llm is not None]
    if len(acts) <= 1 or acts[-1] is not runs[0].turns[-1] or (acts[-2].sub_run_ids and not acts[-2].tool_calls):
        return None
    manager, last, gone = runs[0].span, acts[-1].llm, {s.span_id for s in acts[-1].spans}
    assert manager is not None
    assert last is not None

    def change(span: NormalizedSpan) -> NormalizedSpan | None:
        if span.span_id == manager.span_id:
            bound = replace(span, max_steps=len(acts) - 1 + spare)
            return bound if closing else replace(bound, output_text="", output_messages=())
        if span.span_id == last.span_id and closing:
            said = Message("assistant", "The length of the river is not known to me.")
            asked = (*span.input_messages, Message("user", SPENT))
            return replace(span, tools=(), input_messages=asked, output_messages=(said,), output_text=said.text)
        return None if span.span_id in gone else span

    made = {i: [c for s in spans if (c := change(s)) is not None] for i, spans in traces.items()}
    kept = acts[-1] if closing else acts[-2]
    turns = [t for trace in joined(made) for run in trace.runs if run.id == runs[0].id for t in run.turns]
    if kept.llm is None or all(t.llm is None or t.llm.span_id != kept.llm.span_id for t in turns):
        return None  # without its tools the call is not known to be the manager's
    return made, frozenset(s.span_id for s in kept.spans)


def reworded(traces: Traces, words: Mapping[str, str]) -> Traces:
    """The traces with every occurrence of some texts replaced, wherever a span holds them."""
    return {i: [_reworded(span, words) for span in spans] for i, spans in traces.items()}


def _reworded(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, StrEnum):
        return value
    if isinstance(value, str):
        for old, new in words.items():
            value = value.replace(old, new)
        return value
    if isinstance(value, tuple | list):
        return type(value)(_reworded(item, words) for item in value)
    if isinstance(value, Mapping):
        return {_reworded(k, words): _reworded(v, words) for k, v in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: _reworded(getattr(value, f.name), words) for f in fields(value)})
    return value
