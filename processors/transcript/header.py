"""The beginning of a transcript: what is known at a run's first LLM call, so that it stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import NormalizedSpan, ToolDefinition
from tracejury.schemas.shown import shown
from tracejury.schemas.trajectory import AgentRun, Turn, TurnKind
from tracejury.schemas.transcript import cut_notice

from .condense import condense, without_examples
from .limits import TranscriptLimits
from .lines import block, inline, name, recorded
from .memory import Memory

_MOST_TOOLS: Final = 60
_MOST_PARAMETERS: Final = 12
_TELLING: Final = 40  # characters of a description by which a prompt is known to list its tool
_LONGEST: Final = 60_000  # characters of a prompt in which lines are weighed
_READ: Final = 20_000  # characters in which the beginning of the task is looked for
_HEAD_OF_TASK: Final = 0.4
"""Frameworks put the task at the end of their own words."""

_ANNOUNCED: Final = re.compile(
    r"^[ \t#*]{0,6}(?:(?:now,? )?here(?: is|'s) (?:the|your) (?:new )?|(?:the|your|new|current|user(?:'s)?) )?"
    r"(?:task|question|request|query|problem|objective)(?: is)?[ \t*]{0,3}:",
    re.IGNORECASE | re.MULTILINE,
)
"""The line by which a prompt says that the task follows."""


def header(run: AgentRun, memory: Memory) -> tuple[str, str]:
    """The agent with its prompt and tools, which its runs share, and this run's task; all are recorded in `memory`.

    Only the run's first LLM call is read: the agent's own span, which says more, comes last.
    """
    first = first_call(run.turns)
    named = f" of agent {name(first.agent_name)}" if first and first.agent_name else ""
    lines = [f"One run{named} ({run.role})."]
    if first is None:
        return "\n".join(lines) + "\n", ""
    lines += [*_system(first, memory), *_tools(first, memory)]
    if run.role == "sub-agent" and _speaks_only(run, memory):
        lines.append("no tools are listed with its calls; others may carry out what it writes")
    return "\n".join(lines) + "\n", "".join(f"{line}\n" for line in _first_message(first, memory))


def session_header(first: NormalizedSpan | None, memory: Memory) -> str:
    """The prompt and tools of a session's first LLM call; its messages stand at their steps."""
    told = "One session: in each exchange (E1, E2 …) a user asks and an agent works until it answers.\n"
    return told + (prompt_and_tools(first, memory) if first is not None else "")


def prompt_and_tools(first: NormalizedSpan, memory: Memory) -> str:
    """The prompt and tools of a run's first LLM call, for a record in which its messages stand at their steps."""
    return "".join(f"{line}\n" for line in (*_system(first, memory), *_tools(first, memory)))


def first_call(turns: Sequence[Turn]) -> NormalizedSpan | None:
    """The agent's own first LLM call in these turns."""
    return next((t.llm for t in turns if t.llm is not None and t.kind is not TurnKind.INNER), None)


def _system(first: NormalizedSpan, memory: Memory) -> list[str]:
    messages = [m.text for m in first.input_messages if m.role in ("system", "developer")]
    memory.given.update(messages)
    text = "\n".join(filter(None, messages))
    lines = ["system prompt:", system_text(text, memory.limits)] if text else []
    _learn("system prompt", text, memory)
    return lines


def _speaks_only(run: AgentRun, memory: Memory) -> bool:
    """Whether the run's first LLM call acts, calls nothing, and neither it nor its prompt lists a tool or agent."""
    turn = next(t for t in run.turns if t.llm is not None and t.kind is not TurnKind.INNER)
    return turn.kind is TurnKind.ACT and not (memory.tools or memory.listed or turn.tool_requests)


def _first_message(first: NormalizedSpan, memory: Memory) -> list[str]:
    task = next((m.text for m in reversed(first.input_messages) if m.role == "user" and m.text), "")
    memory.given.update(t for t in (task, first.input_text) if t)
    text = task or ("" if first.input_messages else first.input_text)
    lines = ["first message:", *_task(text, memory)] if text else []
    _learn("first message", task, memory)
    return lines


def _learn(place: str, text: str, memory: Memory) -> None:
    memory.shown.record(place, text)
    memory.prompted(text)


def _tools(first: NormalizedSpan, memory: Memory) -> list[str]:
    memory.tools.update(t.name for t in first.tools)
    return ["tools:", *tool_lines(first.tools, memory)] if first.tools else []


def system_text(text: str, limits: TranscriptLimits) -> str:
    """A system prompt as recorded lines: whole but for worked examples, so that a breach of it can be proved."""
    if len(text) > max(_LONGEST, limits.system):
        return block(text, limits.system)
    return system_lines(recorded(shown(text)), limits)


def system_lines(lines: str, limits: TranscriptLimits) -> str:
    """Lines of a system prompt; long ones without worked examples, cut only if that is not enough."""
    if len(lines) > limits.examples:
        lines = without_examples(lines)
    return condense(lines, limits.system)


def _prompt(text: str, limit: int) -> str:
    if len(text) > _LONGEST:
        return block(text, limit)
    return condense(recorded(shown(text)), limit, examples=True)


def _task(text: str, memory: Memory) -> list[str]:
    """A first message: the task whole if it can be, the words before it as far as there is room for them."""
    announced = _ANNOUNCED.search(text, 0, _READ)
    preface = text[: announced.start()] if announced else ""
    limits, asked = memory.limits, text[len(preface) :]
    memory.hidden.read("first message", asked, limits.task, _HEAD_OF_TASK)
    task = block(asked, limits.task, _HEAD_OF_TASK)
    if not preface.strip():
        return [task]
    return [_prompt(preface, limits.preface) if limits.preface else cut_notice(len(preface)), task]


def tool_lines(tools: Iterable[ToolDefinition], memory: Memory) -> list[str]:
    """A line for each tool: name, parameters with types (`?` optional), what it is for if no prompt says so."""
    tools = list(tools)
    lines = [recorded(_tool_line(tool, memory)) for tool in tools[:_MOST_TOOLS]]
    if rest := tools[_MOST_TOOLS:]:
        lines.append(f"[… {len(rest)} more tools: {', '.join(name(t.name, 40) for t in rest[:_MOST_TOOLS])} …]")
    return lines


def _tool_line(tool: ToolDefinition, memory: Memory) -> str:
    signature = f"{inline(tool.name, 80)}({', '.join(_parameters(tool.parameters))})"
    listed = memory.listed.get(tool.name)
    if listed is not None and listed.strip()[:_TELLING] in tool.description:
        return signature
    return f"{signature}: {inline(tool.description, memory.limits.tool)}" if tool.description else signature


def _parameters(schema: Mapping[str, object] | None) -> list[str]:
    properties = schema.get("properties") if schema else None
    if not schema or not isinstance(properties, Mapping):
        return []
    required = schema.get("required")
    needed = {r for r in required if isinstance(r, str)} if isinstance(required, list) else None
    lines = []
    for key, value in list(properties.items())[:_MOST_PARAMETERS]:
        kind = value.get("type", "") if isinstance(value, Mapping) else ""
        optional = "?" if _optional(key, value, needed) else ""
        lines.append(f"{inline(str(key), 40)}{optional}" + (f": {inline(str(kind), 30)}" if kind else ""))
    if len(properties) > _MOST_PARAMETERS:
        lines.append("…")
    return lines


def _optional(key: object, value: object, needed: set[str] | None) -> bool:
    if needed is not None:
        return key not in needed
    return isinstance(value, Mapping) and bool(value.get("nullable"))
