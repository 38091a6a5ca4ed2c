"""Plans and what they could know: each plan's prompt, what stood before it, and the plan; nothing after it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from tracejury.processors.kept_lists import ListChange, list_changes
from tracejury.processors.plans import only_lists, runs_something
from tracejury.schemas.trajectory import AgentRun
from tracejury.schemas.transcript import PlanView, StepKind, Transcript

from .header import header
from .knowledge import Means, before, inputs, own_words
from .limits import TranscriptLimits
from .lines import inline
from .llm_step import without_fates
from .memory import Memory
from .shorten import shorten

_LIMITS: Final = TranscriptLimits(system=800, examples=800, preface=0, tool=120)
_PLAN: Final = 4_500
_ITEM: Final = 120
_MOST_ITEMS: Final = 12


def plan_views(run: AgentRun, transcript: Transcript) -> tuple[PlanView, ...]:
    """One view for each of `run.plans` among the transcript's steps, in order; () where the run had no choice.

    A view ends with the words and calls of its turn: it holds nothing that came of them, so later steps change no view.
    """
    at = {step.turn: i for i, step in reversed(list(enumerate(transcript.steps))) if step.kind is StepKind.LLM}
    plans = [turn for turn in run.plans if turn in at]
    begin = "".join(header(run, Memory(_LIMITS))) if plans else ""
    changes = list_changes(run.turns) if len(plans) > 1 else {}
    views: list[PlanView] = []
    means = Means()
    for i, turn in enumerate(plans):
        steps = before(transcript.steps[: at[turn]], at[plans[i - 1]] if i else None)
        plan = transcript.steps[at[turn]]
        means.read(transcript.steps[at[plans[i - 1]] if i else 0 : at[turn]])
        plan = replace(plan, text=inputs(plan.text) + shorten(without_fates(own_words(plan.text)), _PLAN))
        known = begin + means.render(plan) + "".join(_changed(changes[turn]) if i and turn in changes else ())
        view = replace(transcript, header=known, steps=(*steps, plan), closing="")
        done = (t for t in run.turns[plans[i - 1] : turn] if runs_something(t) and not only_lists(t))
        views.append(PlanView(view, plan.label, turn, replan=i > 0 and any(done)))
    return tuple(views)


def _changed(change: ListChange) -> Iterator[str]:
    """Lines on what a list has that the one before had not."""
    if change.began:
        return
    yield f"items of its list, against the list before ({change.kept} stayed):\n"
    yield from _items("added", change.added)
    yield from _items("dropped before they were begun", change.dropped)


def _items(title: str, items: Iterable[str]) -> Iterator[str]:
    told = [f" {title}: {inline(item, _ITEM)}\n" for item in items]
    yield from told[:_MOST_ITEMS]
    if len(told) > _MOST_ITEMS:
        yield f"[… {len(told) - _MOST_ITEMS} more {title} …]\n"
