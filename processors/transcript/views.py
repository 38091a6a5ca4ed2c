"""Other ways to put a trace before a judge, to compare ours with: all that was recorded, and the paper's."""

from __future__ import annotations

import json

from ...schemas.normalized import Message
from ...schemas.trajectory import AgentRun, Trace, Turn
from .lines import json_line


def raw_view(trace: Trace) -> str:
    """Every span as it was sent: ids, name, times, status, attributes and events, as JSON in order."""
    spans = (s.raw for s in trace.spans.values())
    told = [
        {
            "span_id": s.span_id,
            "parent_span_id": s.parent_span_id,
            "name": s.name,
            "start": s.start,
            "end": s.end,
            "status": [s.status_code, s.status_message],
            "attributes": dict(s.attributes),
            "events": [{"name": e.name, "attributes": dict(e.attributes)} for e in s.events],
        }
        for s in spans
    ]
    return json.dumps(told, ensure_ascii=False)


def paper_view(trace: Trace) -> str:
    """The preprocessing of "What is your agent's GPA?": system instructions and new messages per agent, uncut.

    For each agent run its system instructions, then of each LLM call the messages that the run had not been sent
    before and what the call put out, under its span id. No tool definitions, no tool spans (their results are
    messages of the next call), nothing of a trace's plain spans.
    """
    return "\n".join(_run(run) for run in trace.runs)


def _run(run: AgentRun) -> str:
    instructions = run.system_prompt
    told = [f"Agent {run.name}", f"System instructions: {instructions}"]
    told += [_turn(turn, instructions) for turn in run.turns if turn.llm is not None]
    return "\n".join(told)


def _turn(turn: Turn, instructions: str) -> str:
    if turn.llm is None:
        return ""
    new = [m for m in turn.new_messages if m.text not in instructions or m.role not in ("system", "developer")]
    told = [f"Span {turn.llm.span_id}", *(_message(m) for m in new)]
    told += [f"Output {_message(m)}" for m in turn.llm.output_messages]
    return "\n".join(told)


def _message(message: Message) -> str:
    calls = "".join(f"\n{r.name}({json_line(r.arguments)})" for r in message.tool_requests)
    return f"{message.role}: {message.reasoning}{message.text}{calls}"
