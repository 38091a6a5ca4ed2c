"""The parameters of lists of traces and sessions; the pages read the same out of their addresses."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import TRACE_FILTERS, field_values
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Confidence, Position, TraceQuery
from tracejury.schemas.text.moments import parse_length

from .params import Cursor, Limit, Params, Profile, Since, Text, from_opaque, moment, opaque, with_filters

Order = Literal["asc", "desc"]
MOST: Final = 2**64 - 1


@with_filters(*TRACE_FILTERS)
class _TraceFilters(Params):
    pass


class FilterParams(_TraceFilters):
    """By what traces are chosen, and sessions by their traces; empty ones choose nothing."""

    min_duration: Annotated[Text, Field(description="Lasting this long or longer: 500ms, 30s, 5m, 1h")] = ""
    text: Annotated[
        Text,
        Field(description="Stands in what was said, found or named, without case; or begins an id"),
    ] = ""
    profile: Profile = ""
    since: Since = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`")] = ""


class ListParams(FilterParams):
    """Of a list of traces or sessions."""

    sort: Sort = Sort.RECEIVED
    order: Order = "desc"
    limit: Limit = 100
    cursor: Cursor = ""

    def query(self, now: int) -> TraceQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        return TraceQuery(
            confidence=Confidence.of(self.profile),
            limit=self.limit,
            **field_values(TRACE_FILTERS, self),
            min_duration=_length(self.min_duration),
            text=self.text,
            since=moment("since", self.since, now),
            until=moment("until", self.until, now),
            sort=self.sort,
            ascending=self.order == "asc",
            before=read_place(self.sort, self.cursor, ascending=self.order == "asc"),
        )


class SessionParams(Params):
    """Of one session."""

    service: Annotated[Text, Field(description="Only of this service, where several have a session of that id")] = ""
    profile: Profile = ""


def write_place(sort: Sort, position: Position, *, ascending: bool) -> str:
    """A place in a list of that order as an opaque, URL-safe text."""
    return opaque([_kind(sort, ascending=ascending), position.time, position.id])


def read_place(sort: Sort, text: str, *, ascending: bool) -> Position | None:
    """The position that `write_place` encoded for that order, None for an empty text.

    Raises:
        ConfigError: it is of another order, or of nothing of ours.
    """
    if not text:
        return None
    match from_opaque(text):
        case [found, int(place), str(item)] if found == _kind(sort, ascending=ascending) and 0 <= place <= MOST:
            return Position(int(place), item)
    raise ConfigError(f"cursor: {text[:40]!r} is not the `next` of a page in this order")


def _kind(sort: Sort, *, ascending: bool) -> str:
    # The first releases knew one order only, whose cursors stay valid.
    return "cursor" if sort is Sort.RECEIVED and not ascending else f"{sort.value} {'asc' if ascending else 'desc'}"


def _length(text: str) -> int:
    if not text:
        return 0
    try:
        return parse_length(text)
    except ValueError as error:
        raise ConfigError(f"min_duration: {error}") from None
