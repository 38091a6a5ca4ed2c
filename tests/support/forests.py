"""Spans of small forests, drawn at random: of any shape, and as agents that call models and tools leave them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

KINDS = ["LLM", "TOOL", "AGENT", "CHAIN", "EVALUATOR", "GUARDRAIL", "RETRIEVER", "PROMPT", ""]
NAMES = ["search", "researcher", "final_answer", "transfer_to_researcher", "transfer_to_search", "ask_researcher"]
STATED = ["", "", "", "researcher", "search"]
IDS = ["", "c1", "c2"]
TEXTS = ["", "short", "a text long enough to know a run by, said by its model"]


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """One span of a small forest: few ids, so that parents are often known, and sometimes form cycles."""
    kind = draw(st.sampled_from(KINDS))
    attributes: dict[str, Any] = {"openinference.span.kind": kind} if kind else {}
    if kind == "LLM":
        attributes |= {
            "llm.input_messages.0.message.role": draw(st.sampled_from(["system", "user", "assistant", "tool"])),
            "llm.input_messages.0.message.content": draw(st.sampled_from(TEXTS)),
            "llm.input_messages.0.message.tool_call_id": draw(st.sampled_from(IDS)),
            "llm.output_messages.0.message.content": draw(st.sampled_from(TEXTS)),
        }
        call = "llm.output_messages.0.message.tool_calls.0.tool_call"
        attributes |= {
            f"{call}.id": draw(st.sampled_from(IDS)),
            f"{call}.function.name": draw(st.sampled_from(NAMES)),
            f"{call}.function.arguments": draw(st.sampled_from(["{}", '{"task": "a text long enough to know"}'])),
        }
    if kind == "TOOL":
        attributes |= {"tool.name": draw(st.sampled_from(NAMES)), "tool.id": draw(st.sampled_from(IDS))}
    if kind == "AGENT":
        attributes |= {"agent.name": draw(st.sampled_from(["", *NAMES]))}
    for key in ("tracejury.agent.name", "tracejury.agent.parent"):
        if stated := draw(st.sampled_from(STATED)):
            attributes[key] = stated
    number = st.integers(0, 12)
    start = draw(st.integers(0, 20))
    return {
        "id": f"s{draw(number)}",
        "parent": draw(st.just("") | number.map(lambda n: f"s{n}") | number.map(lambda n: f"gone{n % 3}")),
        "name": draw(st.sampled_from(["Step 1", "planner", "x", "researcher", "search"])),
        "start": start,
        "end": start + draw(st.integers(-3, 9)),
        "attributes": attributes,
        "status": draw(st.sampled_from(["unset", "error"])),
        "pending": draw(st.booleans()),
    }


@st.composite
def agent_entries(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Agents below a root or a tool, each with calls of a model and of tools right below it or in steps."""
    found: list[dict[str, Any]] = []
    agents = ["s0"]
    found.append(_agent("s0", draw(st.sampled_from(["", "root"])), draw(st.sampled_from(["manager", ""])), 0))
    for number in range(1, draw(st.integers(4, 40))):
        name, start = f"s{number}", draw(st.integers(number, number + 6))
        above = draw(st.sampled_from(agents))
        kind = draw(st.sampled_from(["LLM", "LLM", "TOOL", "TOOL", "TOOL", "AGENT", "CHAIN"]))
        if kind == "AGENT":
            found.append(_agent(name, above, draw(st.sampled_from(["researcher", "writer"])), start))
        else:
            found.append(_work(draw, name, above, kind, start))
        if kind in ("AGENT", "CHAIN"):
            agents.append(name)
    return found


def _agent(name: str, parent: str, agent: str, start: int) -> dict[str, Any]:
    attributes = {"openinference.span.kind": "AGENT", "agent.name": agent, "input.value": "Find it out."}
    return {"id": name, "parent": parent, "name": f"{agent}.run", "start": start, "end": 90, "attributes": attributes}


def _work(draw: st.DrawFn, name: str, parent: str, kind: str, start: int) -> dict[str, Any]:
    attributes: dict[str, Any] = {"openinference.span.kind": kind}
    tool = draw(
        st.sampled_from(["search", "book", "researcher", "transfer_to_writer"] if draw(st.booleans()) else ["search"])
    )
    failed = draw(st.booleans())
    if kind == "LLM":
        call = "llm.output_messages.0.message.tool_calls.0.tool_call"
        attributes |= {
            "llm.input_messages.0.message.role": "user",
            "llm.input_messages.0.message.content": draw(st.sampled_from(TEXTS)),
            "llm.output_messages.0.message.content": draw(
                st.sampled_from(["", "I shall look that up, then.", TEXTS[2]])
            ),
            f"{call}.function.name": tool,
            f"{call}.function.arguments": '{"query": "Elbe"}',
        }
    elif kind == "TOOL":
        result = "Error: 404 not found" if failed else "found"
        attributes |= {"tool.name": tool, "input.value": '{"query": "Elbe"}', "output.value": result}
    status = "error" if failed and draw(st.booleans()) else "unset"
    return {
        "id": name,
        "parent": parent,
        "name": tool,
        "start": start,
        "end": start + 2,
        "attributes": attributes,
        "status": status,
    }
