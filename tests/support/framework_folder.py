"""Captures as `evaluate frameworks` reads them: a manager that has a researcher search, and variations of it."""

from __future__ import annotations

import copy
import json
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_parts import START, span, text, traces

QUERY = "length of the Rhine in km"
TASK = f"Find the {QUERY}."
ANSWER = "The Rhine is 1230 km long."

TRUTH: dict[str, Any] = {
    "user_turns": ["How long is the Rhine?"],
    "agents": [{"name": "manager", "parent": None}, {"name": "researcher", "parent": "manager", "invocations": 1}],
    "delegations": [
        {
            "turn": 0,
            "to": "researcher",
            "via": {"name": "ask", "args": {"task": TASK}},
            "parallel": False,
            "tool_calls": [{"name": "search", "args": {"query": QUERY}, "executed": True, "error": None}],
            "answer": ANSWER,
        }
    ],
    "tool_calls_by_agent": {
        "manager": [{"name": "ask", "args": {"task": TASK}}],
        "researcher": [{"name": "search", "args": {"query": QUERY}, "executed": True, "error": None}],
    },
    "final_answers": [ANSWER],
    "parallel": False,
    "concurrent_runs": 1,
    "injected_failures": [],
}


def truth(scenario: str = "S1", **changes: Any) -> dict[str, Any]:
    """Meta data of the capture below; `changes` are parts of its ground truth."""
    return {"scenario": scenario, "ground_truth": copy.deepcopy(TRUTH) | changes}


def run_spans() -> list[Span]:
    """What the program sends: OTel GenAI spans with content, in order of start.

    1 manager: 2 chat, 3 execute_tool ask > 4 researcher: (5 chat, 6 execute_tool search, 7 chat), 8 chat.
    """
    return [
        agent(1, 0, "manager"),
        chat(2, 1, [], call("ask", {"task": TASK}, "c1")),
        tool(3, 1, "ask", {"task": TASK}, ANSWER, "c1"),
        agent(4, 3, "researcher"),
        chat(5, 4, [said("user", TASK)], call("search", {"query": QUERY}, "c2")),
        tool(6, 4, "search", {"query": QUERY}, "1230 km", "c2"),
        chat(7, 4, [said("user", TASK)], words(ANSWER)),
        chat(8, 1, [], words(ANSWER)),
    ]


def agent(number: int, parent: int, name: str) -> Span:
    """An agent's run."""
    return _span(number, parent, f"invoke_agent {name}", {"operation.name": "invoke_agent", "agent.name": name})


def chat(number: int, parent: int, new: Sequence[dict[str, Any]], reply: dict[str, Any]) -> Span:
    """An LLM call that answers a question with `reply`."""
    sent = [said("user", "How long is the Rhine?"), *new]
    attributes = {
        "operation.name": "chat",
        "request.model": "m",
        "input.messages": json.dumps(sent),
        "output.messages": json.dumps([{"role": "assistant", "parts": [reply], "finish_reason": "stop"}]),
    }
    return _span(number, parent, "chat m", attributes)


def tool(number: int, parent: int, name: str, arguments: dict[str, Any], result: str, call_id: str) -> Span:
    """A tool's execution."""
    attributes = {
        "operation.name": "execute_tool",
        "tool.name": name,
        "tool.call.id": call_id,
        "tool.call.arguments": json.dumps(arguments),
        "tool.call.result": result,
    }
    return _span(number, parent, f"execute_tool {name}", attributes)


def said(role: str, content: str) -> dict[str, Any]:
    """A message."""
    return {"role": role, "parts": [words(content)]}


def words(content: str) -> dict[str, Any]:
    """The text of a message."""
    return {"type": "text", "content": content}


def call(name: str, arguments: dict[str, Any], call_id: str) -> dict[str, Any]:
    """A request for a tool."""
    return {"type": "tool_call", "id": call_id, "name": name, "arguments": arguments}


def _span(number: int, parent: int, name: str, attributes: dict[str, str]) -> Span:
    spans_below = {1: 9, 3: 7, 4: 7}  # a span lasts until its last descendant starts, and a little
    return span(
        span_id=number.to_bytes(8),
        parent_span_id=parent.to_bytes(8) if parent else b"",
        name=name,
        start_time_unix_nano=START + 10 * number,
        end_time_unix_nano=START + 10 * spans_below.get(number, number) + 5,
        attributes=[text(f"gen_ai.{key}", value) for key, value in attributes.items()],
    )


def write(folder: Path, meta: dict[str, Any], sent: Iterable[Span], *, label: str = "some", name: str = "S1") -> Path:
    """A capture in a folder laid out as the measure reads it: each span in a request of its own, the last first."""
    (folder / label).mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / label / f"{name}.zip", "w") as archive:
        for at, item in enumerate(reversed(list(sent))):
            archive.writestr(f"{at:03}.pb", traces(item).SerializeToString())
        archive.writestr("run.json", json.dumps({"framework": "some"}))
    (folder / label / f"{name}.meta.json").write_text(json.dumps(meta))
    return folder
