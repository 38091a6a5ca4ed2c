"""A run in circles in several conventions: its calls state one name of the agent, its own span, the last, another."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tracejury.schemas.spans import STATUS_ERROR, Span

ROOT: Final = "0" * 15 + "1"
TURNS: Final = 4
MILLI: Final = 1_000_000
QUERY: Final = json.dumps({"path": "records.csv"})
FAILURE: Final = "FileNotFoundError: there is no file records.csv"
TASK: Final = "Sum up records.csv."

Attributes = dict[str, str]


@dataclass(frozen=True, slots=True)
class Convention:
    """How a convention writes an agent's span, a call that asks for the tool, and the tool's span; of a name each."""

    agent: Callable[[str], Attributes]
    call: Callable[[str], Attributes]
    tool: Callable[[str], Attributes]


def _messages(role: str, text: str, *parts: Mapping[str, object]) -> str:
    return json.dumps([{"role": role, "parts": [{"type": "text", "content": text}, *parts]}])


CONVENTIONS: Final = {
    "genai": Convention(
        lambda name: {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name},
        lambda name: {
            "gen_ai.operation.name": "chat",
            "gen_ai.agent.name": name,
            "gen_ai.input.messages": _messages("user", TASK),
            "gen_ai.output.messages": _messages(
                "assistant",
                "I open it.",
                {"type": "tool_call", "name": "open_file", "arguments": json.loads(QUERY)},
            ),
        },
        lambda name: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.agent.name": name,
            "gen_ai.tool.name": "open_file",
            "gen_ai.tool.call.arguments": QUERY,
        },
    ),
    "openinference": Convention(
        lambda name: {"openinference.span.kind": "AGENT", "agent.name": name},
        lambda name: {
            "openinference.span.kind": "LLM",
            "agent.name": name,
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": TASK,
            "llm.output_messages.0.message.content": "I open it.",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "open_file",
            "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": QUERY,
        },
        lambda name: {
            "openinference.span.kind": "TOOL",
            "agent.name": name,
            "tool.name": "open_file",
            "input.value": QUERY,
        },
    ),
    "openllmetry": Convention(
        lambda name: {"traceloop.span.kind": "agent", "traceloop.entity.name": name},
        lambda name: {
            "llm.request.type": "chat",
            "traceloop.association.properties.lc_agent_name": name,
            "gen_ai.prompt.0.role": "user",
            "gen_ai.prompt.0.content": TASK,
            "gen_ai.completion.0.content": "I open it.",
            "gen_ai.completion.0.tool_calls.0.name": "open_file",
            "gen_ai.completion.0.tool_calls.0.arguments": QUERY,
        },
        lambda name: {
            "traceloop.span.kind": "tool",
            "traceloop.association.properties.lc_agent_name": name,
            "traceloop.entity.name": "open_file",
            "traceloop.entity.input": QUERY,
        },
    ),
    "vercel": Convention(
        lambda name: {"ai.operationId": "ai.generateText", "ai.telemetry.functionId": name, "ai.prompt": TASK},
        lambda name: {
            "ai.operationId": "ai.generateText.doGenerate",
            "ai.telemetry.functionId": name,
            "ai.prompt.messages": json.dumps([{"role": "user", "content": TASK}]),
            "ai.response.text": "I open it.",
            "ai.response.toolCalls": json.dumps([{"toolName": "open_file", "args": json.loads(QUERY)}]),
        },
        lambda name: {
            "ai.operationId": "ai.toolCall",
            "ai.telemetry.functionId": name,
            "ai.toolCall.name": "open_file",
            "ai.toolCall.args": QUERY,
        },
    ),
}


def late_root(convention: str, stated: str, own: str, trace_id: str = "a" * 32) -> list[Span]:
    """Calls and tool calls of the agent that they name `stated`, then its span, which names it `own`."""
    writes = CONVENTIONS[convention]
    spans = []
    for turn in range(TURNS):
        call = _span(trace_id, f"{2 * turn + 2:016x}", ROOT, "chat", 100 * turn + 10, writes.call(stated))
        tool = _span(trace_id, f"{2 * turn + 3:016x}", ROOT, "open_file", 100 * turn + 60, writes.tool(stated))
        spans += [call, replace(tool, status_code=STATUS_ERROR, status_message=FAILURE)]
    root = _span(trace_id, ROOT, "", "run", 0, writes.agent(own))
    return [*spans, replace(root, end=100 * TURNS * MILLI)]


def _span(trace_id: str, span_id: str, parent: str, name: str, start: int, attributes: Attributes) -> Span:
    at = start * MILLI
    return Span(trace_id, span_id, parent, name, at, at + 40 * MILLI, attributes, service="archive")
