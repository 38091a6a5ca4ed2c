"""The beginning of a transcript: what is known at a run's first LLM call, so that it stays as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ...schemas.normalized import NormalizedSpan, ToolDefinition
from ...schemas.trajectory import AgentRun, TurnKind
from .limits import Limits
from .lines import block, inline, name, recorded
from .memory import Memory

_MOST_TOOLS: Final = 60
_MOST_PARAMETERS: Final = 12
HEAD_OF_PROMPT: Final = 0.35
"""Prompts begin with who the agent is and end with its rules; between stand examples."""

_HEAD_OF_TASK: Final = 0.4
"""A task stands at the end of the words that a framework puts around it."""


def header(run: AgentRun, limits: Limits, memory: Memory) -> str:
    """Who runs, under what prompt, on what task, with what tools; `memory` learns them.

    Only the run's first LLM call is read: the agent's own span, which says more, comes last.
    """
    turn = next((t for t in run.turns if t.llm is not None and t.kind is not TurnKind.INNER), None)
    first = turn.llm if turn else None
    named = f" of agent {name(first.agent_name)}" if first and first.agent_name else ""
    said = [f"One run{named} ({run.role})."]
    if first is not None:
        said += _prompts(first, limits, memory)
        memory.tools.update(t.name for t in first.tools)
        if first.tools:
            said += ["tools:", *tool_lines(first.tools, limits)]
    return "\n".join(said) + "\n"


def _prompts(first: NormalizedSpan, limits: Limits, memory: Memory) -> list[str]:
    said: list[str] = []
    system = "\n".join(m.text for m in first.input_messages if m.role in ("system", "developer") and m.text)
    task = next((m.text for m in reversed(first.input_messages) if m.role == "user" and m.text), "")
    if system:
        said += ["system prompt:", block(system, limits.system, HEAD_OF_PROMPT)]
    if task or (not first.input_messages and first.input_text):
        said += ["first message:", block(task or first.input_text, limits.task, _HEAD_OF_TASK)]
    for message in first.input_messages:
        if message.role in ("system", "developer"):
            memory.given.add(message.text)
    memory.given.update(t for t in (task, first.input_text) if t)
    for text in (system, task):
        memory.seen.learn("header", text)
    return said


def tool_lines(tools: Iterable[ToolDefinition], limits: Limits) -> list[str]:
    """A line for each tool: name, parameters with types (`?` optional), what it is for."""
    tools = list(tools)
    said = [recorded(_tool_line(tool, limits)) for tool in tools[:_MOST_TOOLS]]
    if rest := tools[_MOST_TOOLS:]:
        said.append(f"[… {len(rest)} more tools: {', '.join(name(t.name, 40) for t in rest[:_MOST_TOOLS])} …]")
    return said


def _tool_line(tool: ToolDefinition, limits: Limits) -> str:
    signature = f"{inline(tool.name, 80)}({', '.join(_parameters(tool.parameters))})"
    return f"{signature}: {inline(tool.description, limits.tool)}" if tool.description else signature


def _parameters(schema: Mapping[str, object] | None) -> list[str]:
    properties = schema.get("properties") if schema else None
    if not schema or not isinstance(properties, Mapping):
        return []
    required = schema.get("required")
    needed = {r for r in required if isinstance(r, str)} if isinstance(required, list) else None
    said = []
    for key, value in list(properties.items())[:_MOST_PARAMETERS]:
        kind = value.get("type", "") if isinstance(value, Mapping) else ""
        optional = "?" if _optional(key, value, needed) else ""
        said.append(f"{inline(str(key), 40)}{optional}" + (f": {inline(str(kind), 30)}" if kind else ""))
    if len(properties) > _MOST_PARAMETERS:
        said.append("…")
    return said


def _optional(key: object, value: object, needed: set[str] | None) -> bool:
    if needed is not None:
        return key not in needed
    return isinstance(value, Mapping) and bool(value.get("nullable"))
