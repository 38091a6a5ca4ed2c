"""The arguments of the tools, a model each: the filters of the API, smaller limits, unknown arguments refused."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal, Self, TypeVar

from pydantic import Field, ValidationError, model_validator

from tracejury.collector.api.params import Cursor, Params, Profile, Simulated, Since, Text, with_filters
from tracejury.judges.llm.problems import place_of, told
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.figure_filters import RATE_FILTERS
from tracejury.schemas.filters import ERROR_FILTERS, TRACE_FILTERS, named
from tracejury.schemas.queries.patterns import STATES
from tracejury.schemas.rates import By, Unit
from tracejury.schemas.taxonomy import Severity

MOST: Final = 50
"""Items of an answer."""
MOST_RANKED: Final = 1_000
"""Items of a list by rank, on all its pages."""

Arguments = TypeVar("Arguments", bound=Params)

Items = Annotated[int, Field(ge=1, le=MOST, description="How many items at most")]
AnId = Annotated[Text, Field(min_length=1)]
TraceId = Annotated[AnId, Field(description="The id of a trace, or its beginning")]
Until = Annotated[Text, Field(description="Before this point in time, as in `since`")]


@with_filters(*named(ERROR_FILTERS, "trace", "service", "agent", "judge", "category", "severity", "pattern"))
class _ErrorFilters(Params):
    pass


class ListErrors(_ErrorFilters):
    """Which errors."""

    span: Annotated[Text, Field(description="Only errors that name this span")] = ""
    decisive: Annotated[bool, Field(description="Only those that decided the wrong outcome of their trace")] = False
    since: Since = ""
    profile: Profile = ""
    limit: Items = 10
    cursor: Cursor = ""


class Why(Params):
    """Which error."""

    id: Annotated[AnId, Field(description="The id of an error or of a span, or the beginning of an error's id")]
    trace: Annotated[Text, Field(description="Of a span: its trace, where spans of several have that id")] = ""


class ReadTrace(Params):
    """Which trace, and what of it."""

    trace: TraceId
    span: Annotated[Text, Field(description="Only the turn of this span and those next to it, with longer texts")] = ""
    limit: Annotated[int, Field(ge=1, le=MOST, description="How many turns at most")] = 20
    cursor: Cursor = ""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.span and self.cursor:
            raise ValueError("use either span or cursor, not both")
        return self


@with_filters(*named(TRACE_FILTERS, "service", "version", "agent", "tool", "session", "state", "judged", "severity"))
class _TraceFilters(Params):
    pass


class Search(_TraceFilters):
    """Which traces."""

    text: Annotated[
        Text, Field(description="Stands in what was said, found or named, without case; or begins an id")
    ] = ""
    since: Since = ""
    until: Until = ""
    limit: Items = 10
    cursor: Cursor = ""


class Skipped(Params):
    """Of a list by rank."""

    limit: Items = 10
    cursor: Cursor = ""

    @property
    def skipped(self) -> int:
        """Items of the pages before. Raises ConfigError as `skipped`."""
        return skipped(self.cursor, MOST_RANKED)

    @property
    def end(self) -> int:
        """Items up to the end of this page."""
        return min(self.skipped + self.limit, MOST_RANKED)


@with_filters(*named(RATE_FILTERS, "service", "version", "agent", "model", "category", "severity", "tool"))
class _RateFilters(Skipped):
    pass


class ReadRates(_RateFilters):
    """Which rates."""

    by: Annotated[By | Literal[""], Field(description="Told apart by this")] = ""
    unit: Annotated[Unit, Field(description="What has at least one error, or none")] = Unit.RUN
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a day")] = ""
    until: Until = ""
    profile: Profile = ""
    simulated: Simulated = False


class ReadPatterns(Skipped):
    """Which patterns."""

    pattern: Annotated[Text, Field(description="Only the one of this id")] = ""
    service: Text = ""
    state: Annotated[
        Literal[("", *STATES)],  # type: ignore[valid-type]
        Field(description="Only in this state; by default all but resolved and ignored ones"),
    ] = ""
    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a week")] = ""


class Compare(Params):
    """What is compared: two traces; runs of a task or with a pattern; or the rates of two versions of a service."""

    first: Annotated[Text, Field(description="The id of a trace")] = ""
    second: Annotated[Text, Field(description="The id of a trace of the same question")] = ""
    task: Annotated[Text, Field(description="Of this task's runs, those that fail and those that pass")] = ""
    pattern: Annotated[Text, Field(description="Runs with this pattern and runs without it")] = ""
    version: Annotated[Text, Field(description="The rates of this version")] = ""
    to_version: Annotated[Text, Field(description="… compared to those of this one")] = ""
    service: Annotated[Text, Field(description="Only of this service; not of two traces")] = ""
    since: Annotated[Since, Field(description="Not of two traces; by default a week")] = ""

    @model_validator(mode="after")
    def _one_pair(self) -> Self:
        asked = [bool(self.first or self.second), bool(self.task), bool(self.pattern),
                 bool(self.version or self.to_version)]  # fmt: skip
        if asked.count(True) != 1 or bool(self.first) != bool(self.second):
            raise ValueError("name first and second, or task, or pattern, or version and to_version")
        if bool(self.version) != bool(self.to_version):
            raise ValueError("version and to_version go together")
        if self.first and (self.service or self.since):
            raise ValueError("two traces are compared as they are: leave service and since out")
        return self


class SayLabel(Params):
    """An opinion on an error, or an error that none names."""

    opinion: Annotated[
        Opinion, Field(description="agree or disagree with the error `id`; other-span: made at `span`; missed: no id")
    ]
    id: Annotated[Text, Field(description="The id of an error or a finding")] = ""
    trace: Annotated[Text, Field(description="Of a missed error")] = ""
    span: Annotated[Text, Field(description="Where the error was made")] = ""
    category: Annotated[Text, Field(description="Of a missed error, e.g. Formatting Errors")] = ""
    severity: Annotated[Severity | None, Field(description="Of a missed error; by default MEDIUM")] = None
    evidence: Annotated[Text, Field(description="A quote from the span")] = ""
    why: Annotated[Text, Field(description="The reason")] = ""


def skipped(cursor: str, most: int) -> int:
    """Items of the pages before, fewer than `most`, as a cursor has them. Raises ConfigError: it is none of ours."""
    count = int(cursor) if cursor.isascii() and cursor.isdecimal() and len(cursor) <= len(str(most)) else most
    if cursor and not 0 < count < most:
        raise ConfigError(f"cursor: {cursor[:40]!r} is not the `next` of a page")
    return count if cursor else 0


def arguments_of(model: type[Arguments], given: Mapping[str, Any]) -> Arguments:
    """The arguments of a call. Raises ConfigError with one line that says what does not fit."""
    try:
        return model.model_validate(given)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = place_of(first)
        raise ConfigError(f"{place}: {told(first)}" if place else told(first)) from None


def asked(arguments: Params, *without: str) -> dict[str, str]:
    """The parameters of the API that were given."""
    given = arguments.model_dump(mode="json", exclude={"limit", "cursor", *without}, exclude_defaults=True)
    return {name: value if isinstance(value, str) else str(value).lower() for name, value in given.items()}
