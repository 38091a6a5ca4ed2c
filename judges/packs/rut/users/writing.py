"""Users written: a model writes, model and code verify, and what fails is written again with the reason."""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from functools import partial
from typing import Final

from tracejury.judges.llm.case import Outcomes
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.conversation import Asking, ask, together
from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.judges.writing.units import WrittenText

from . import prompt_text as text
from .answers import Material, TurnChecks, TurnsAnswer, read_turns
from .late_values import said_late
from .leaks import leaks
from .prompts import Rejected, UserTask, check_prompt, draft_prompt, material_prompt, rewrite_prompt

MOST_REWRITES: Final = 3
"""How often turns that failed are written again."""

TurnsWriting = Generator[Sequence[Prompt], Outcomes, list[WrittenText]]
"""The turns of each user, as its name."""


def draft(task: UserTask) -> TurnsWriting:
    """The turns of an ideal user, verified: one for each part of the task that is `dealt`."""
    asked, read = partial(draft_prompt, task), partial(read_turns, count=len(task.carries))
    return (yield from together([_write(task, Behaviour.IDEAL, asked, read)]))


def rewrite(task: UserTask, ideal: Sequence[str], behaviours: Sequence[Behaviour]) -> TurnsWriting:
    """The ideal turns, verified, and in the words of these users; where the ideal ones fail, only they are told."""
    (first,) = yield from together([_checked(task, Behaviour.IDEAL, tuple(ideal))])
    if first.failure:
        return [first]
    material, failure = yield from _material(task, behaviours)
    read = partial(read_turns, count=len(ideal), ideal=ideal)
    without = [b for b in behaviours if failure and b in text.MATERIAL_OF]
    going = []
    for one in (b for b in behaviours if b not in without):
        woven = material.get(text.MATERIAL_OF.get(one, ""), ())
        going.append(_write(task, one, partial(rewrite_prompt, task, one, ideal, woven), read))
    written = yield from together(going)
    return [first, *(WrittenText(b, failure=failure) for b in without), *written]


def _material(
    task: UserTask, behaviours: Collection[Behaviour]
) -> Generator[Sequence[Prompt], Outcomes, tuple[Mapping[str, Sequence[str]], str]]:
    """What these users weave in, by kind, or why there is none."""
    if text.MATERIAL_OF.keys().isdisjoint(behaviours):
        return {}, ""
    (said,) = yield from together([ask(material_prompt(task), Material.read)])
    return (said.answer.model_dump() if said.answer else {}), said.failure


def _write(
    task: UserTask,
    behaviour: Behaviour,
    asked: Callable[[Rejected | None], Prompt],
    read: Callable[[str], TurnsAnswer],
) -> Asking[WrittenText]:
    """Written, and written again while the checks fail."""
    made, rejected = WrittenText(behaviour), None
    for number in range(1, MOST_REWRITES + 2):
        said = yield from ask(asked(rejected), read)
        if said.answer is None:
            return WrittenText(behaviour, (), number, made.checks, said.failure)
        made = yield from _checked(task, behaviour, said.answer.turns, number)
        if not made.failure or made.checks is None:
            break
        rejected = Rejected(said.answer.turns, made.checks.complaints)
    return made


def _checked(task: UserTask, behaviour: Behaviour, turns: tuple[str, ...], written: int = 0) -> Asking[WrittenText]:
    """The turns with their checks, or without turns where a check fails."""
    said = yield from ask(check_prompt(task, behaviour, turns), TurnChecks.read)
    if said.answer is None:
        return WrittenText(behaviour, (), written, None, said.failure)
    checks = said.answer.failed("leak", leaks(task.oracle, task.instruction, turns))
    if not task.may_miss(behaviour):
        checks = checks.failed("infer", said_late(task.oracle, task.carries, turns))
    failure = checks.complaints.replace("\n", " ")
    return WrittenText(behaviour, () if failure else turns, written, checks, failure)
