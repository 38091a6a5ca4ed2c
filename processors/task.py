"""A run's goal and final answer: from its own span, else from what its LLM calls were sent and wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from tracejury.schemas.normalized import Kind, Message, NormalizedSpan
from tracejury.schemas.text.code_blocks import code_of
from tracejury.schemas.trajectory import ToolCall, Turn, TurnKind

from .normalize.values import as_text, parse_json
from .text_grammars import answer_in, asked_part, requests_in
from .wording import ANSWER_TOOLS

_TASK_KEYS: Final = ("task", "input", "question", "query", "prompt", "user_input", "message", "content")

_ANSWER_KEYS: Final = ("final_answer", "raw", "answer", "response", "output", "result", "content")
_HISTORY: Final = frozenset({"expected_output", "trajectory", "reasoning", "history", "intermediate_steps"})


def goal_from_span(span: NormalizedSpan | None) -> str:
    """The task as the run's own span states it, "" where it has no readable form."""
    if span is None:
        return ""
    return _last_user(span.input_messages) or (_task(span.input_text) if span.input_text else "")


def goal_from_calls(turns: Sequence[Turn]) -> str:
    """The task as the run's first acting call was sent it.

    The last user message of the run's very first call is the task even after a longer conversation; once the run has
    planned, later user messages are the framework's own.
    """
    calls = [t for t in turns if t.llm is not None and t.kind is not TurnKind.INNER]
    acting = next((t for t in calls if t.kind is TurnKind.ACT), None)
    if acting is None or acting.llm is None:
        acting = calls[0] if calls else None
    if acting is None or acting.llm is None:
        return ""
    messages = acting.llm.input_messages
    return _last_user(messages) if acting is calls[0] else _first_user(messages)


def goal_from_request(tool: NormalizedSpan) -> str:
    """The task in the arguments of the call that started a run, "" where none of them is named so."""
    arguments = tool.tool_arguments
    values = (arguments.get(key) for key in _TASK_KEYS) if isinstance(arguments, Mapping) else ()
    return next((value for value in values if isinstance(value, str) and value), "")


def _last_user(messages: Sequence[Message]) -> str:
    return next((m.text for m in reversed(messages) if m.role == "user" and m.text), "")


def _first_user(messages: Sequence[Message]) -> str:
    return next((m.text for m in messages if m.role == "user" and m.text), "")


def _task(text: str) -> str:
    """The task in an agent's input: the one field that names it, or the last user message."""
    value = parse_json(text)
    if isinstance(value, dict):
        value = _arguments(value)
        found = next((v for k in _TASK_KEYS if isinstance(v := value.get(k), str) and v), None)
        if found is not None:
            return found
        if isinstance(value.get("agent"), dict):  # what the framework hands itself: who works, not at what
            return ""
        value = value.get("messages", value)
    return _from_messages(value) if isinstance(value, list) and value else text


def _arguments(value: dict[str, Any]) -> dict[str, Any]:
    """A method's arguments, where its keyword arguments are recorded as one of its parameters."""
    if len(value) != 1:
        return value
    inner = next(iter(value.values()))
    return inner if isinstance(inner, dict) else value


def _from_messages(items: list[Any]) -> str:
    """The last user message; "" where the items are not messages but somebody's notation of them (AutoGen's)."""
    contents = [m.get("content") for m in items if isinstance(m, dict) and m.get("role") in ("user", "human")]
    return as_text(contents[-1]) if contents else ""


def with_closing_call(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns of a finished run, with the calls marked that only hand over the answer: those after all others."""
    last = next((t for t in reversed(turns) if t.tool_calls and t.kind is not TurnKind.INNER), None)
    if last is None or not any(call.name.lower() in ANSWER_TOOLS for call in last.tool_calls):
        return tuple(turns)
    calls = tuple(replace(c, closing=True) if c.name.lower() in ANSWER_TOOLS else c for c in last.tool_calls)
    return tuple(replace(t, tool_calls=calls) if t is last else t for t in turns)


def ends_with_answer(turns: Sequence[Turn]) -> bool:
    """Whether a run whose own span never came, and of which nothing more comes, ends by answering.

    Its last reply is words that ask for nothing: no call, no code that might have been running when a program was
    killed; or its last call, which worked, hands over the answer. A plan answers nothing.
    """
    last = next((t for t in reversed(turns) if t.kind is not TurnKind.INNER), None)
    llm = last.llm if last is not None else None
    if last is None or llm is None or llm.raw.pending or llm.is_error or not answer_of(None, turns):
        return False
    if last.tool_calls or last.tool_requests:
        return all(c.name.lower() in ANSWER_TOOLS and c.executed and not c.error for c in last.tool_calls)
    goes_on = code_of(last.text) or requests_in(asked_part(last.text), llm.input_messages)
    return not goes_on and _GOES_ON.isdisjoint(map(str.lower, llm.finish_reasons))


_GOES_ON: Final = frozenset({"tool_calls", "tool-calls", "tool_use", "function_call"})  # of calls that no span shows


def _closing(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages after the last tool call: some agents return the whole conversation."""
    after = next((i for i in range(len(messages), 0, -1) if messages[i - 1].role == "tool"), 0)
    return messages[after:]


def _given_back(text: str) -> str:
    """The answer in what an agent returned: of fields that also tell how it came to it, the one that is the answer."""
    value = parse_json(text) if text[:1] == "{" else None
    if not isinstance(value, dict) or _HISTORY.isdisjoint(value):
        state = isinstance(value, dict) and isinstance(value.get("messages"), list)  # without a reply at its end
        return "" if state else text
    return next((v for k in _ANSWER_KEYS if isinstance(v := value.get(k), str) and v), text)


def _is_before(call: ToolCall, turn: Turn) -> bool:
    """Whether the program looked this up for the turn's LLM call, or the provider ran it before the reply's end."""
    span, llm = call.span, turn.llm
    if llm is None:
        return False
    if call.call_id and any(m.role == "tool" and m.tool_call_id == call.call_id for m in llm.output_messages):
        return True
    if span is None:
        return False
    if span.kind is Kind.RETRIEVER:
        return span.raw.start <= llm.raw.start
    # One record of several requests: what it says at its end came after the calls in it.
    return not call.requested and llm.raw.start <= span.raw.start and span.raw.end <= llm.raw.end and bool(llm.output)


def answer_of(span: NormalizedSpan | None, turns: Sequence[Turn]) -> str:
    """The run's answer, "" if there is none (yet)."""
    if span is not None:
        written = "\n".join(m.text for m in _closing(span.output_messages) if m.text)
        if written or span.output_messages or span.output_text:
            asks = any(m.tool_requests for m in span.output_messages)
            return written or (_given_back(span.output_text) if asks or not span.output_messages else "")
    last = next((t for t in reversed(turns) if t.kind is not TurnKind.INNER), None)
    if last is None or last.kind in (TurnKind.PLAN, TurnKind.FACTS):
        return ""
    if not last.sub_run_ids and all(_is_before(call, last) for call in last.tool_calls):
        # Calls without a span or a request were written as text; such a run's answer has a form in the text, too.
        by_text = any(c.span is None and not c.sub_run_id and not t.tool_requests for t in turns for c in t.tool_calls)
        return answer_in(last.text) if by_text else last.text
    handed = last.tool_calls[0] if len(last.tool_calls) == 1 else None
    if handed is not None and handed.name.lower() in ANSWER_TOOLS and isinstance(handed.arguments, dict):
        return as_text(next(iter(handed.arguments.values()), ""))
    return ""
