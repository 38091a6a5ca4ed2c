"""The configuration section `alerts`: rules, and when people want to be told."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import Annotated, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tracejury.collector.auth.key_file import Project
from tracejury.collector.labels.checks import a_category
from tracejury.schemas.config_base import Profile, Section
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.performance import PerformanceUnit
from tracejury.schemas.rates import Population
from tracejury.schemas.taxonomy import TRAIL
from tracejury.schemas.text.moments import parse_length

from .schedule import AlertSchedule, minutes_of_day, minutes_of_hours, zone_of

MINUTE: Final = 60_000_000_000
LEAST_MINUTES: Final = 10
MOST_MINUTES: Final = 7 * 24 * 60
LONGEST: Final = 30 * 24 * 3600
"""Seconds that a duration may be allowed."""
_KINDS: Final = ("pattern", "rate", "errors", "latency", "cost", "judging_lag", "spend")
_CLOCK: Final = re.compile(r"(?:[01]\d|2[0-3]):[0-5]\d")
Severity = Literal["LOW", "MEDIUM", "HIGH"]


def _a_window(value: str) -> str:
    if not parse_length("5m") <= parse_length(value) <= parse_length("30d"):
        raise ValueError("a time from 5m to 30d can be looked at")
    return value


def _a_time_of_day(value: str) -> str:
    if value and not _CLOCK.fullmatch(value):
        raise ValueError("write a time of the day such as 08:00")
    return value


def _hours(value: str) -> str:
    begin, dash, end = value.partition("-")
    if value and not (dash and begin != end and _CLOCK.fullmatch(begin) and _CLOCK.fullmatch(end)):
        raise ValueError("write two different times of the day such as 22:00-07:00")
    return value


def _a_zone(value: str) -> str:
    try:
        zone_of(value)
    except (KeyError, ValueError, OSError):  # a KeyError: unknown; else it is no name at all
        raise ValueError(
            "this system knows no such time zone: use a name such as Europe/Berlin, or install tzdata"
        ) from None
    return value


def _a_category(value: str) -> str:
    taxonomy, slash, category = value.partition("/")
    if not value or (slash and taxonomy != TRAIL):
        return value
    try:
        return a_category(TRAIL, category if slash else value)
    except ConfigError as error:
        raise ValueError(f"{error}; one of your own is written with its taxonomy: own/My Category") from None


Category = Annotated[str, AfterValidator(_a_category)]
"""Of TRAIL, or with its taxonomy."""
Window = Annotated[str, AfterValidator(_a_window)]
"""The length of the time that a figure is of."""


class PatternRule(Section):
    """Patterns of errors whose state by counting is one of these, as the page Issues shows them."""

    states: Annotated[tuple[Literal["new", "back", "more frequent"], ...], Field(min_length=1)] = (
        "new",
        "back",
        "more frequent",
    )
    """The states that are told, each once for a pattern until it is gone, rarer, resolved or ignored."""
    service: str = ""
    """Only of this service; "" is all."""
    severity: Severity = "LOW"
    """The least severity."""
    profile: Profile = ""
    """strict, balanced, recall or the least confidence; "" is that of each trace."""


class RateRule(Section):
    """The share of judged agent runs with an error, with the certainty that its interval gives."""

    above: Annotated[float, Field(ge=0, lt=1)]
    """The share that is allowed: 0.02 is 2 %."""
    certainty: Annotated[float, Field(gt=0.5, lt=1)] = 0.999
    """How sure it must be at one look that the share is above it, or below it again: of one side, so 0.95 asks for the
    low end of the 90 % interval, 0.975 for that of the 95 % interval which pages show. There are 1,440 looks a day:
    docs/alerts.md says how often chance alone passes which certainty."""
    over: Window = "1h"
    """The time that is looked at."""
    least: Annotated[int, Field(ge=1)] = 30
    """With fewer judged runs than this in it nothing is said."""
    severity: Severity = "LOW"
    """Errors of at least this severity count."""
    service: str = ""
    """Only of this service; "" is all of them together."""
    by_service: bool = False
    """Each service has a figure and an alert of its own: the hundred with the highest share."""
    agent: str = ""
    """Only runs of this agent."""
    population: Population | None = None
    """Whose errors count, in the runs that they judged: detectors (all runs), judges, or both (runs that LLM judges
    looked at, and errors of either); null is both where LLM judges looked at anything in that time, else detectors."""
    judge: str = ""
    """Only errors that this detector or judge saw, in runs that it judged."""
    category: Category = ""
    """Only errors of this category: of TRAIL, or with its taxonomy, such as own/My Category."""
    profile: Profile = ""
    """strict, balanced, recall or the least confidence; "" is that of each trace."""


class ErrorsRule(Section):
    """Each new error; those of one interval are one message."""

    severity: Severity = "HIGH"
    """The least severity."""
    service: str = ""
    """Only of this service; "" is all."""
    judge: str = ""
    """Only those that this detector or judge saw."""
    category: Category = ""
    """Only of this category: of TRAIL, or with its taxonomy, such as own/My Category."""
    profile: Profile = ""
    """strict, balanced, recall or the least confidence; "" is that of each trace."""


class LatencyRule(Section):
    """A percentile of the durations of agent runs or calls."""

    above_seconds: Annotated[float, Field(gt=0, le=LONGEST)]
    """The duration that is allowed."""
    percentile: Literal[50, 95, 99] = 95
    """Which percentile."""
    of: PerformanceUnit = PerformanceUnit.RUN
    """What is timed: run, llm_call or tool_call."""
    over: Window = "1h"
    """The time that is looked at."""
    least: Annotated[int, Field(ge=1)] = 30
    """With fewer of them in it nothing is said."""
    service: str = ""
    """Only of this service; "" is all."""
    agent: str = ""
    """Only of this agent."""
    model: str = ""
    """Only with this model."""
    tool: str = ""
    """Only of this tool."""


class CostRule(Section):
    """What agents' LLM calls cost, in US dollars, by recorded prices or those of the section prices."""

    above_usd: Annotated[float, Field(gt=0)]
    """The cost that is allowed."""
    over: Window = "1d"
    """The time that is looked at."""
    service: str = ""
    """Only of this service; "" is all."""
    agent: str = ""
    """Only of this agent."""
    model: str = ""
    """Only of this model."""


class JudgingLagRule(Section):
    """How long the oldest trace that no judge has seen waits."""

    above_seconds: Annotated[float, Field(gt=0, le=LONGEST)] = 300.0
    """The time that is allowed."""


class SpendRule(Section):
    """What LLM judges have spent, as a part of a cap of the section judges.budget."""

    cap: Literal["usd_per_hour", "usd_per_day", "tokens_per_hour", "tokens_per_day", "unpriced_tokens_per_day"] = (
        "usd_per_day"
    )
    """The cap's name, such as usd_per_day or tokens_per_hour."""
    above: Annotated[float, Field(gt=0, le=1)] = 0.9
    """The part of it that is allowed: 0.9 is 90 %."""


class AlertRule(Section):
    """A rule: what it looks at (one of pattern, rate, errors, latency, cost, judging_lag, spend), and who is told."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,63}$")]
    """Its name in messages, metrics and the store; a new name is a new rule, which has told nobody yet."""
    channels: Annotated[tuple[str, ...], Field(min_length=1)]
    """Names of the section channels."""
    project: Project = ""
    """The project that it looks at; "" is the default one."""
    every_minutes: Annotated[float, Field(ge=LEAST_MINUTES, le=MOST_MINUTES)] = LEAST_MINUTES
    """The least time between two messages of the rule: 10 minutes to a week."""
    urgency: Severity = "HIGH"
    """The severity that channels are told of rate, latency, cost, judging_lag and spend; pagers go by it."""
    in_quiet_hours: bool = False
    """Tell at once in quiet hours, too: for what wakes somebody."""
    only_digest: bool = False
    """Tell nothing at once: all of it waits for the next digest."""
    pattern: PatternRule | None = None
    rate: RateRule | None = None
    errors: ErrorsRule | None = None
    latency: LatencyRule | None = None
    cost: CostRule | None = None
    judging_lag: JudgingLagRule | None = None
    spend: SpendRule | None = None

    @model_validator(mode="after")
    def _is_about_one_thing(self) -> Self:
        if sum(getattr(self, name) is not None for name in _KINDS) != 1:
            raise ValueError(f"a rule looks at one thing: give one of {', '.join(_KINDS)}")
        if self.only_digest and self.in_quiet_hours:
            raise ValueError("what waits for the digest is not told in quiet hours: leave one of them out")
        return self

    @property
    def every(self) -> int:
        """The least time between two messages (nanos)."""
        return round(self.every_minutes * MINUTE)

    @property
    def kind(self) -> str:
        """The key that says what it looks at."""
        return next(name for name in _KINDS if getattr(self, name) is not None)

    @property
    def on(self) -> RuleKind:
        """What it looks at."""
        found: RuleKind = getattr(self, self.kind)
        return found


RuleKind = PatternRule | RateRule | ErrorsRule | LatencyRule | CostRule | JudgingLagRule | SpendRule


class AlertsConfig(Section):
    """Rules, evaluated once a minute, and when people are told (docs/alerts.md)."""

    quiet_hours: Annotated[str, AfterValidator(_hours)] = ""
    """Hours such as 22:00-07:00 in which rules tell nobody, but those with in_quiet_hours; "" is none."""
    time_zone: Annotated[str, AfterValidator(_a_zone)] = "UTC"
    """The time zone of quiet hours and digest, such as Europe/Berlin."""
    digest: Annotated[str, AfterValidator(_a_time_of_day)] = ""
    """When, each day, what was held back is told in one message; "" is at the end of quiet hours."""
    rules: tuple[AlertRule, ...] = ()
    """The rules."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        names = [rule.name for rule in self.rules]
        if twice := [name for name in names if names.count(name) > 1]:
            raise ValueError(f"two rules are called {twice[0]}")
        if any(rule.only_digest for rule in self.rules) and not (self.digest or self.quiet_hours):
            raise ValueError("rules wait for the digest (only_digest), and it has no time: give digest, such as 08:00")
        if self.digest and self.schedule.is_quiet_at(minutes_of_day(self.digest)):
            raise ValueError("the digest comes in quiet hours: give a time outside of them")
        return self

    @property
    def schedule(self) -> AlertSchedule:
        """When people are told."""
        quiet = minutes_of_hours(self.quiet_hours) if self.quiet_hours else None
        return AlertSchedule(self.time_zone, quiet, minutes_of_day(self.digest) if self.digest else None)

    def misfits(self, channels: Collection[str], caps: Collection[str]) -> Iterator[str]:
        """Rules that name a channel or a cap that there is not, and those whose filters mean nothing; a line each."""
        for number, rule in enumerate(self.rules):
            for channel in rule.channels:
                if channel not in channels:
                    known = ", ".join(channels) or "none"
                    yield f"alerts.rules.{number}.channels: no channel {channel[:40]!r}; there are {known}"
            if rule.latency and rule.latency.tool and rule.latency.of is not PerformanceUnit.TOOL_CALL:
                yield f"alerts.rules.{number}.latency.tool: only tool calls are of a tool: set of to tool_call"
            if rule.spend and rule.spend.cap not in caps:
                known = ", ".join(caps) or "none"
                yield f"alerts.rules.{number}.spend.cap: judges.budget sets no {rule.spend.cap}; the caps are {known}"
