"""Patterns of errors: what is asked, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import PatternLabel, PatternMark
from tracejury.schemas.rates import Estimate, Population
from tracejury.schemas.taxonomy import Severity

WINDOW: Final = 7
"""Periods of the time that is looked at; as long before and three times more is what it is compared with."""
PERIODS: Final = 5 * WINDOW

HOUR: Final = 3_600_000_000_000
"""Nanoseconds."""


class PatternState(StrEnum):
    """What is told of a pattern by counting."""

    NEW = "new"
    ONGOING = "ongoing"
    RARER = "rarer"
    MORE_FREQUENT = "more frequent"
    GONE = "gone"
    BACK = "back"


STATES: Final = (*PatternState, *PatternMark, "all")
"""States that a list of patterns may be asked for."""


@dataclass(frozen=True, slots=True)
class PatternQuery:
    """Patterns of the errors in [`since`, `until`) (unix nanos, of arrival), and of those in the time before.

    `service`: of one service, "" of all; `pattern`: of that id alone; `state`: by name, "" all but what people have
    ignored or resolved, "all" those, too. `profile`: as elsewhere.
    """

    since: int
    until: int
    service: str = ""
    pattern: str = ""
    state: str = ""
    profile: str = ""
    simulated: bool = False
    limit: int = 100

    def in_whole_hours(self) -> PatternQuery:
        """With times from one full hour to another, where a period has an hour or more.

        Within an hour the same periods are looked at whenever somebody asks, so what was counted of them serves again.
        """
        if self.step < HOUR:
            return self
        return replace(self, since=self.since // HOUR * HOUR, until=-(-self.until // HOUR) * HOUR)

    @property
    def step(self) -> int:
        """Nanoseconds of a period."""
        return max((self.until - self.since) // WINDOW, 1)

    @property
    def first(self) -> int:
        """The beginning of what is looked at (unix nanos)."""
        return max(self.until - PERIODS * self.step, 0)

    @property
    def asked_from(self) -> int:
        """The beginning of the periods of which the shares are (unix nanos)."""
        return self.first + (PERIODS - WINDOW) * self.step


@dataclass(frozen=True, slots=True)
class Since:
    """Since when a pattern is seen, or its rate is another: a version, or a time (unix nanos); the likeliest one.

    `version`: "" where a time explains it better. `first`, `last`: the bounds of the 95 % interval, versions or times.
    """

    version: str
    time: int
    first: str | int
    last: str | int


@dataclass(frozen=True, slots=True)
class PatternRow:
    """A pattern as lists show it.

    `state`: by counting and by what people say; `hits` of `units` runs in the time asked for, as far as `population`
    judged them; `share` of them, weighted, with `before` in the time that it is compared with.
    `quiet`: runs since it was last seen; `needed`: so many without it say that it is gone, None where nothing tells.
    `since`: None, it cannot be told. `series`: the share in each period. `label`: what a person said of it last.
    `p_value`: that the share has changed, not corrected for the number of patterns. `calibrated`: the share of runs
    with an error of it that people confirm; `uncalibrated`: why there is none, where it was asked for.
    """

    id: str
    service: str
    state: str
    severity: Severity
    hits: int
    units: int
    population: Population
    share: Estimate | None
    before: Estimate | None
    p_value: float
    quiet: int
    needed: int | None
    since: Since | None
    series: Sequence[float]
    versions: Sequence[str]
    agents: Sequence[str]
    tools: Sequence[str]
    last_seen: int
    examples: Sequence[ErrorSummary] = ()
    label: PatternLabel | None = None
    labels: Sequence[PatternLabel] = ()
    calibrated: Estimate | None = None
    uncalibrated: str = ""

    @property
    def kind(self) -> str:
        """The title of its errors, "" where none is at hand."""
        return self.examples[0].title if self.examples else ""

    @property
    def about(self) -> str:
        """The tool that they are about, else the agent, "" for none."""
        return next(iter((*self.tools, *self.agents)), "")

    @property
    def marked(self) -> PatternMark | None:
        """What a person said of it last."""
        return self.label.mark if self.label else None


@dataclass(frozen=True, slots=True)
class PatternAnswer:
    """Patterns, the most harmful first; `left`: beyond the limit; `looked_at`: all, whose number tests account for.

    `hidden`: those that are not listed because people have resolved or ignored them.
    """

    since: int
    until: int
    rows: Sequence[PatternRow]
    left: int
    looked_at: int
    hidden: int
