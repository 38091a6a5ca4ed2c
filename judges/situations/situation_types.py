"""The situations as `situations.yaml` has them, by the three axes that tell them apart."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Annotated, Final, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from tracejury.judges.llm.criteria_types import Data, Name, Text
from tracejury.judges.llm.data_files import read_model


class Axes(NamedTuple):
    """Of a session: the user, its tool work, and the agent's conduct."""

    user: Literal["satisfied", "dissatisfied"]
    tools: Literal["correct", "agent-error", "tool-error"]
    conduct: Literal["appropriate", "inappropriate"]


GOOD = Axes("satisfied", "correct", "appropriate")
"""The only axes of a good session."""
UNSURE: Final = frozenset({"bad-params-aware", "bad-input-data", "wrong-action-silent", "trusted-wrong-fact"})
"""Situations that people could not tell apart in the paper, or that no conversation shows: never silver."""


class Situation(Data):
    """One situation of a session, or of those that have no name but for their axes."""

    name: Name
    user: Literal["satisfied", "dissatisfied"]
    tools: Literal["correct", "agent-error", "tool-error"]
    conduct: Literal["appropriate", "inappropriate"]
    text: Text

    @property
    def axes(self) -> Axes:
        """What tells it apart."""
        return Axes(self.user, self.tools, self.conduct)

    @property
    def good(self) -> bool:
        """Whether such a session is good on the whole."""
        return self.axes == GOOD


class _File(Data):
    situations: Annotated[tuple[Situation, ...], Field(min_length=1)]
    others: Annotated[tuple[Situation, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        bad = {situation.axes for situation in self.situations if not situation.good}
        if len(self.others) != len(bad) or {other.axes for other in self.others} != bad:
            raise ValueError("others: one for each bad combination of axes")
        return self


@cache
def named_situations() -> tuple[Situation, ...]:
    """The 26 of the paper, in its order."""
    return _read().situations


@cache
def all_situations() -> Mapping[str, Situation]:
    """By name, the 26 and one other for each bad combination of axes."""
    return {situation.name: situation for situation in (*_read().situations, *_read().others)}


def situation_names() -> tuple[str, ...]:
    """Of all that a session may be labelled with."""
    return tuple(all_situations())


@cache
def _read() -> _File:
    return read_model(resources.files(__package__) / "situations.yaml", _File)
