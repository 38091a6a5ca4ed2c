"""Group chats as spans, whose every call is sent all that was said before."""

from __future__ import annotations

import json

from tracejury.schemas.spans import Span

MILLI = 1_000_000


def chat(agents: int) -> list[Span]:
    """A coder and a terminal in turns: what either says is sent to all coders after it."""
    spans = [_span(0, 0, "invoke_agent", 0, 100 * agents + 100, {"agent.name": "group"})]
    history = [_message("user", "Repair parse_date in dates.py: it fails for years before 1900.")]
    for number in range(agents):
        at, first = 100 * number, len(spans)
        command = f"python check_{number}.py"
        text = f"Step {number}: please run this. {'The reason is as follows. ' * 14}\n\n```sh\n{command}\n```"
        told = f"exitcode: {number % 2}\nCode output: year {number} {'is out of range ' * 20}"
        sent = {"input.messages": json.dumps(history), "output.messages": json.dumps([_message("assistant", text)])}
        tool = {"tool.name": "execute_code", "tool.call.arguments": json.dumps({"code": command})}
        spans += [
            _span(first, 1, "invoke_agent", at + 10, at + 40, {"agent.name": "Coder"}),
            _span(first + 1, first + 1, "chat", at + 11, at + 39, {"request.model": "m", **sent}),
            _span(first + 2, 1, "invoke_agent", at + 50, at + 90, {"agent.name": "Terminal"}),
            _span(first + 3, first + 3, "execute_tool", at + 51, at + 89, {**tool, "tool.call.result": told}),
        ]
        history += [_message("assistant", text), _message("user", told)]
    return spans


def _message(role: str, text: str) -> dict[str, object]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _span(number: int, above: int, operation: str, start: int, end: int, attributes: dict[str, str]) -> Span:
    """Span `number` + 1, below span `above` (0: none)."""
    return Span(
        trace_id="a" * 32,
        span_id=f"{number + 1:016x}",
        parent_span_id=f"{above:016x}" if above else "",
        name=operation,
        start=start * MILLI,
        end=end * MILLI,
        attributes={f"gen_ai.{key}": value for key, value in {"operation.name": operation, **attributes}.items()},
        service="chat",
    )
