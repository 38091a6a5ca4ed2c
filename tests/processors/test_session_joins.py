"""Tools' spans in traces of their own: by what the traces of their session asked for they find home."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from trajectories import normalise_all, span

from tracejury.processors.joining import rebuild_joined
from tracejury.schemas.normalized import NormalizedSpan

SESSION = {"session.id": "s-1"}


def _asking(name: str, at: int, said: Any) -> list[NormalizedSpan]:
    """An agent and its model's call in a trace; `said`: the reply's text, or the call that it asks for."""
    part = {"type": "text", "content": said} if isinstance(said, str) else {"type": "tool_call", **said}
    attributes = SESSION | {
        "gen_ai.operation.name": "chat",
        "gen_ai.input.messages": [{"role": "user", "parts": [{"type": "text", "content": f"Question of {name}?"}]}],
        "gen_ai.output.messages": [{"role": "assistant", "parts": [part]}],
    }
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name}
    return [*_trace(name, at, f"{name}.agent", SESSION | agent), *_trace(name, at, name, attributes, f"{name}.agent")]


def _ran(name: str, at: int, tool: str, arguments: Any) -> list[NormalizedSpan]:
    attributes = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool, "gen_ai.tool.call.result": "done"}
    return _trace(name, at, name, SESSION | attributes | {"gen_ai.tool.call.arguments": arguments})


def _trace(trace: str, at: int, name: str, attributes: dict[str, Any], above: str = "") -> list[NormalizedSpan]:
    made = span(name, above, attributes=attributes, name=name, start=at * 10**9, end=(at + 1) * 10**9)
    return normalise_all([replace(made, trace_id=f"{trace:0>32}")])


def _code(call: str) -> str:
    return f"Thought: look.\n<code>\nr = {call}\nprint(r)\n</code>"


def _homes(spans: Sequence[NormalizedSpan]) -> dict[str, set[str]]:
    """The spans of each joined trace, by its id, whatever the order of the traces."""
    traces: dict[str, list[NormalizedSpan]] = {}
    for one in spans:
        traces.setdefault(one.raw.trace_id, []).append(one)
    found = rebuild_joined(traces)
    assert rebuild_joined(dict(reversed(traces.items()))) == found
    assert all(not trace.remainder for trace in found)
    return {trace.trace_id.strip("0"): {i for i in trace.spans if not i.endswith(".agent")} for trace in found}


@pytest.mark.parametrize(
    ("said", "tool", "arguments"),
    [
        ({"name": "search", "arguments": {"q": "x"}}, "search", {"q": "x"}),
        ({"name": "search", "arguments": {"q": "x"}}, "search", {"q": "x", "ctx": "<workflow>"}),  # added
        ({"name": "transfer_to_clerk", "arguments": {}}, "handoff to clerk", "chief"),
        ({"name": "handoff", "arguments": {"to_agent": "clerk"}}, "handoff", {"to_agent": "clerk", "ctx": "<w>"}),
        (_code("search(query='x')"), "search", {"query": "x"}),
    ],
    ids=["arguments", "added argument", "hand-over", "hand-over by argument", "code"],
)
def test_a_tool_comes_to_the_trace_that_asked_for_it(said: Any, tool: str, arguments: Any) -> None:
    """Not to the other one of the session; nor does one that nobody asked for, or of another agent."""
    other: dict[str, Any] = {"name": "transfer_to_auditor" if "transfer" in str(said) else "weigh", "arguments": {}}
    asked, beside = _asking("a", 1, said), _asking("b", 2, other)
    assert _homes([*asked, *beside, *_ran("c", 3, tool, arguments)]) == {"a": {"a", "c"}, "b": {"b"}}
    assert _homes([*beside, *_ran("c", 3, tool, arguments)]) == {"b": {"b"}, "c": {"c"}}


@pytest.mark.parametrize(
    ("texts", "homes"),
    [(("one", "two"), {"a": {"a"}, "b": {"b", "c"}}), (("two", "two"), {"a": {"a"}, "b": {"b"}, "c": {"c"}})],
    ids=["by arguments", "the same"],
)
def test_of_two_programs_in_code_the_one_that_writes_the_arguments(
    texts: tuple[str, str], homes: dict[str, set[str]]
) -> None:
    """Where both do, the tool stays apart."""
    asked = [s for at, t in enumerate(texts) for s in _asking("ab"[at], at, _code(f"search('{t}')"))]
    assert _homes([*asked, *_ran("c", 3, "search", {"query": "two"})]) == homes
