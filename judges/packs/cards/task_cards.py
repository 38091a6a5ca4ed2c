"""Task cards: what a session was to do, which policies hold, and how it shows that the task is done."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Final, Self

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    StringConstraints,
    model_validator,
)

from tracejury.judges.llm.criteria_types import Text
from tracejury.judges.llm.data_files import model_of, read_data
from tracejury.schemas.errors import ConfigError

from .notes import Notes
from .oracle import Oracle
from .task_data import TaskData
from .user_turns import MOST_TURNS, Carries, UserTurns, check_carries

MOST_BYTES: Final = 16 * 1024 * 1024
"""A larger file holds no task cards."""
_SUFFIXES: Final = (".yaml", ".yml", ".json")


def _as_text(value: Any) -> Any:
    """Ids that are numbers in the file are text in attributes."""
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Word = Annotated[
    str, StringConstraints(strip_whitespace=True, max_length=100, pattern=r"^\P{C}*$"), BeforeValidator(_as_text)
]


class Done(TaskData):
    """The attribute that shows whether the task is done."""

    attribute: Text
    """Name of an attribute of a span, or of its resource."""
    equals: StrictStr | StrictBool | StrictInt | StrictFloat
    """Its value when the task is done."""


class Terms(TaskData):
    """Policies that hold, and how the task shows to be done: of a service, or a task."""

    policies: tuple[Text, ...] = ()
    """One rule that the agents must keep each."""
    done: Done | None = None
    """How the task shows to be done."""


class ServiceTerms(Terms):
    """What holds for all sessions of a service."""

    writes: tuple[Text, ...] = ()
    """Names of the tools that change something; without any, oracles guess by the verbs of names."""


class TaskCard(Terms):
    """One task; what else packs need of a task are further keys here."""

    id: Annotated[str, StringConstraints(min_length=1, max_length=500), BeforeValidator(_as_text)]
    """As sessions name it in an attribute."""
    difficulty: Word = ""
    """How hard it is, a word of one's own: sessions can be told apart by it, as by the next two."""
    domain: Word = ""
    """What it is about."""
    mode: Word = ""
    """The kind of task, or of run."""
    instruction: Annotated[str, StringConstraints(max_length=20_000)] = ""
    """What the user was to get done."""
    stop: Annotated[str, StringConstraints(max_length=20_000)] = ""
    """When a simulated user ends the conversation, though not everything was done."""
    agent: Annotated[str, StringConstraints(max_length=20_000)] = ""
    """What the agent is, as its users know."""
    notes: Notes = ()
    """What must happen, a subgoal each (docs/ted.md)."""
    max_turns: Annotated[int, Field(ge=1, le=MOST_TURNS)] | None = None
    """Exchanges that the task may take; later ones are not judged by how far it came."""
    oracle: Oracle | None = None
    """What calls and states show that the task was done (docs/rut.md)."""
    user_turns: UserTurns = Field(default={})
    """What a simulated user says, by behaviour (docs/rut.md)."""
    carries: Carries = ()
    """By turn of the user, the ids of the oracle's steps that it asks for."""

    @cached_property
    def hash(self) -> str:
        """Of what judges may see of it: other sessions of a card that changed in this are judged again."""
        seen = self.model_dump_json(exclude={"difficulty", "domain", "mode", "stop", "agent", "user_turns"})
        return hashlib.blake2b(seen.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()

    @property
    def most_exchanges(self) -> int | None:
        """Exchanges that the task may take, None for any number; progress by notes needs a number."""
        return self.max_turns or (MOST_TURNS if self.notes else None)

    @model_validator(mode="after")
    def _carried(self) -> Self:
        if self.carries:
            turns = len(next(iter(self.user_turns.values()), ()))
            check_carries(self.carries, turns, (step.id for step in self.oracle.steps) if self.oracle else ())
        return self


SHOWN_KEYS: Final = frozenset({"instruction", "policies", "requirements"})
"""What checks may show of a task beside their items."""


@dataclass(frozen=True, slots=True)
class SessionTerms:
    """What holds for a session: the card of its task, and what is set for its service.

    `persona`: of its simulated user, "" for none.
    """

    card: TaskCard | None = None
    service: ServiceTerms | None = None
    persona: str = ""

    @property
    def policies(self) -> tuple[str, ...]:
        """The policies of the card, then those of the service, each once and on one line."""
        stated = (policy for terms in (self.card, self.service) if terms is not None for policy in terms.policies)
        return tuple(dict.fromkeys(" ".join(policy.split()) for policy in stated))

    def shown(self, key: str) -> str:
        """What holds for the session under one of `SHOWN_KEYS`, "" for nothing."""
        if key == "policies":
            return "\n".join(self.policies)
        if key == "requirements":
            return self.card.oracle.requirements if self.card and self.card.oracle else ""
        return self.card.instruction if self.card else ""


def load_cards(paths: Iterable[str]) -> Mapping[str, TaskCard]:
    """The task cards of files and folders, by id. A file holds one card, or a list.

    Raises:
        ConfigError: what is wrong in which file, in one line.
    """
    found: dict[str, tuple[TaskCard, str]] = {}
    for file in (file for path in paths for file in _files(path)):
        for place, card in _cards(file):
            if card.id in found:
                raise ConfigError(f"{place}: id: {found[card.id][1]} has a card {card.id[:60]!r} already")
            found[card.id] = (card, str(file))
    return {name: card for name, (card, _) in found.items()}


def _files(path: str) -> list[Path]:
    place = Path(path)
    if not place.is_dir():
        return [place]
    files = sorted(file for file in place.iterdir() if file.suffix in _SUFFIXES)
    if not files:
        raise ConfigError(f"{place}: a folder of task cards needs at least one .yaml, .yml or .json file")
    return files


def _cards(file: Path) -> Iterator[tuple[str, TaskCard]]:
    """Each card, with its place."""
    data = read_data(file, most_bytes=MOST_BYTES, holds="task cards")
    if not isinstance(data, list):
        yield str(file), model_of(data, TaskCard, str(file))
        return
    for number, one in enumerate(data, 1):
        place = f"{file}: card {number}"
        yield place, model_of(one, TaskCard, place)
