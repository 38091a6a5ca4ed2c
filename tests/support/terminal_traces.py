"""Traces of TRAIL's form in which one agent writes code and another, without an LLM, runs it."""

from __future__ import annotations

from typing import Any

from trail_folder import span

SAID = "llm.output_messages.0.message."


def terminal_trace(trace_id: str, *outcomes: str) -> dict[str, Any]:
    """A "team" (1), and for each outcome a "writer" (10, 20 …) and a "terminal" (12, 22 …) that runs what it wrote.

    The writer has an LLM call (11, 21 …), the terminal a tool call (13, 23 …) with the outcome.
    """
    turns = [t for i, outcome in enumerate(outcomes, 1) for t in _turn(trace_id, 10 * i, outcome)]
    team = span(trace_id, 1, 0, "AGENT", {"graph.node.id": "team", "input.value": "Plot the file."}, span_name="team")
    return {"trace_id": trace_id, "spans": [team | {"duration": "PT59S", "child_spans": turns}]}


def _turn(trace_id: str, at: int, outcome: str) -> list[dict[str, Any]]:
    code = f"import csv\nprint(list(csv.reader(open('{at}.csv'))))"
    asked = {"llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": "Plot the file."}
    wrote = {f"{SAID}role": "assistant", f"{SAID}content": f"This reads it:\n```python\n{code}\n```"}
    call = span(trace_id, at + 1, at, "LLM", asked | wrote)
    ran = {"tool.name": "execute", "input.value": code, "output.value": outcome}
    tool = span(trace_id, at + 3, at + 2, "TOOL", ran)
    writer, terminal = ({"graph.node.id": name, "input.value": "Plot the file."} for name in ("writer", "terminal"))
    return [
        span(trace_id, at, 1, "AGENT", writer, span_name="writer", child_spans=[call], duration="PT2S"),
        span(trace_id, at + 2, 1, "AGENT", terminal, span_name="terminal", child_spans=[tool], duration="PT2S"),
    ]
