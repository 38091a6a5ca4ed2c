"""Plans and what they could know: each plan's prompt, what stood before it, and the plan; nothing after it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from ...schemas.trajectory import AgentRun, Trace, Turn, TurnKind
from ...schemas.transcript import PlanView, Step, StepKind, Transcript
from ..names import canonical
from ..wording import STATED_PLAN
from .header import header
from .limits import Limits
from .memory import Memory
from .shorten import shorten

_LIMITS: Final = Limits(system=800, task=1_100, tool=80)
_FACTS: Final = 1_100  # characters of the steps right before a plan
_TRIGGER: Final = 1_100
_PLAN: Final = 6_000
_FULL: Final = 2  # steps before a re-plan that are shown as they are
_BRIEF: Final = 24  # steps before them that have their line

TODO_TOOLS: Final = frozenset(
    {"write_todos", "todowrite", "todo_write", "update_plan", "write_plan", "create_plan", "make_plan", "plan",
     "todo", "todos", "update_todos", "update_todo_list", "manage_todo_list", "write_todo_list", "set_plan"}
)  # fmt: skip
"""Tools by which agents write down a plan (LangChain's deep agents, Claude Code, Codex and others)."""

_THOUGHT: Final = re.compile(
    r"\b(?:(?:my|the|here is my|here's my|a|new|revised|updated) plan\b|"
    r"i(?:'ll| will| should| need to) (?:first|start)|"
    r"steps? (?:to take|i will take)|let me plan|step[- ]by[- ]step plan)[^\n]{0,120}"
    r"\n{1,3}\s{0,4}(?:1[.)]|[-*\u2022]|step 1)\s",
    re.IGNORECASE,
)
_READ: Final = 6_000  # characters of a reply in which a plan is looked for


def plan_views(
    trace: Trace,  # noqa: ARG001 - the face of all that views a run
    run: AgentRun,
    transcript: Transcript,
) -> tuple[PlanView, ...]:
    """One view for each plan among the transcript's steps, in order; () where the run never planned.

    The labelled plans are those of `run.plans`; before the first of them, replies that write a plan into their text or
    thinking, and calls of to-do tools, count as well. A view holds nothing that came after its plan, and what counts
    as one depends on nothing later, so later steps change no view.
    """
    at = {step.turn: i for i, step in reversed(list(enumerate(transcript.steps))) if step.kind is StepKind.LLM}
    plans = [i for i in planning_turns(run) if i in at]
    begin = header(run, _LIMITS, Memory()) if plans else ""
    return tuple(_view(transcript, begin, at[turn], turn, again=i > 0) for i, turn in enumerate(plans))


def planning_turns(run: AgentRun) -> tuple[int, ...]:
    """Indices of the turns that plan, by the rule of `plan_views`."""
    first = min(run.plans, default=len(run.turns))
    acting = (t for t in run.turns[:first] if t.kind is TurnKind.ACT)
    return (*(t.index for t in acting if _listed(t) or _thought(t)), *run.plans)


def _listed(turn: Turn) -> bool:
    return any(canonical(c.name) in TODO_TOOLS for c in turn.tool_calls if c.requested)


def _thought(turn: Turn) -> bool:
    if turn.llm is None:
        return False
    texts = [text for m in turn.llm.output_messages for text in (m.reasoning, m.text) if text]
    return any(pattern.search(text, 0, _READ) for text in texts for pattern in (STATED_PLAN, _THOUGHT))


def _view(transcript: Transcript, begin: str, at: int, turn: int, *, again: bool) -> PlanView:
    plan = transcript.steps[at]
    steps = (*_before(transcript.steps, at, _TRIGGER if again else _FACTS), _shorter(plan, _PLAN))
    return PlanView(replace(transcript, header=begin, steps=steps, closing=""), plan.label, turn, again)


def _before(steps: Sequence[Step], at: int, limit: int) -> tuple[Step, ...]:
    """Of the steps before `at` the last as they are, those before them by their line, those long ago not at all."""
    full = max(0, at - _FULL)
    brief = max(0, full - _BRIEF)
    told = [replace(s, text=f"{s.outline}\n") for s in steps[brief:full]]
    if brief:
        told[0] = replace(told[0], text=f"[… {brief} earlier steps …]\n{told[0].text}")
    return (*told, *(_shorter(s, limit) for s in steps[full:at]))


def _shorter(step: Step, limit: int) -> Step:
    return replace(step, text=shorten(step.text, limit))
