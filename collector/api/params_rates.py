"""The parameters of error rates, and of what they are compared to."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final, Literal, TypeVar

from fastapi import Request
from pydantic import Field

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.figure_filters import RATE_FILTERS
from tracejury.schemas.filters import pairs
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.rates import By, Population, RateQuery, Unit
from tracejury.schemas.text.moments import parse_length

from .params import MAX_LIMIT, Params, Profile, Simulated, Since, Text, late_moment, moment, with_filters

DEFAULT_SINCE: Final = "1d"
PERIOD: Final = ".."
REPEATED: Final = frozenset(one.name for one in RATE_FILTERS if one.repeated)

Asked = TypeVar("Asked", RateQuery, MeasureQuery)

Step = Annotated[Text, Field(description="A length of time: 15m, 1h, 1d; points in time are its multiples")]


@with_filters(*RATE_FILTERS)
class _RateFilters(Params):
    by: By | Literal[""] = ""
    unit: Annotated[Unit, Field(description="What has at least one error, or none")] = Unit.RUN
    population: Annotated[
        Population | Literal[""],
        Field(description="Whose errors count; by default both where LLM judges looked at anything, else detectors"),
    ] = ""
    step: Step = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a day")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    profile: Profile = ""
    simulated: Simulated = False


class RatesParams(_RateFilters):
    """Which rates: of what, when, told apart by what, and of which runs and errors only."""

    calibrated: Annotated[bool, Field(description="Also the shares corrected by human labels")] = False
    limit: Annotated[
        int, Field(ge=1, le=MAX_LIMIT, description="Groups at most, the worst first; `left` says how many more")
    ] = 100

    def query(self, now: int) -> RateQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        given = {"by", "unit", "population", "step", "since", "until", "to"}
        told: dict[str, Any] = self.model_dump(mode="json", exclude=given)
        return RateQuery(
            since=moment("since", self.since or DEFAULT_SINCE, now),
            until=late_moment("until", self.until, now) or now,
            step=step_length(self.step),
            by=self.by or None,
            unit=self.unit,
            population=self.population or None,
            attributes=pairs("attribute", told.pop("attribute")),
            **told,
        )


class CompareParams(RatesParams):
    """Of a comparison."""

    to: Annotated[
        Text,
        Field(description="previous (the time of the same length before), version=X, service=X, or FROM..UNTIL"),
    ] = "previous"

    def queries(self, now: int) -> tuple[RateQuery, RateQuery]:
        """The baseline, and the query that is compared to it. Raises ConfigError on a value that means nothing."""
        query = self.query(now)
        return other_query(query, self.to.strip(), now), query


def other_query(query: Asked, to: str, now: int, name: str = "to") -> Asked:
    """The query that one is compared to, by the parameter `name`. Raises ConfigError on one that means nothing."""
    if to == "previous":
        return replace(query, since=max(0, 2 * query.since - query.until), until=query.since)
    other, equals, value = to.partition("=")
    if equals and value and other in ("version", "service"):
        return replace(query, version=value) if other == "version" else replace(query, service=value)
    since, dots, until = to.partition(PERIOD)
    if dots and since and until:
        return replace(query, since=moment(name, since, now), until=moment(name, until, now))
    raise ConfigError(
        f"{name}: {to[:40]!r} is nothing to compare to: use previous, version=X, service=X or FROM..UNTIL"
    )


def said_once(request: Request) -> None:
    """Raises ConfigError where a parameter stands twice: of two values one would be left out in silence."""
    names = [name for name, _ in request.query_params.multi_items() if name not in REPEATED]
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError(f"{twice[:40]!r} is given more than once: it takes one value")


def step_length(text: str) -> int:
    """The nanos of a step, 0 for none. Raises ConfigError on one that means nothing."""
    if not text:
        return 0
    try:
        length = parse_length(text)
    except ValueError as error:
        raise ConfigError(f"step: {error}") from error
    if length <= 0:
        raise ConfigError("step: must be longer than nothing")
    return length
