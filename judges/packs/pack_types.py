"""Packs: `pack.yaml` as it is read, settings of users, and a pack ready for use."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tracejury.judges.checks.check_types import Check, odd_runs
from tracejury.judges.checks.formula import Formula
from tracejury.judges.llm.criteria_types import Data, Name, Text
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.config_base import Section
from tracejury.schemas.queries.measures import OwnFigures

from .cards.task_cards import SHOWN_KEYS, ServiceTerms

_SUBJECTS = frozenset({"exchange", "session"})

Labels = Callable[[Sequence[ItemAnswer]], tuple[str, ...]]
"""How the user of an exchange behaves by the answers to a check's items; () for an ideal user."""


class PackSettings(Section):
    """What users may set of any pack; a pack may add keys of its own."""

    mode: Literal["together", "separate"] = "together"
    """Checks of one subject in one call, or each item in a call of its own."""
    policies_at: Literal["session", "exchange"] = "session"
    """When policies are judged: at the close of the session, or after each exchange."""
    checks: tuple[str, ...] = ()
    """Names of the checks that are asked; none named: all."""
    runs: Annotated[int, AfterValidator(odd_runs)] | None = None
    """How often each question is asked, an odd number; left out: as often as its check says."""
    early_stop: bool = False
    """Whether further runs are left out once they can change no answer; simulated sessions take all."""
    services: dict[str, ServiceTerms] = Field(default={})
    """Policies and `done` by `service.name`; `*` is each service that is not named."""

    def terms(self, service: str) -> ServiceTerms | None:
        """What holds for sessions of a service."""
        return self.services.get(service, self.services.get("*"))


class PackFile(Data):
    """`pack.yaml`. `definitions`: words that its checks use, for people; `success`: the measure trials go by."""

    version: Annotated[int, Field(ge=1)]
    name: Name
    title: Text
    description: Text
    definitions: dict[Text, Text] = Field(default={})
    success: str | None = None
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _sound(self) -> Self:
        sound_checks(self.checks)
        measures = [check.measure for check in self.checks]
        if self.success is not None and self.success not in measures:
            raise ValueError(f"success: there is no measure {self.success[:40]!r}: use one of {', '.join(measures)}")
        return self


def sound_checks(checks: tuple[Check, ...]) -> None:
    """Raises ValueError for checks of one pack that do not fit each other, or that packs cannot ask."""
    by_name = {check.name: check for check in checks}
    for what, names in (("name", [c.name for c in checks]), ("measure", [c.measure for c in checks])):
        if twice := sorted({n for n in names if names.count(n) > 1}):
            raise ValueError(f"checks: two have the {what} {twice[0]!r}")
    for check in checks:
        if check.subject not in _SUBJECTS:
            raise ValueError(f"checks: {check.name!r} must ask of an exchange or a session, and not of findings")
        if unknown := [key for key in check.shows if key not in SHOWN_KEYS]:
            raise ValueError(f"checks: {check.name}: shows: no key {unknown[0]!r}: use {', '.join(sorted(SHOWN_KEYS))}")
        if unknown := [name for name in check.of if name not in by_name]:
            raise ValueError(f"checks: {check.name}: of: there is no check {unknown[0]!r}")
        if measures := [name for name in check.of if by_name[name].of]:
            raise ValueError(f"checks: {check.name}: of: {measures[0]!r} is a measure of checks itself: name these")
        if len({by_name[name].subject == "exchange" or by_name[name].settles for name in check.of}) > 1:
            raise ValueError(f"checks: {check.name}: of: answers of exchanges and of the session cannot be mixed")


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as it is set: its checks, and the formula of each, by name.

    `labels`: by check of exchanges, how their users behave; `figures`: its own ones of trials. `notes`: by check,
    whatever settings decide of it beside its texts, for its version.
    """

    version: int
    name: str
    title: str
    description: str
    definitions: Mapping[str, str]
    checks: tuple[Check, ...]
    formulas: Mapping[str, Formula]
    settings: PackSettings
    success: str | None = None
    labels: Mapping[str, Labels] = field(default_factory=dict)
    figures: OwnFigures | None = None
    notes: Mapping[str, str] = field(default_factory=dict)

    def check(self, name: str) -> Check:
        """The check of that name.

        Raises:
            KeyError: there is none.
        """
        return {check.name: check for check in self.checks}[name]

    def version_text(self, check: str) -> str:
        """Whatever beside the check's own texts decides its value, for its version: formulas change with the pack's."""
        return " ".join(filter(None, (self.name, str(self.version), check, self.notes.get(check))))


@dataclass(frozen=True, slots=True)
class Configured:
    """What the settings of a pack make of its checks. `notes`: see `Pack`."""

    checks: tuple[Check, ...]
    formulas: Mapping[str, Formula]
    notes: Mapping[str, str] = field(default_factory=dict)
