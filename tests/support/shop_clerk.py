"""A clerk that calls `get_order` without `order_id`, as its spans tell it, and a model that does so now and then."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any, Final

from llm_scripts import Call, Play, Script
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status
from otlp_parts import START, span, text, traces

ORDER: Final = {"type": "object", "properties": {"order_id": {"type": "string"}}, "required": ["order_id"]}
TOOLS: Final = [{"type": "function", "name": "get_order", "description": "An order.", "parameters": ORDER}]
SYSTEM, ASKED = "You are the clerk of a shop.", "Where is order A-1007?"
FAILED: Final = "TypeError: get_order() missing 1 required positional argument: 'order_id'"


def said(role: str, *parts: Mapping[str, Any]) -> dict[str, Any]:
    """A message."""
    return {"role": role, "parts": list(parts)}


def words(content: str) -> dict[str, Any]:
    """A text."""
    return {"type": "text", "content": content}


CALLED: Final = {"type": "tool_call", "id": "c1", "name": "get_order", "arguments": {}}
RETURNED: Final = {"type": "tool_call_response", "id": "c1", "response": FAILED}
SENT: Final = [said("system", words(SYSTEM)), said("user", words(ASKED))]


def clerk(**changes: str) -> ExportTraceServiceRequest:
    """Its trace. `changes`: attributes of the step that went wrong, the first LLM call; "" leaves one out."""
    root = {"operation.name": "invoke_agent", "agent.name": "clerk"}
    step = _chat(SENT, said("assistant", CALLED)) | changes
    tool = {
        "operation.name": "execute_tool", "tool.name": "get_order", "tool.call.id": "c1",
        "tool.call.arguments": "{}",
    }  # fmt: skip
    after = _chat([*SENT, said("assistant", CALLED), said("tool", RETURNED)], said("assistant", words("Sorry.")))
    after["tool.definitions"] = step["tool.definitions"]
    failed = _span(3, "execute_tool get_order", tool)
    failed.status.CopyFrom(Status(code=Status.STATUS_CODE_ERROR, message=FAILED))
    return traces(_span(1, "invoke_agent clerk", root), _span(2, "chat m", step), failed, _span(4, "chat m", after))


def _chat(sent: list[dict[str, Any]], reply: dict[str, Any]) -> dict[str, str]:
    return {
        "operation.name": "chat", "request.model": "clerk-model", "request.temperature": "0.7",
        "input.messages": json.dumps(sent), "output.messages": json.dumps([reply]),
        "tool.definitions": json.dumps(TOOLS),
    }  # fmt: skip


def _span(number: int, name: str, attributes: Mapping[str, str]) -> Span:
    return span(
        span_id=number.to_bytes(8),
        parent_span_id=(1).to_bytes(8) if number > 1 else b"",
        name=name,
        start_time_unix_nano=START + 10 * number,
        end_time_unix_nano=START + (100 if number == 1 else 10 * number + 5),
        attributes=[text(f"gen_ai.{key}", value) for key, value in attributes.items() if value],
    )


def calls(**arguments: Any) -> Play:
    """A reply that calls `get_order`."""
    called = {"name": "get_order", "arguments": json.dumps(arguments)}

    def change(reply: dict[str, Any]) -> None:
        message = {"role": "assistant", "content": None}
        message["tool_calls"] = [{"id": "new", "type": "function", "function": called}]  # type: ignore[assignment]
        reply["choices"] = [{"index": 0, "finish_reason": "tool_calls", "message": message}]

    return Play(text="", change=change)


CASE: Final[Mapping[str, Any]] = {
    "id": "5" * 32, "service": "shop", "trace_id": "1" * 32, "span_id": "2" * 16,
    "error": {
        "title": "Argument missing", "taxonomy": "trail", "category": "Formatting Errors", "severity": "MEDIUM",
        "evidence": "get_order", "explanation": "It needs the argument 'order_id'.",
        "instead": "Ask for the order's number.",
    },
    "must_not_appear": {"judge": "schema-violation", "cause": "failed-call", "by": "detector", "needs_results": True},
    "model": "clerk-model", "parameters": {"temperature": 0.7},
    "messages": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": ASKED}],
    "tools": [{key: TOOLS[0][key] for key in ("name", "description", "parameters")}],
    "answer": {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "get_order", "arguments": "{}"}}]},
    "results": [{"role": "tool", "tool_call_id": "c1", "content": FAILED, "failed": True}],
}  # fmt: skip
"""A case of it, as `regressions add` writes them."""


def wrong_with(share: Callable[[Mapping[str, Any]], float], seed: int = 0) -> Script:
    """A model that leaves `order_id` out with the probability that `share` gives of a request's body."""
    chance = Random(seed)  # noqa: S311  a script, no secret

    def script(call: Call) -> Play:
        return calls() if chance.random() < share(call.body) else calls(order_id="A-1007")

    return script
