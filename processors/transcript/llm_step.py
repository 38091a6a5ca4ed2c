"""An LLM call as a step: what it was sent newly, what it wrote and asked for, how it ended."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from tracejury.processors.wording import ANSWER_TOOLS
from tracejury.schemas.normalized import Message, NormalizedSpan, ToolRequest
from tracejury.schemas.trajectory import ToolCall, Turn, TurnKind

from .condense import condense
from .header import system_lines, tool_lines
from .lines import arguments_block, arguments_text, block, inline, json_line, name
from .memory import Memory
from .shown_lines import Shorten

StepText = tuple[list[str], str]
"""Lines of a step, and its line for the index (both without the label's own place in the transcript)."""

_NORMAL: Final = frozenset(
    {"", "stop", "end_turn", "stop_sequence", "tool_calls", "tool_call", "tool-calls", "tool_use", "function_call",
     "complete", "completed", "eos", "finish_reason_stop"}
)  # fmt: skip
_COMPACTED: Final = "gen_ai.conversation.compacted"
_MOST_NAMES: Final = 6
_HEAD_OF_ERROR: Final = 0.4  # the last line of a traceback says what happened
_WRITES: Final = {TurnKind.PLAN: "plan", TurnKind.FACTS: "facts", TurnKind.ANSWER: "answer"}

LEAST_QUOTED: Final = 300
"""Characters from which what a result or an error repeats is left out: quotes come from there."""


def llm_step(label: str, turn: Turn, llm: NormalizedSpan, after: Turn | None, memory: Memory) -> StepText:
    """The step of `turn`'s LLM call; `after`: the run's next call, where known."""
    kind = "" if turn.kind is TurnKind.ACT else f" {turn.kind.value}"
    inner = turn.kind is TurnKind.INNER
    lines = [f"{label} llm{kind}" + (" (made by a tool)" if inner else _settings(llm, memory))]
    if not inner:
        lines += _new_tools(llm, memory)
    for message in turn.new_messages:
        if message.text not in memory.given and (inner or not memory.replays(message)):
            lines += _input(label, turn.kind, message, memory)
    if not llm.input_messages and llm.input_text and llm.input_text not in memory.given:
        lines += ["input:", memory.shown.render(f"input of {label}", llm.input_text, memory.limits.message)]
    lines += _output(label, turn, llm, after, memory)
    lines += memory.hidden.excerpts(_said(llm))
    if unusual := [r for r in llm.finish_reasons if r.lower() not in _NORMAL]:
        lines.append(f"finish reason: {name(', '.join(unusual))}")
    lines += failures(label, llm, memory)
    return lines, f"llm{kind}: {_gist(turn, memory.limits.line)}" + (" (error)" if llm.is_error else "")


def _gist(turn: Turn, most: int) -> str:
    """The reply in one line."""
    asked = turn.tool_requests
    if not asked:
        return inline(turn.text, most) or "(no text)"
    calls = f"calls {', '.join(name(r.name, 40) for r in asked[:_MOST_NAMES])}"
    if turn.text:
        return f"{inline(turn.text, most)} -> {calls}"
    return f"{calls} {inline(json_line(asked[0].arguments), most)}" if len(asked) == 1 else calls


def failures(label: str, span: NormalizedSpan, memory: Memory) -> list[str]:
    """Lines for what a span says of its failure."""
    lines: list[str] = []
    for text in failure_texts(span):
        told = memory.shown.render(f"error of {label}", text, memory.limits.result, _HEAD_OF_ERROR, LEAST_QUOTED)
        lines += titled("error", told)
    return lines


def titled(title: str, told: str) -> list[str]:
    """Told lines below their title, a mere reference beside it."""
    return [f"{title}: {told}"] if told.startswith("= ") and "\n" not in told else [f"{title}:", told]


def failure_texts(span: NormalizedSpan) -> list[str]:
    """A span's failure texts: its exceptions, else its status."""
    told = [f"{e.type}: {e.message}" if e.type else e.message for e in span.exceptions]
    if span.is_error and not told:
        told = [span.raw.status_message or "status ERROR without a message"]
    return list(dict.fromkeys(told))


def _settings(llm: NormalizedSpan, memory: Memory) -> str:
    """Limits and stop sequences of the call where they are not those of the call before; whether messages were cut."""
    limit, stops = memory.settings(llm)
    told = ""
    if limit:
        told += f"; at most {llm.max_tokens} tokens" if llm.max_tokens is not None else "; no token limit recorded"
    if stops:
        named = ", ".join(name(s, 40) for s in llm.stop_sequences[:8])
        told += f"; stop sequences {named}" if named else "; no stop sequences"
    return told + ("; earlier messages were compacted" if llm.raw.attributes.get(_COMPACTED) == "true" else "")


def _new_tools(llm: NormalizedSpan, memory: Memory) -> list[str]:
    fresh = [t for t in llm.tools if t.name not in memory.tools]
    memory.tools.update(t.name for t in fresh)
    return ["tools from here on:", *tool_lines(fresh, memory)] if fresh else []


def _input(label: str, kind: TurnKind, message: Message, memory: Memory) -> list[str]:
    of = memory.names.get(message.tool_call_id, "") if message.tool_call_id else ""
    title = f"input {name(message.role, 20)}" + (f" ({name(of)})" if of else "")
    if message.text and (origin := memory.handed_on(message.text)):
        return [f"{title}: = {origin}"]
    lines: list[str] = []
    if message.text:
        system = message.role in ("system", "developer")
        uncut: Shorten = lambda lines, _: system_lines(lines, memory.limits)  # noqa: E731
        shorter = uncut if system else condense if kind in _PROMPTED else None
        limits = memory.limits
        rest = limits.result if message.tool_call_id or message.role in _RESULTS else limits.message
        limit = limits.system if system else limits.prompt if shorter else rest
        lines += titled(
            title, memory.shown.render(f"input of {label}", message.text, limit, shorter=shorter, whole=system)
        )
        if shorter:
            memory.prompted(message.text)
    for request in message.tool_requests:
        told = memory.shown.render(f"input of {label}", arguments_text(request.arguments), memory.limits.message)
        lines += titled(f"{title}: called {name(request.name)}", told) if told.strip() else []
    return lines


_RESULTS: Final = ("tool", "tool-response", "function")
_PROMPTED: Final = (TurnKind.PLAN, TurnKind.FACTS, TurnKind.ANSWER)


def _output(label: str, turn: Turn, llm: NormalizedSpan, after: Turn | None, memory: Memory) -> list[str]:
    lines: list[str] = []
    place = f"{_WRITES.get(turn.kind, 'reply')} of {label}"
    reasoning = "\n".join(m.reasoning for m in llm.output_messages if m.reasoning)
    for title, text in (("reasoning:", reasoning), ("wrote:", llm.output)):
        if text:
            lines += [title, block(text, memory.limits.output)]
            memory.shown.record(place, text)
    requests = llm.tool_requests
    fates = _fates(requests, turn.tool_calls, after, memory)
    for request, fate in zip(requests, fates, strict=True):
        lines.append(f"calls {name(request.name)}{fate}")
        lines += _arguments(label, request, memory)
        if request.call_id:
            memory.names[request.call_id] = request.name
    if turn.kind is not TurnKind.INNER:
        memory.replied(llm.output, tuple(r.name for r in requests))
    return lines or ([] if llm.is_error else ["wrote nothing that was recorded"])


def _said(llm: NormalizedSpan) -> Iterator[str]:
    """What the call wrote, thought and asked for: the words that rest on what it was sent."""
    yield llm.output
    yield from (m.reasoning for m in llm.output_messages if m.reasoning)
    yield from (arguments_text(r.arguments) for r in llm.tool_requests)


def _arguments(label: str, request: ToolRequest, memory: Memory) -> list[str]:
    if request.arguments in (None, "", {}):
        return []
    values = request.arguments.values() if isinstance(request.arguments, Mapping) else (request.arguments,)
    for value in values:
        if isinstance(value, str):
            memory.shown.record(f"call of {label}", value)
    return [arguments_block(request.arguments, memory.limits.arguments)]


def _fates(
    requests: tuple[ToolRequest, ...], calls: tuple[ToolCall, ...], after: Turn | None, memory: Memory
) -> list[str]:
    """The outcome of each request that has no step of its own, read from this turn and the next call alone.

    A turn's calls begin with its requests, in order. Whether an unseen call counts as not executed depends on whether
    this run has shown tool spans so far, so that what comes later changes nothing.
    """
    answered = {m.tool_call_id for m in after.new_messages if m.tool_call_id} if after else set()
    return [_fate(r, c, r.call_id in answered, memory) for r, c in zip(requests, calls, strict=False)]


def _fate(request: ToolRequest, call: ToolCall, answered: bool, memory: Memory) -> str:  # noqa: FBT001 - one caller
    if call.span is not None or call.sub_run_id or answered or request.name.lower() in ANSWER_TOOLS:
        return ""
    return _FATES[0] if memory.executes else _FATES[1]


_FATES: Final = (" (not executed)", " (no execution and no result recorded)")


def without_fates(text: str) -> str:
    """A step's text without what came of its calls."""
    lines = text.split("\n")
    for i, line in enumerate(lines):
        if line.startswith("calls "):
            lines[i] = next((line.removesuffix(fate) for fate in _FATES if line.endswith(fate)), line)
    return "\n".join(lines)
