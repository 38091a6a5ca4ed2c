"""Makes small TRAIL folders: an agent whose tool fails, recorded with OpenInference."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any


def span(trace: str, number: int, parent: int, kind: str, attributes: dict[str, str], **changes: Any) -> dict[str, Any]:
    """One span of TRAIL's form; ids are its number, times follow from it."""
    return {
        "timestamp": f"2025-03-19T16:48:{number:02}.000001Z",
        "trace_id": trace,
        "span_id": f"{number:016x}",
        "parent_span_id": f"{parent:016x}" if parent else None,
        "span_name": kind,
        "span_kind": "Internal",
        "service_name": "app",
        "resource_attributes": {"service.name": "app"},
        "span_attributes": {"openinference.span.kind": kind, **attributes},
        "duration": "PT1S",
        "status_code": "Ok",
        "events": [],
        "child_spans": [],
    } | changes


def trace(name: str) -> dict[str, Any]:
    """An agent that plans (1 > 2), calls a tool that fails (3, 4) and answers (5)."""
    said = "llm.output_messages.0.message."
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": f"question {name}"}
    failure = {
        "Timestamp": "2025-03-19T16:48:04.5Z",
        "Name": "exception",
        "Attributes": {"exception.type": "FileNotFoundError", "exception.message": "No such file: data.csv"},
    }
    children = [
        span(
            name, 2, 1, "LLM",
            asked | {
                f"{said}role": "assistant", f"{said}content": "1. Read the file.\n2. Answer.",
                "input.value": json.dumps({"messages": [], "stop_sequences": ["<end_plan>"]}),
            },
        ),
        span(
            name, 3, 1, "LLM",
            asked | {
                f"{said}role": "assistant",
                f"{said}tool_calls.0.tool_call.function.name": "read_file",
                f"{said}tool_calls.0.tool_call.function.arguments": '{"path": "data.csv"}',
            },
        ),
        span(
            name, 4, 1, "TOOL",
            {"tool.name": "read_file", "input.value": '{"args": [], "kwargs": {"path": "data.csv"}}'},
            status_code="Error", status_message="FileNotFoundError: No such file: data.csv", events=[failure],
        ),
        span(
            name, 5, 1, "LLM",
            asked | {
                "llm.input_messages.1.message.role": "tool",
                "llm.input_messages.1.message.content": "Error: No such file: data.csv",
                f"{said}role": "assistant", f"{said}content": "The mean is 42.",
            },
        ),
    ]  # fmt: skip
    root = span(name, 1, 0, "AGENT", {"input.value": f"question {name}"}, duration="PT20S", child_spans=children)
    return {"trace_id": name, "spans": [root]}


def error(at: int, category: str = "Formatting Errors", **changes: str) -> dict[str, str]:
    """One annotated error at the span of that number."""
    return {
        "category": category,
        "location": f"{at:016x}",
        "evidence": "",
        "description": "",
        "impact": "HIGH",
    } | changes


def write(folder: Path, names: list[str], errors: dict[str, list[dict[str, str]]], *, service: str = "app") -> Path:
    """A folder of such traces, every other one gzipped, with annotations for those in `errors`."""
    (folder / "traces").mkdir(parents=True)
    (folder / "annotations").mkdir()
    for i, name in enumerate(names):
        data = json.dumps(trace(name)).replace('"app"', json.dumps(service)).encode()
        path = folder / "traces" / f"{name}.json"
        if i % 2:
            path.with_suffix(".json.gz").write_bytes(gzip.compress(data))
        else:
            path.write_bytes(data)
    for name, marked in errors.items():
        (folder / "annotations" / f"{name}.json").write_text(json.dumps({"errors": marked, "scores": []}))
    return folder
