"""A set of rubrics as its file has it, which people read, edit and accept."""

from __future__ import annotations

from hashlib import sha256
from importlib.resources.abc import Traversable
from typing import Annotated, Final, Literal, Self

from pydantic import Field, StringConstraints, model_validator

from tracejury.judges.llm.criteria_types import Data, Name
from tracejury.judges.llm.data_files import model_of, read_data

MOST_SET_BYTES: Final = 16 * 1024 * 1024
"""Of the file: it names each session that it was learned from."""
MOST_RUBRICS: Final = 12
"""Of one label; a set of SPUR has 10."""
MOST_AREAS: Final = 5

Label = Literal["good", "bad"]
Method = Literal["scope", "spur"]
SessionKey = tuple[str, str]
"""Service and session id."""
Line = Annotated[str, StringConstraints(min_length=1, max_length=300), Field(strict=True)]


class Area(Data):
    """What sessions are judged by: a name and a sentence."""

    name: Line
    text: Line


class Rubric(Data):
    """One sign of good or bad sessions.

    `name`: the category of its errors. `area`: the name of one of the set's, "" of a set without. `weight`: its
    importance, 1 to 10. `make_or_break`: a single case makes a session bad; the weight is then as if 100. `sessions`:
    those that it was learned from.
    """

    name: Name
    text: Line
    label: Label
    area: str = ""
    weight: Annotated[int, Field(ge=1, le=10, strict=True)] = 5
    make_or_break: Annotated[bool, Field(strict=True)] = False
    sessions: tuple[SessionKey, ...] = ()


class RubricSet(Data):
    """Rubrics for both labels, and how they came about.

    `method`: "scope", or "spur", whose labels stand for satisfied and dissatisfied users. `counts`: of what was read
    and dropped on the way, by name. `learned_from`: all sessions that were read. `accepted_by`: the person who has read
    the rubrics, "" for nobody: `serve` asks no such set.
    """

    version: Literal[1] = 1
    method: Method
    model: str = ""
    prompts: str = ""
    """The version of the prompts that it was learned with."""
    accepted_by: str = ""
    counts: dict[str, Annotated[int, Field(ge=0)]] = Field(default={})
    areas: Annotated[tuple[Area, ...], Field(max_length=MOST_AREAS)] = ()
    rubrics: tuple[Rubric, ...]
    learned_from: tuple[SessionKey, ...] = ()

    @model_validator(mode="after")
    def _sound(self) -> Self:
        names = [rubric.name for rubric in self.rubrics]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"rubrics: two have the name {twice[0]!r}")
        for label in ("good", "bad"):
            found = len(self.of(label))
            if not 1 <= found <= MOST_RUBRICS:
                raise ValueError(f"rubrics: {found} have the label {label}: a set has 1 to {MOST_RUBRICS} of each")
        if odd := [rubric.name for rubric in self.of("good") if rubric.make_or_break]:
            raise ValueError(f"rubrics: {odd[0]!r} cannot be make-or-break: it is good")
        if self.method == "spur" and (odd := [rubric.name for rubric in self.rubrics if rubric.make_or_break]):
            raise ValueError(f"rubrics: {odd[0]!r} cannot be make-or-break: SPUR has no weights")
        return self

    def of(self, label: Label) -> tuple[Rubric, ...]:
        """The rubrics of one label, in the set's order."""
        return tuple(rubric for rubric in self.rubrics if rubric.label == label)

    @property
    def digest(self) -> str:
        """Of whatever decides verdicts: accepting a set changes nothing of it."""
        return sha256(self.model_dump_json(exclude={"accepted_by"}).encode()).hexdigest()[:16]


def read_rubric_set(file: Traversable) -> RubricSet:
    """The set that a file holds, accepted or not.

    Raises:
        ConfigError: what is wrong in it, in one line, with file and key.
    """
    return model_of(read_data(file, most_bytes=MOST_SET_BYTES, holds="a set of rubrics"), RubricSet, str(file))
