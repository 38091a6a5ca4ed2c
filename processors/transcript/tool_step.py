"""Steps of executed tools, sub-agents, and other spans with a result."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn

from .header import first_call
from .lines import arguments_block, arguments_text, inline, json_line, name
from .llm_step import LEAST_QUOTED, StepText, failure_texts, failures, titled
from .memory import Memory

_SLOW: Final = 10  # seconds from which a duration is told
_NANOS: Final = 1_000_000_000
_COMPARED: Final = 100  # requests of one reply that an execution is compared with
_SHORT: Final = 240  # arguments up to this length are shown again at the tool


def tool_step(label: str, turn: Turn, call: ToolCall, memory: Memory) -> StepText:
    """An executed call that has a span of its own."""
    span = call.span
    if span is None:
        raise ValueError("a tool step needs a span")
    unasked = "; not asked for" if call.requested is False else ""
    lines = [f"{label} tool {name(call.name)}{_duration(span)}{unasked}"]
    lines += _arguments(label, turn, call, memory)
    errors = failure_texts(span)
    if not _is_error(call):
        lines += _result(label, call.result, memory, silent=bool(errors))
    lines += failures(label, span, memory)
    for exception in span.exceptions:
        memory.returned(f"error of {label}", exception.message)
    outcome = inline(call.error or call.result or "no result", memory.limits.line)
    return lines, f"tool {name(call.name, 40)}: {'error: ' if errors else ''}{outcome}"


def _is_error(call: ToolCall) -> bool:
    """Whether what is recorded as the result is the text of the failure."""
    told = failure_texts(call.span) if call.span else []
    return bool(call.result) and any(str(call.result).strip() in text for text in told)


def _arguments(label: str, turn: Turn, call: ToolCall, memory: Memory) -> list[str]:
    """The call's arguments; long ones that the LLM step shows are referred to."""
    if call.arguments in (None, "", {}):
        return []
    if len(json_line(call.arguments)) <= _SHORT:
        return ["arguments:", arguments_block(call.arguments, memory.limits.arguments)]
    if _as_requested(turn, call):
        return ["arguments: as requested"]
    return titled(
        "arguments", memory.shown.render(f"call of {label}", arguments_text(call.arguments), memory.limits.arguments)
    )


def agent_step(
    label: str,
    called: str,
    call: ToolCall | None,
    run: AgentRun | None,
    late: bool,  # noqa: FBT001 - one caller
    memory: Memory,
) -> StepText:
    """A sub-agent as its caller saw it: the task it was given and what it gave back.

    `late`: its run was not over when the caller went on; what came of it then is not told.
    """
    known = None if late else run
    apart = "" if known is not None and first_call(known.turns) is None else " (its own run is judged apart)"
    lines = [f"{label} agent {name(called)}{apart}"]
    task = (known.goal if known else "") or (json_line(call.arguments) if call and call.arguments else "")
    if task:
        lines += titled("its task", memory.shown.render(f"task of {label}", task, memory.limits.errand))
    handed = call.result if call and (call.span or not late) else None
    answer = handed or (known.answer if known else "")
    error = call.error if call and (call.span or not late) else None
    if late and not answer and not error:
        return [*lines, "not finished when the next call was made"], f"agent {name(called, 40)}: not finished yet"
    excerpts = memory.hidden.excerpts((answer,) if answer else ())
    lines += _result(label, answer or None, memory, silent=bool(error), title="its answer", limit=memory.limits.answer)
    lines += excerpts
    if error:
        lines += titled("error", memory.shown.render(f"error of {label}", error, memory.limits.result))
        memory.returned(f"error of {label}", error)
    return lines, f"agent {name(called, 40)}: {inline(error or answer or 'no answer', memory.limits.line)}"


def other_step(label: str, span: NormalizedSpan, memory: Memory) -> StepText:
    """A retriever, re-ranker or guardrail that ran in a turn."""
    lines = [f"{label} {span.kind.value} {name(span.raw.name)}{_duration(span)}"]
    if span.input_text:
        lines += titled("input", memory.shown.render(f"input of {label}", span.input_text, memory.limits.errand))
    lines += _result(label, span.output_text or None, memory, silent=bool(failure_texts(span)))
    lines += failures(label, span, memory)
    return (
        lines,
        f"{span.kind.value} {name(span.raw.name, 40)}: {inline(span.output_text or 'no result', memory.limits.line)}",
    )


def _result(
    label: str,
    result: str | None,
    memory: Memory,
    *,
    silent: bool,
    title: str = "result",
    limit: int = 0,
) -> list[str]:
    noun = title.rsplit(maxsplit=1)[-1]
    if result is None:
        return [] if silent else [f"no {noun} recorded"]
    if not result.strip():
        return [f"{title}: empty"]
    told = memory.shown.render(f"{noun} of {label}", result, limit or memory.limits.result, least=LEAST_QUOTED)
    memory.returned(f"{noun} of {label}", result)
    return titled(title, told)


def _as_requested(turn: Turn, call: ToolCall) -> bool:
    return any(r.name == call.name and r.arguments == call.arguments for r in turn.tool_requests[:_COMPARED])


def _duration(span: NormalizedSpan) -> str:
    seconds = (span.raw.end - span.raw.start) // _NANOS
    return f"; took {seconds} s" if seconds >= _SLOW else ""
