"""Claude Code's span trees: whole, without the root, of requests alone, without contents, refused, below a program."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from trajectories import SHARED, span

from tracejury.collector.judging.detect.direct import stored
from tracejury.collector.otlp.files import read
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import sum_tokens
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace

SHAPES = SHARED / "shapes"
SPANS = sorted((SHAPES / "reports" / "claude-code-spans").glob("*.traces.json"))
NAMES = ("whole", "no root", "requests alone", "no contents")


def told(name: str, span_id: str, parent: str, at: int, **attributes: Any) -> Span:
    """A span of the program; two underscores in a key stand for a point."""
    given = {key.replace("__", "."): value for key, value in attributes.items()}
    end = given.pop("end", at + 1)
    return span(span_id, parent, {"session.id": "s"} | given, name=f"claude_code.{name}", start=at, end=end)


def tree(parent: str = "") -> list[Span]:
    """A prompt, a refused call, a failed one, and a sub-agent that reads a file."""
    return [
        told("interaction", "i", parent, 1, end=99, user_prompt="fix it"),
        told("llm_request", "l1", "i", 2, model="m", input_tokens=3, output_tokens=40),
        told("tool", "t1", "i", 5, tool_name="Bash", tool_use_id="c1", tool_input='{"command": "rm"}'),
        told("tool.blocked_on_user", "b1", "t1", 6, decision="reject", source="user_reject"),
        told("llm_request", "l2", "i", 10, model="m", input_tokens=5, output_tokens=60),
        told("tool", "t2", "i", 12, tool_name="Bash", tool_use_id="c2", tool_input='{"command": "ls"}'),
        told("tool.execution", "x2", "t2", 13, success=False, error="Exit code 2", tool_use_id="c2"),
        told(
            "tool", "t3", "i", 15, end=30, tool_name="Agent", tool_input='{"subagent_type": "Explore", "prompt": "p"}'
        ),
        told("tool.execution", "x3", "t3", 16, end=29, success=True),
        told("llm_request", "l3", "t3", 17, model="m", input_tokens=7, output_tokens=30, agent_id="a"),
        told("tool", "t4", "t3", 19, tool_name="Read", file_path="b.py", agent_id="a"),
        told("tool.execution", "x4", "t4", 20, success=True, agent_id="a"),
        told("llm_request", "l4", "t3", 22, model="m", input_tokens=9, output_tokens=25, agent_id="a"),
        told("llm_request", "l5", "i", 40, model="m", input_tokens=6, output_tokens=20),
    ]


def shape(trace: Trace) -> list[Any]:
    """Runs by name with their turns' calls."""
    return [
        (run.name, [[(c.name, c.error) for c in turn.tool_calls] for turn in run.turns if turn.llm])
        for run in trace.runs
    ]


EXPECTED = [
    ("claude-code", [[("Bash", None)], [("Bash", "Exit code 2"), ("Agent", None)], []]),
    ("explore", [[("Read", None)], []]),
]


@pytest.mark.parametrize("without", ["", "i", "b1 x3 x4"])
def test_a_session_is_a_run_with_its_sub_agents(without: str) -> None:
    """Also without its root; a permission is no turn and no error, an execution no call of its own."""
    spans = [s for s in tree() if s.span_id not in without.split()]
    trace = rebuild([normalize(s) for s in spans])
    assert shape(trace) == EXPECTED
    assert not trace.remainder
    assert trace.runs[1].parent_id == trace.runs[0].id
    assert trace.runs[0].goal == ("" if without == "i" else "fix it")
    assert trace.runs[1].goal == "p"  # as the call that started it says
    assert trace.runs[0].turns[0].tool_calls[0].arguments == {"command": "rm"}
    sums = sum_tokens(trace.spans)
    assert (sums.input_tokens, sums.output_tokens) == (30, 175)


def test_sub_agents_beside_their_manager_are_told_by_their_ids() -> None:
    """Their spans need not hang below the call that started them; one of a sub-agent's own is below that one."""
    moved = [
        replace(s, parent_span_id="i") if s.attributes.get("agent_id") and s.span_id != "x4" else s for s in tree()
    ]
    inner = told("llm_request", "l9", "i", 24, model="m", output_tokens=1, agent_id="b", parent_agent_id="a")
    trace = rebuild([normalize(s) for s in [*moved, inner]])
    manager, explorer, below = trace.runs
    assert shape(trace)[0] == EXPECTED[0]
    assert (explorer.name, explorer.parent_id, len(explorer.turns)) == ("explore", manager.id, 2)
    assert [c.name for c in explorer.turns[0].tool_calls] == ["Read"]
    assert (below.name, below.parent_id, len(below.turns)) == ("", explorer.id, 1)
    assert not trace.remainder


def test_a_session_below_a_program_is_its_own_run() -> None:
    """A program that starts it hands on its span; another agent's session stays apart."""
    program = span("p", name="POST /fix", attributes={"http.method": "POST"}, start=0, end=100)
    trace = rebuild([normalize(s) for s in [program, *tree("p")]])
    assert shape(trace) == EXPECTED


@pytest.mark.skipif(not SPANS, reason="the shared shapes are not on this machine")
@pytest.mark.parametrize("path", SPANS, ids=NAMES)
def test_shapes_of_its_spans(path: Any) -> None:
    """A failed command, a sub-agent with two requests and a file read, in each variant as far as it is told."""
    received = stored(source.request for source in read([path]))
    (trace,) = received.traces()
    variant = NAMES[SPANS.index(path)]
    assert not trace.remainder
    manager = trace.runs[0]
    assert (manager.name, len(manager.turns)) == ("claude-code", 3)
    assert manager.goal == ("" if variant == "no root" else "List the failing tests")
    if variant == "requests alone":
        assert len(trace.runs) == 1
        return
    bash, agent = (call for turn in manager.turns for call in turn.tool_calls)
    assert (bash.name, bash.error, agent.name, agent.error) == ("Bash", "Exit code 2", "Agent", None)
    assert bash.arguments == (None if variant == "no contents" else {"command": "pytest -q"})
    (explorer,) = trace.runs[1:]
    assert [c.name for turn in explorer.turns for c in turn.tool_calls] == ["Read"]
    assert (len(explorer.turns), agent.sub_run_id) == (2, explorer.id)
    sums = sum_tokens(trace.spans)
    assert (sums.input_tokens, sums.output_tokens) == (30, 175)


@pytest.mark.skipif(not SPANS, reason="the shared shapes are not on this machine")
def test_spans_and_log_records_without_ids() -> None:
    """One run of the prompt; the records stand at the spans that they tell of, the failed request's, too."""
    received = stored(source.request for source in read(sorted(SHAPES.glob("04-coding-agent.*"))))
    (trace,) = received.traces()
    (run,) = trace.runs
    assert (run.goal, len(run.turns)) == ("run the tests and fix the failing one", 2)
    ((call,), ()) = (turn.tool_calls for turn in run.turns)
    assert (call.name, call.arguments, call.error) == ("Bash", {"command": "pytest -q"}, "Exit code 1")
    assert call.result == "1 failed, 3 passed\nExit code 1"
    lines = {s.raw.name: s.log_text for s in trace.spans.values() if s.log_text}
    assert lines["claude_code.tool"] == ("claude_code.tool_result: Exit code 1",)
    assert "claude_code.api_error: 529 overloaded" in lines["claude_code.llm_request"]
    assert lines["claude_code.interaction"] == ("claude_code.user_prompt",)


@pytest.mark.skipif(not SPANS, reason="the shared shapes are not on this machine")
@pytest.mark.parametrize("number", ["01", "03"])
def test_log_records_alone(number: str) -> None:
    """Without ids, or with ids of spans that never come, a session's events are its run."""
    path = SHAPES / "reports" / "only-log-events" / f"{number}.logs.json"
    received = stored(source.request for source in read([path]))
    (trace,) = received.traces()
    (run,) = trace.runs
    assert (run.name, run.goal, trace.session_id) == ("claude-code", "Rename the function in util.py", "sess-25")
    assert [[(c.name, c.error) for c in turn.tool_calls] for turn in run.turns] == [
        [("Edit", "String not found")],
        [],
        [],
    ]
    assert [turn.llm.error_text if turn.llm else None for turn in run.turns] == ["", "overloaded", ""]
