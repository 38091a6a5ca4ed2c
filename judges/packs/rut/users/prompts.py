"""Prompts by which users are written and verified: our rules, the task, the turns, the question."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tracejury.judges.llm.client import Prompt
from tracejury.judges.packs.cards.oracle import Oracle, OracleStep
from tracejury.judges.packs.cards.user_turns import Behaviour, Carries
from tracejury.judges.packs.cards.values import blank
from tracejury.judges.packs.rut.matching import rule_of
from tracejury.judges.phrases import count
from tracejury.judges.writing.answers import WritingAnswer
from tracejury.judges.writing.prompts import entry, fenced, writing_prompt

from . import prompt_text as text
from .answers import Material, TurnChecks, TurnsAnswer
from .parts import in_parts


@dataclass(frozen=True)
class UserTask:
    """The task of a simulated user. `max_tokens`: of one answer.

    `carries`: by turn, the ids of the steps that it asks for; () where that is not known.
    """

    instruction: str
    oracle: Oracle
    max_tokens: int = 4096
    carries: Carries = ()

    def dealt(self, turns: int) -> UserTask:
        """The same with the steps, in their order, in contiguous parts, one for each turn."""
        parts = in_parts([step.id for step in self.oracle.ordered], turns)
        return replace(self, carries=tuple(map(tuple, parts)))

    def may_miss(self, behaviour: Behaviour) -> bool:
        """Whether an argument may be missing, so that the agent has to ask."""
        return self.oracle.type != "execute" or behaviour is Behaviour.UNDERSPECIFICATION

    @property
    def parts(self) -> str:
        """Which turns ask for which calls, by their numbers in `shown`; "" for one turn, or where it is not known."""
        if not self.carries[1:]:
            return ""
        numbers = {step.id: number for number, step in enumerate(self.oracle.ordered, 1)}
        called = enumerate((sorted(numbers[name] for name in ids) for ids in self.carries), 1)
        return text.PARTS.format(parts=", ".join(f"turn {turn} for {_calls(calls)}" for turn, calls in called))

    @cached_property
    def shown(self) -> str:
        """The task as a prompt has it."""
        return fenced("task", "\n".join(_task_lines(self.instruction, self.oracle)))


@dataclass(frozen=True, slots=True)
class Rejected:
    """Turns that failed their checks, and why."""

    turns: Sequence[str]
    complaints: str


def draft_prompt(task: UserTask, rejected: Rejected | None = None) -> Prompt:
    """Asks for one cooperative utterance for each part of the steps."""
    turns = len(task.carries)
    asked = text.DRAFT.format(
        count=count(turns, "turn"),
        parts=task.parts and f"{task.parts} ",
        kind=text.DRAFT_KINDS[task.oracle.type],
        number=turns,
    )
    return _prompt(task, text.WRITER, TurnsAnswer, *_rejected(rejected), asked)


def material_prompt(task: UserTask) -> Prompt:
    """Asks for what difficult users weave in."""
    return _prompt(task, text.WRITER, Material, text.MATERIAL)


def rewrite_prompt(
    task: UserTask,
    behaviour: Behaviour,
    ideal: Sequence[str],
    material: Sequence[str] = (),
    rejected: Rejected | None = None,
) -> Prompt:
    """Asks for the ideal turns in the words of another user."""
    asked = text.REWRITE.format(
        behaviour=text.BEHAVIOURS[behaviour],
        material=text.WEAVE if material else "",
        count=count(len(ideal), "turn"),
        parts=task.parts and f" {task.parts}",
        missing=f" {text.MAY_MISS}" if task.may_miss(behaviour) else "",
        number=len(ideal),
    )
    woven = [fenced("material", "\n".join(f"- {one}" for one in material))] if material else []
    return _prompt(
        task, text.WRITER, TurnsAnswer, fenced("ideal turns", _turns(ideal)), *woven, *_rejected(rejected), asked
    )


def check_prompt(task: UserTask, behaviour: Behaviour, turns: Sequence[str]) -> Prompt:
    """Asks for the three checks of what a user says."""
    missing = text.MAY_MISS if task.may_miss(behaviour) else text.NONE_MISSES
    parts = task.parts or (text.TOGETHER if len(turns) > 1 else "")
    asked = text.CHECK.format(behaviour=text.BEHAVIOURS[behaviour], parts=parts and f"\n{parts}", missing=missing)
    return _prompt(task, text.CHECKER, TurnChecks, fenced("turns", _turns(turns)), asked)


def _prompt(task: UserTask, rules: str, answer: type[WritingAnswer], *parts: str) -> Prompt:
    return writing_prompt(rules, task.shown, "\n".join(parts), answer, max_tokens=task.max_tokens, purpose="talk")


def _rejected(rejected: Rejected | None) -> Iterator[str]:
    if rejected is not None:
        yield fenced("earlier turns", _turns(rejected.turns))
        yield fenced("complaints", rejected.complaints)
        yield f"{text.AGAIN}\n"


def _turns(turns: Sequence[str]) -> str:
    return "\n".join(f"turn {number}: {entry(turn)}" for number, turn in enumerate(turns, 1))


def _calls(numbers: Sequence[int]) -> str:
    first, last = numbers[0], numbers[-1]
    if len(numbers) == 1:
        return f"call {first}"
    return f"calls {first} to {last}" if last - first == len(numbers) - 1 else f"calls {', '.join(map(str, numbers))}"


def _task_lines(instruction: str, oracle: Oracle) -> Iterator[str]:
    yield f"instruction: {entry(instruction) or 'none'}"
    yield f"kind: {oracle.type}"
    yield "calls:" if oracle.steps else "calls: none"
    writes = oracle.writing()
    for number, step in enumerate(oracle.ordered, 1):
        yield f"{number}. {step.text} ({'writes' if writes(step.tool) else 'reads'}){_free(step)}"
        yield from (f"   or {one.text}" for one in step.equivalent)
    if oracle.forbidden:
        yield "forbidden:"
        yield from (f"- {one.text}" for one in oracle.forbidden)


def _free(step: OracleStep) -> str:
    free = [name for name, value in step.arguments.items() if blank(value) or rule_of(name, step.match) != "equal"]
    return f"; free: {', '.join(free)}" if free else ""
