"""The configuration section `detectors`: which rules are switched off or trusted less, and where."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Annotated, Self

from pydantic import Field, model_validator

from tracejury.judges.records import FAMILY_NAMES
from tracejury.judges.registry import default_suite
from tracejury.judges.rule_settings import RuleSetting, RuleSettings
from tracejury.judges.runaways import FACTOR, FIXED, MEASURES, Bounds, RunUsage
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


Most = Annotated[float, Field(gt=0)]


class RunawayConfig(Section):
    """When a run is far beyond the usual; below 30 turns, a million tokens, 10 minutes and 1 USD none is."""

    factor: Annotated[float, Field(ge=1)] = FACTOR
    """Times what nine in ten earlier runs of its agent used that a run may use."""
    least_runs: Annotated[int, Field(ge=1)] = 20
    """Earlier runs of its agent from which that is read; with fewer, the figures below hold."""
    turns: Most | None = FIXED.turns
    """Turns of a run; null: any number."""
    tokens: Most | None = FIXED.tokens
    """Tokens, sent and written, of a manager's run with all that it started; null: any number."""
    seconds: Most | None = FIXED.seconds
    """Seconds of models and tools at work, likewise; null: any number."""
    usd: Most | None = FIXED.usd
    """US dollars, likewise; null: any amount."""

    def bounds(self) -> Bounds:
        """What a run may use where too few of its agent are known."""
        return Bounds(RunUsage(*(math.inf if (most := getattr(self, name)) is None else most for name in MEASURES)))


class DetectorsConfig(Section):
    """The detectors."""

    runaway: RunawayConfig = RunawayConfig()
    """When a run is far beyond the usual."""

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
