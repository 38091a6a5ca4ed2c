"""The turns at which judges look for an agent's plan, by what was run and when: no word in any language counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind
from tracejury.schemas.trajectory import Turn, TurnKind

from .kept_lists import list_changes, list_in

_CALLS: Final = 2
"""LLM calls of a run that had a choice."""
_LONG: Final = 200
"""Characters from which an argument, or the reply of a later turn, says more than what is done next."""


def planning_turns(turns: Sequence[Turn], *, means: bool) -> tuple[int, ...]:
    """Indices of the turns that may hold a plan. `means`: tools or agents were given.

    Those below or of a span that is itself marked as planning; and in a run that had a choice (means, and more than one
    call) the first turn that runs something, if it says anything, else the first that says much, and later ones before
    which the agent wrote without running anything, or whose list of things to do has other items. Words that nothing
    but the end of the run follows stand for themselves, and so do those whose prompt or step asks for a plan: nothing
    of what came after them is looked at then. A run that goes on changes none of this.
    """
    own = [turn for turn in turns if turn.kind is not TurnKind.INNER]
    choice = sum(turn.llm is not None for turn in own) >= _CALLS
    changes = list_changes(turns) if choice else {}
    found: list[int] = []
    said: list[Turn] = []  # since something was last run, where no plan was marked
    marked, least = False, 1
    for turn in own:
        if any(span.kind is Kind.PLAN for span in turn.spans):
            found.append(turn.index)
            said, marked = [], True
        elif runs_something(turn):
            if labelled := _labelled(said):
                found += labelled
            elif said or turn.index in changes or (choice and not found and _said(turn) >= least):
                found.append(turn.index)
            said, marked, means, least = [], False, True, _LONG
        elif choice and not marked and turn is not own[-1] and (turn.kind is TurnKind.PLAN or _said(turn)):
            said.append(turn)
    if said and means:
        found += _labelled(said) or ([said[-1].index] if own[-1].closed else [])
    return tuple(found)


def _labelled(said: Sequence[Turn]) -> list[int]:
    return [turn.index for turn in said if turn.kind is TurnKind.PLAN]


def runs_something(turn: Turn) -> bool:
    """Whether the turn's words were for tools, agents or an interpreter."""
    if turn.kind is not TurnKind.ACT:
        return False
    ran = turn.sub_run_ids or turn.observation or any(step.is_error for step in turn.wrappers)
    return bool(ran or turn.tool_requests or not all(call.closing for call in turn.tool_calls))


def only_lists(turn: Turn) -> bool:
    """Whether the turn called nothing but what keeps its list: to write down a plan does nothing yet."""
    return bool(turn.tool_calls) and not turn.sub_run_ids and all(list_in(call.arguments) for call in turn.tool_calls)


def _said(turn: Turn) -> int:
    """Characters that the model wrote and thought, and of what its calls hold beside names and values."""
    thought = sum(len(m.reasoning.strip()) for m in turn.llm.output_messages) if turn.llm is not None else 0
    said = len(turn.text.strip()) + thought
    for call in turn.tool_calls:
        values = call.arguments.values() if isinstance(call.arguments, Mapping) else [call.arguments]
        said += sum(len(value) for value in values if isinstance(value, str) and len(value) >= _LONG)
        listed = list_in(call.arguments)
        said += _LONG if listed and len(listed.texts) > 1 else 0
    return said
