"""What an LLM call of a run was for: acting, planning, surveying facts, or wording the final answer."""

from __future__ import annotations

import re
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan
from ..schemas.trajectory import Turn, TurnKind
from .wording import STATED_PLAN, WANTED

_HEAD: Final = 1_500
_TAIL: Final = 600
_BEFORE: Final = 80
_AFTER: Final = 8


def phase(llm: NormalizedSpan, *, in_step: bool, goal: str) -> TurnKind:
    """The purpose of `llm`. `in_step`: it sits in a step of the run, together with actions.

    A label (`plan` operation) decides. Otherwise a call is planning, a survey or a closing call only if it was given
    no tools, asked for none, is no part of a step, and its instructions ask for exactly that; where they ask for
    several, the last one counts, because instructions name the inputs first and the wanted output last.
    """
    if llm.kind is Kind.PLAN:
        return TurnKind.PLAN
    if in_step or llm.tools or any(m.tool_requests for m in llm.output_messages):
        return TurnKind.ACT
    wanted = instructions(llm, goal).lower()
    last = {kind: _last(wanted, word, pattern) for kind, (word, pattern) in WANTED.items()}
    kind = max(last, key=last.__getitem__)
    return kind if last[kind] >= 0 else TurnKind.ACT


def states_plan(turn: Turn) -> bool:
    """Whether an acting turn's reply begins by writing down a plan."""
    return turn.kind is TurnKind.ACT and turn.llm is not None and _states_plan(turn.llm)


def _states_plan(llm: NormalizedSpan) -> bool:
    return any(STATED_PLAN.search(m.text, 0, _HEAD) is not None for m in llm.output_messages if "lan" in m.text[:_HEAD])


def instructions(llm: NormalizedSpan, goal: str) -> str:
    """Beginning and end of the last message that is not the model's own, without the task that it quotes."""
    for message in reversed(llm.input_messages):
        if message.role in ("user", "system", "developer"):
            text = message.text.replace(goal, " ") if goal else message.text
            return text if len(text) <= _HEAD + _TAIL else f"{text[:_HEAD]}\n{text[-_TAIL:]}"
    return ""


def _last(text: str, word: str, pattern: re.Pattern[str]) -> int:
    """Where `word` last stands in the wording of `pattern`, -1 if nowhere."""
    at = text.rfind(word)
    while at >= 0:
        if pattern.search(text, max(0, at - _BEFORE), at + len(word) + _AFTER):
            return at
        at = text.rfind(word, 0, at)
    return -1
