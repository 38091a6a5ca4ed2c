"""A program of one agent whose traces lack nothing, in OTel GenAI spans, and variations of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace, TraceState

TRACE, OTHER = "a" * 32, "b" * 32
SECOND = 1_000_000_000
START = 1_000 * SECOND
LOST = "f" * 16

SYSTEM = json.dumps([{"type": "text", "content": "Be brief."}])
SENT = json.dumps([{"role": "user", "parts": [{"type": "text", "content": "How long is the Rhine?"}]}])
ASKED = json.dumps(
    [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "search", "arguments": {"q": "Rhine"}}]}]
)
WROTE = json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "1230 km"}]}])
TOOLS = json.dumps([{"name": "search", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}])

Attributes = Mapping[str, str]


def span(number: int, parent: int, attributes: Attributes, **changes: Any) -> Span:
    """Span `number` under span `parent` (0: the root), each a second long inside the one before."""
    values: dict[str, Any] = {
        "trace_id": TRACE,
        "span_id": f"{number:016x}",
        "parent_span_id": f"{parent:016x}" if parent else "",
        "name": "s",
        "start": START + number * SECOND,
        "end": START + (100 - number) * SECOND,
        "attributes": attributes,
        "service": "shop",
        "scope_name": "some.scope",
    }
    return Span(**(values | changes))


def genai(**attributes: str) -> dict[str, str]:
    """Attributes of the GenAI convention; two underscores for a point."""
    return {f"gen_ai.{key.replace('__', '.')}": value for key, value in attributes.items()}


AGENT = genai(operation__name="invoke_agent", agent__name="manager", conversation__id="chat")
CALL = genai(
    operation__name="chat",
    request__model="m",
    system_instructions=SYSTEM,
    input__messages=SENT,
    output__messages=ASKED,
    tool__definitions=TOOLS,
    usage__input_tokens="3",
)
ANSWERED = CALL | {"gen_ai.output.messages": WROTE}
TOOL = genai(
    operation__name="execute_tool",
    tool__name="search",
    tool__call__id="c1",
    tool__call__arguments='{"q": "Rhine"}',
    tool__call__result="1230 km",
)


def whole() -> list[Span]:
    """A run of one agent of which nothing is missing."""
    return [span(1, 0, AGENT), span(2, 1, CALL), span(3, 1, TOOL)]


def built(spans: Sequence[Span], state: TraceState = TraceState.SETTLED) -> Trace:
    """These spans rebuilt."""
    return rebuild([normalize(s) for s in spans], state=state)


def without(attributes: Attributes, *keys: str) -> dict[str, str]:
    """All but the GenAI attributes that begin so."""
    return {k: v for k, v in attributes.items() if not k.startswith(tuple(f"gen_ai.{key}" for key in keys))}
