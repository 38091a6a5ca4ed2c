"""Runs of code agents in several harnesses, with the same work and the same faults, for tests of rules about code.

A harness turns steps (a command and how it ended) into a trace as its instrumentation would record it. The LLM spans
are `a0`, `a1`, … in order, the answer `z`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from small_traces import Did, Said, run, trace

from tracejury.schemas.normalized import Message, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace

TASK: Final = "Repair parse_date in dates.py: it fails for years before 1900."


@dataclass(frozen=True)
class Step:
    """A command, what it prints, and its exit status."""

    command: str
    output: str = ""
    status: int = 0


Harness = Callable[[Sequence[Step], str], Trace]


def bash_json(steps: Sequence[Step], answer: str) -> Trace:
    """A tool `bash` whose result is JSON with the exit status."""
    return _with_tool(steps, answer, "bash", "command", _as_json)


def _as_json(step: Step) -> str:
    out, err = ("", step.output) if step.status else (step.output, "")
    return json.dumps({"stdout": out, "stderr": err, "exit_code": step.status})


def shell_nested(steps: Sequence[Step], answer: str) -> Trace:
    """A tool `shell` whose result is JSON with the status among its metadata."""
    return _with_tool(
        steps, answer, "shell", "cmd", lambda s: json.dumps({"output": s.output, "metadata": {"exit_code": s.status}})
    )


def terminal_tail(steps: Sequence[Step], answer: str) -> Trace:
    """A tool `execute_bash` whose result ends with a line that states the status."""
    return _with_tool(
        steps,
        answer,
        "execute_bash",
        "command",
        lambda s: f"{s.output}\n[The command completed with exit code {s.status}.]",
    )


def terminal_terse(steps: Sequence[Step], answer: str) -> Trace:
    """A tool `run_terminal` that speaks of the status only where it is not 0."""
    return _with_tool(
        steps,
        answer,
        "run_terminal",
        "command",
        lambda s: s.output + (f"\nProcess exited with code {s.status}" * bool(s.status)),
    )


def _with_tool(steps: Sequence[Step], answer: str, tool: str, key: str, result: Callable[[Step], str]) -> Trace:
    turns, sees = [], [TASK]
    for i, step in enumerate(steps):
        told = result(step)
        turns.append(Said(f"a{i}", "", [Did(tool, {key: step.command}, told, None, f"t{i}")], sees))
        sees = [told]
    return trace(run("r1", *turns, Said("z", answer, sees=sees), goal=TASK))


def text_actions(steps: Sequence[Step], answer: str) -> Trace:
    """An agent whose commands stand in its text; the next message holds how they ended. No tool has a span."""
    turns, sees = [], [TASK]
    for i, step in enumerate(steps):
        turns.append(Said(f"a{i}", f"DISCUSSION\nThe next step.\n\n```bash\n{step.command}\n```", sees=sees))
        sees = [f"<returncode>{step.status}</returncode>\n<output>\n{step.output}\n</output>"]
    return trace(_by_user(run("r1", *turns, Said("z", answer, sees=sees), goal=TASK)))


def _by_user(agent_run: AgentRun) -> AgentRun:
    turns = (replace(t, new_messages=tuple(replace(m, role="user") for m in t.new_messages)) for t in agent_run.turns)
    return replace(agent_run, turns=tuple(turns))


def group_chat(steps: Sequence[Step], answer: str) -> Trace:
    """A coder and a terminal in turns: each has runs of one turn, and the terminal has no model and never fails."""
    runs: list[AgentRun] = []
    history = [Message("user", TASK)]
    for i, step in enumerate(steps):
        text = f"Please run this.\n\n```sh\n{step.command}\n```"
        coder = run(f"c{i}", Said(f"a{i}", text), name="Coder", role="sub-agent", answer=text)
        runs.append(_at(_sent(coder, history), 100 * i))
        verdict = "execution failed" if step.status else "execution succeeded"
        told = f"exitcode: {step.status} ({verdict})\nCode output: {step.output}"
        executed = Did("execute_code", {"code": step.command}, told, None, f"t{i}")
        terminal = run(
            f"x{i}", Said(f"none{i}", "", [executed]), name="Computer_terminal", role="sub-agent", answer=told
        )
        runs.append(_at(replace(terminal, turns=(replace(terminal.turns[0], llm=None),)), 100 * i + 50))
        history = [*history, Message("assistant", text), Message("user", told)]
    last = run("cz", Said("z", answer), name="Coder", role="sub-agent", answer=answer)
    return trace(*runs, _at(_sent(last, history), 100 * len(steps)))


def _sent(agent_run: AgentRun, history: Sequence[Message]) -> AgentRun:
    first = agent_run.turns[0]
    assert first.llm is not None
    told = replace(first, new_messages=tuple(history), llm=replace(first.llm, input_messages=tuple(history)))
    return replace(agent_run, turns=(told, *agent_run.turns[1:]))


def _at(agent_run: AgentRun, start: int) -> AgentRun:
    def moved(span: NormalizedSpan) -> NormalizedSpan:
        return replace(span, raw=replace(span.raw, start=span.raw.start + start, end=span.raw.end + start))

    turns = []
    for turn in agent_run.turns:
        calls = tuple(replace(c, span=moved(c.span) if c.span else None) for c in turn.tool_calls)
        turns.append(replace(turn, llm=moved(turn.llm) if turn.llm else None, tool_calls=calls))
    return replace(agent_run, turns=tuple(turns), span=moved(agent_run.span) if agent_run.span else None)


def code_steps(steps: Sequence[Step], answer: str) -> Trace:
    """An agent that acts by code in its text; the framework's step fails where the code does, and shows its output."""
    turns, sees = [], [TASK]
    for i, step in enumerate(steps):
        text = f"Thought: the next step.\n\nCode:\n```py\nshell({step.command!r})\n```<end_code>"
        error = f"InterpreterError: {step.output}" if step.status and step.output[:4] not in {"", "ran "} else ""
        printed = "" if error else f"Execution logs:\n{step.output}\nLast output from code snippet:\nNone"
        turns.append(Said(f"a{i}", text, sees=sees, observed=printed, step_error=error))
        sees = [error or f"Observation:\n{printed}"]
    return trace(run("r1", *turns, Said("z", answer, sees=sees), goal=TASK))


HARNESSES: Final[dict[str, Harness]] = {
    h.__name__: h
    for h in (bash_json, shell_nested, terminal_tail, terminal_terse, text_actions, group_chat, code_steps)
}
