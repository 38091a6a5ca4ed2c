"""Plans and what they could know: each plan's prompt, what stood before it, and the plan; nothing after it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from tracejury.processors.names import canonical
from tracejury.processors.wording import STATED_PLAN
from tracejury.schemas.trajectory import AgentRun, Turn, TurnKind
from tracejury.schemas.transcript import PlanView, StepKind, Transcript

from .header import header
from .knowledge import Means, before, inputs, own_words
from .limits import TranscriptLimits
from .memory import Memory
from .shorten import shorten

_LIMITS: Final = TranscriptLimits(system=800, examples=800, preface=0, tool=120)
_PLAN: Final = 4_500
_READ: Final = 6_000  # characters of a reply in which a plan is looked for

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


def plan_views(run: AgentRun, transcript: Transcript) -> tuple[PlanView, ...]:
    """One view for each plan among the transcript's steps, in order; () where the run never planned.

    The labelled plans are those of `run.plans`; before the first of them, replies that write a plan into their text or
    thinking, and calls of to-do tools, count as well. A view holds nothing that came after its plan, and what counts
    as one depends on nothing later, so later steps change no view.
    """
    at = {step.turn: i for i, step in reversed(list(enumerate(transcript.steps))) if step.kind is StepKind.LLM}
    plans = [turn for turn in planning_turns(run) if turn in at]
    begin = "".join(header(run, Memory(_LIMITS))) if plans else ""
    views: list[PlanView] = []
    means = Means()
    for i, turn in enumerate(plans):
        steps = before(transcript.steps[: at[turn]], at[plans[i - 1]] if i else None)
        plan = transcript.steps[at[turn]]
        means.read(transcript.steps[at[plans[i - 1]] if i else 0 : at[turn]])
        plan = replace(plan, text=inputs(plan.text) + shorten(own_words(plan.text), _PLAN))
        view = replace(transcript, header=begin + means.render(plan), steps=(*steps, plan), closing="")
        again = i > 0 and any(_acts(t) for t in run.turns[plans[i - 1] : turn])
        views.append(PlanView(view, plan.label, turn, again))
    return tuple(views)


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


def _acts(turn: Turn) -> bool:
    """Whether a turn does something; to write down a plan is nothing yet."""
    called = [c for c in turn.tool_calls if canonical(c.name) not in TODO_TOOLS]
    return turn.kind is TurnKind.ACT and bool(called or turn.sub_run_ids or not turn.tool_calls)
