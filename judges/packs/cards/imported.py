"""Task cards with grading notes, made of a benchmark's tasks or of oracles; no model is asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from tracejury.judges.llm.criteria_types import Text
from tracejury.judges.llm.data_files import Read, model_of, read_data
from tracejury.schemas.errors import ConfigError

from .oracle import JsonData, Oracle, StateAssertion
from .task_cards import MOST_BYTES, TaskCard, load_cards
from .task_data import TaskData

AGENT: Final = "The agent "
STATE: Final = "In the state, "
_ALIKE: Final = 80  # characters; notes of a card must differ within somewhat more
_IN_QUOTES: Final = re.compile(r'\s*"([^"]*)"\s*,?\s*')
"""A whole text in quotes, as an entry of a list in a program has it."""

Details = Annotated[str, BeforeValidator(lambda value: unquoted(value) if isinstance(value, str) else value)]


def unquoted(note: str) -> str:
    """A note of TED's data without the quotes around it, the comma after them, and outer space."""
    found = _IN_QUOTES.fullmatch(note)
    return (found[1] if found else note).strip()


class _Published(BaseModel):
    """The base of tasks that others publish: they have more keys than are read."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class _TedInput(_Published):
    content: str
    terminating_condition: str = ""


class _TedSubgoal(_Published):
    details: Details


class _TedMetadata(_Published):
    subgoals: tuple[_TedSubgoal, ...]


class TedTask(_Published):
    """A task of the data that the authors of TED published."""

    id: str | int
    input: Annotated[tuple[_TedInput, ...], Field(min_length=1)]
    metadata: _TedMetadata

    def card(self) -> Mapping[str, Any]:
        """Its card."""
        said = self.input[0]
        notes = [goal.details for goal in self.metadata.subgoals]
        return {"id": self.id, "instruction": said.content, "stop": said.terminating_condition, "notes": notes}


class Milestone(TaskData):
    """A call, something that the agent says, or a state: in words, or as an oracle has it."""

    id: Text
    tool: Text | None = None
    arguments: dict[Text, JsonData] = Field(default={})
    says: Text | None = None
    state: Text | StateAssertion | None = None

    @model_validator(mode="after")
    def _one(self) -> Self:
        if sum(value is not None for value in (self.tool, self.says, self.state)) != 1:
            raise ValueError("say one of tool, says and state")
        if self.arguments and self.tool is None:
            raise ValueError("arguments are of a tool")
        return self

    def subgoal(self) -> _Subgoal:
        """The clause of its note."""
        if self.tool is not None:
            return _Subgoal(self.id, f"calls {_call(self.tool, self.arguments)}")
        if isinstance(self.state, StateAssertion):
            return _Subgoal(self.id, _state(self.state), STATE)
        return (
            _Subgoal(self.id, self.state.rstrip(". "), "")
            if self.state
            else _Subgoal(self.id, f"tells the user: {_json(self.says)}")
        )


class MilestoneTask(TaskData):
    """A task with milestones; `edges`: pairs of their ids, the first of which comes before the second."""

    id: str | int
    instruction: str = ""
    milestones: Annotated[tuple[Milestone, ...], Field(min_length=1)]
    edges: tuple[tuple[Text, Text], ...] = ()

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        ids = [one.id for one in self.milestones]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"milestones: two have the id {twice[0]!r}")
        if unknown := [one for edge in self.edges for one in edge if one not in ids]:
            raise ValueError(f"edges: there is no milestone {unknown[0]!r}")
        graph: TopologicalSorter[str] = TopologicalSorter()
        for before, after in self.edges:
            graph.add(after, before)
        try:
            graph.prepare()
        except CycleError as error:
            raise ValueError(f"edges: a cycle: {' before '.join(error.args[1])}") from None
        return self

    def card(self) -> Mapping[str, Any]:
        """Its card."""
        subgoals = [one.subgoal() for one in self.milestones]
        return {"id": self.id, "instruction": self.instruction, "notes": _notes(subgoals, self.edges)}


@dataclass(frozen=True, slots=True)
class _Subgoal:
    """A sentence without its full stop: how it begins, which is ours, and what is done, which is the task's."""

    id: str
    done: str
    begins: str = AGENT

    @property
    def sentence(self) -> str:
        return f"{self.begins}{self.done}"

    @property
    def earlier(self) -> str:
        return f"after {'it ' if self.begins == AGENT else ''}{self.done}"


def ted_cards(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each card of a file of TED's data, with its place."""
    yield from ((place, task.card()) for place, task in _tasks(file, TedTask))


def milestone_cards(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each card of a file of tasks with milestones, with its place."""
    yield from ((place, task.card()) for place, task in _tasks(file, MilestoneTask))


def oracle_cards(file: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The cards of a file, with notes by the steps, order and state of each oracle, and its place."""
    for card in load_cards([str(file)]).values():
        place = f"{file}: {card.id[:60]!r}"
        if card.notes:
            raise ConfigError(f"{place}: it has notes already")
        if card.oracle is None or not (card.oracle.steps or card.oracle.state):
            raise ConfigError(f"{place}: it has no oracle with steps or state, of which notes could be made")
        subgoals = list(_of_oracle(card.oracle))
        yield place, card.model_dump(exclude_unset=True) | {"notes": _notes(subgoals, card.oracle.order)}


FORMS: Final[Mapping[str, Callable[[Path], Iterator[tuple[str, Mapping[str, Any]]]]]] = {
    "ted": ted_cards,
    "milestones": milestone_cards,
    "oracle": oracle_cards,
}


def imported_cards(file: Path, form: str, max_turns: int | None = None) -> Sequence[TaskCard]:
    """The cards of a file in one of `FORMS`; `max_turns`: of all of them, where it is given.

    Raises:
        ConfigError: the file has another form, or a task of it makes no card; one line with the place.
    """
    cards: dict[str, TaskCard] = {}
    for place, data in FORMS[form](file):
        card = model_of({**data, **({"max_turns": max_turns} if max_turns else {})}, TaskCard, place)
        if card.id in cards:
            raise ConfigError(f"{place}: id: a task before it has the id {card.id[:60]!r}, too")
        cards[card.id] = card
    return list(cards.values())


def _tasks(file: Path, kind: type[Read]) -> Iterator[tuple[str, Read]]:
    if file.suffix.lower() in {".jsonl", ".ndjson"}:
        raise ConfigError(f"{file}: JSON Lines are not read: write the tasks as one JSON list in a .json file")
    data = read_data(file, most_bytes=MOST_BYTES, holds="tasks")
    for number, one in enumerate(data if isinstance(data, list) else [data], 1):
        place = f"{file}: task {number}"
        yield place, model_of(one, kind, place)


def _notes(subgoals: Sequence[_Subgoal], edges: Iterable[Sequence[str]]) -> list[str]:
    """One sentence a subgoal, each edge as "after …"; where two begin alike, their ids come first."""
    by_id = {one.id: one for one in subgoals}
    before: dict[str, list[str]] = {}
    for first, second in edges:
        before.setdefault(second, []).append(by_id[first].earlier)
    begins = [one.sentence[:_ALIKE] for one in subgoals]
    notes = []
    for one in subgoals:
        named = f"{one.id}: " if begins.count(one.sentence[:_ALIKE]) > 1 else ""
        notes.append(f"{named}{', '.join([one.sentence, *before.get(one.id, ())])}.")
    return notes


def _of_oracle(oracle: Oracle) -> Iterator[_Subgoal]:
    for step in oracle.steps:
        exact = {name: value for name, value in step.arguments.items() if step.match.get(name, "equal") == "equal"}
        any_value = [name for name in step.arguments if step.match.get(name) == "present"]
        calls = [_call(step.tool, exact, any_value), *(_call(one.tool, one.arguments) for one in step.equivalent)]
        yield _Subgoal(step.id, f"calls {' or '.join(calls)}")
    for number, assertion in enumerate(oracle.state, 1):
        yield _Subgoal(f"state {number}", _state(assertion), STATE)


def _call(tool: str, arguments: Mapping[str, Any], any_value: Sequence[str] = ()) -> str:
    given = [_json(arguments)] * bool(arguments) + [f"any {name}" for name in any_value]
    return f"{tool} with {' and '.join(given)}" if given else tool


def _state(one: StateAssertion) -> str:
    path = one.path if isinstance(one.path, str) else ".".join(map(str, one.path))
    where = path or "the state itself"
    if one.of is not None:
        where = f"{path or 'the result'} of {_call(one.of.tool, one.of.arguments)}"
    if one.changed is not None:
        return f"{where} changes from {_json(one.changed.old)} to {_json(one.changed.new)}"
    if one.kind == "equals":
        return f"{where} is {_json(one.equals)} at the end"
    added = one.kind == "added"
    return f"{_json(one.added if added else one.removed)} is {'added to' if added else 'removed from'} {where}"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
