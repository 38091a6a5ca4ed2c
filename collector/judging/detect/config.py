"""The configuration section `detectors`: which rules are switched off or trusted less, and where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from tracejury.judges.records import FAMILY_NAMES
from tracejury.judges.registry import default_suite
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.schemas.config_base import Section

ServiceName = Annotated[str, Field(min_length=1)]


class RuleEntry(Section):
    """A rule or family with what is set for it."""

    rule: str
    """Name of a rule (`tracejury explain` lists them), or of a family that shares a record, such as `identical-*`."""
    enabled: bool = True
    """False: the rule reports nothing; what it found before is retracted in the background after the start."""
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    """The highest confidence that its findings may have, from 0 to 1."""
    services: tuple[ServiceName, ...] = ()
    """Names of the services for which this holds; empty: all."""

    @model_validator(mode="after")
    def _changes_something(self) -> Self:
        if self.enabled and self.confidence == 1:
            raise ValueError("set `enabled: false` or a `confidence` below 1, else the entry changes nothing")
        return self

    def setting(self) -> RuleSetting:
        """The same as judges take it."""
        return RuleSetting(self.rule, self.confidence if self.enabled else None, frozenset(self.services))


class DetectorsConfig(Section):
    """The detectors."""

    rules: tuple[RuleEntry, ...] = ()
    """Rules that are switched off, or whose confidence is lowered; of several entries the strictest counts."""

    def settings(self) -> RuleSettings:
        """The same as judges take it."""
        return RuleSettings(tuple(entry.setting() for entry in self.rules))

    def misfits(self) -> Iterator[tuple[str, str]]:
        """The key of each rule that does not exist, and what is wrong with it."""
        if not self.rules:
            return
        suite = default_suite()
        # A package that cannot be loaded just now may be named: it is reported with every trace.
        known = {d.name for d in suite.detectors} | {name for name, _ in suite.unloaded} | FAMILY_NAMES
        for number, entry in enumerate(self.rules):
            if entry.rule not in known:
                yield (
                    f"detectors.rules.{number}.rule",
                    f"there is no rule or family {entry.rule[:60]!r}; `tracejury explain` lists the rules",
                )
