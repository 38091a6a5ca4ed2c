"""Packs: `pack.yaml` as it is read, settings of users, and a pack ready for use."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Self

from pydantic import Field, ValidationError, create_model, model_validator

from tracejury.judges.checks.check_types import Check, ItemSource
from tracejury.judges.checks.formula import Formula
from tracejury.judges.llm.criteria_types import Data, Name, Text
from tracejury.judges.llm.data_files import problems_of
from tracejury.schemas.config_base import Section

from .task_cards import ServiceTerms

Variants = dict[str, dict[str, dict[str, dict[str, Any]]]]
"""By setting, by choice (the first is the default), by check: the keys of the check that differ."""
_FIXED = frozenset({"name", "measure", "subject"})
_SUBJECTS = frozenset({"exchange", "session"})


class PackSettings(Section):
    """What users may set of any pack; the variants of a pack are further keys."""

    mode: Literal["together", "separate"] = "together"
    """Checks of one subject in one call, or each item in a call of its own."""
    policies_at: Literal["session", "exchange"] = "session"
    """When policies are judged: at the close of the session, or after each exchange, too."""
    checks: tuple[str, ...] = ()
    """Names of the checks that are asked; none named: all."""
    services: dict[str, ServiceTerms] = Field(default={})
    """Policies and `done` by `service.name`; `*` is each service that is not named."""

    def asks_early(self, check: Check) -> bool:
        """Whether a check of sessions is asked of each exchange, too."""
        return check.items is ItemSource.ORACLE or (
            check.items is ItemSource.POLICIES and self.policies_at == "exchange"
        )

    def terms(self, service: str) -> ServiceTerms | None:
        """What holds for sessions of a service."""
        return self.services.get(service, self.services.get("*"))


class PackFile(Data):
    """`pack.yaml`. `definitions`: words that its checks use, for people."""

    version: Annotated[int, Field(ge=1)]
    name: Name
    title: Text
    description: Text
    definitions: dict[Text, Text] = Field(default={})
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]
    variants: Variants = Field(default={})

    @model_validator(mode="after")
    def _sound(self) -> Self:
        for what, names in (("name", [c.name for c in self.checks]), ("measure", [c.measure for c in self.checks])):
            if twice := sorted({n for n in names if names.count(n) > 1}):
                raise ValueError(f"checks: two have the {what} {twice[0]!r}")
        self.chosen({})
        for setting, choices in self.variants.items():
            if setting in PackSettings.model_fields or not setting.isidentifier() or not choices:
                raise ValueError(f"variants.{setting}: a name that no other setting has, and at least one choice")
            for choice in choices:
                self.chosen({setting: choice})
        return self

    def chosen(self, choices: Mapping[str, str]) -> tuple[Check, ...]:
        """The checks as the choices of variants (by setting) have them.

        Raises:
            ValueError: a variant is of no check, or makes one unsound; a check asks of what packs do not judge.
        """
        checks = {check.name: check for check in self.checks}
        for setting, choice in choices.items():
            for name, changes in self.variants[setting][choice].items():
                place = f"variants.{setting}.{choice}.{name}"
                if name not in checks or _FIXED & changes.keys():
                    raise ValueError(f"{place}: there is no such check, or it changes {', '.join(sorted(_FIXED))}")
                try:
                    checks[name] = Check.model_validate(checks[name].model_dump() | changes)
                except ValidationError as error:
                    raise ValueError(f"{place}: {problems_of(error)}") from None
        if ours := [c.name for c in checks.values() if c.subject not in _SUBJECTS or c.items is ItemSource.FINDINGS]:
            raise ValueError(f"checks: {ours[0]!r} must ask of an exchange or a session, and not of findings")
        return tuple(checks.values())

    def settings_model(self) -> type[PackSettings]:
        """The settings of this pack: those of any, and its variants."""
        fields: dict[str, Any] = {
            setting: (Literal.__getitem__(tuple(choices)), next(iter(choices)))
            for setting, choices in self.variants.items()
        }
        return create_model("PackSettings", __base__=PackSettings, **fields)


@dataclass(frozen=True, slots=True)
class Pack:
    """A pack as it is set: its checks by the variants chosen, and the formula of each check, by name."""

    version: int
    name: str
    title: str
    description: str
    definitions: Mapping[str, str]
    checks: tuple[Check, ...]
    formulas: Mapping[str, Formula]
    settings: PackSettings

    def check(self, name: str) -> Check:
        """The check of that name.

        Raises:
            KeyError: there is none.
        """
        return {check.name: check for check in self.checks}[name]

    def version_text(self, check: str) -> str:
        """Whatever beside the check's own texts decides its value, for its version: formulas change with the pack's."""
        return f"{self.name} {self.version} {check}"
