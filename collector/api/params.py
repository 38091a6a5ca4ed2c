"""The parameters of the API: one model an endpoint, unknown names refused, turned into the reader's questions."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Annotated, Any, Literal, Self, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict, Field, create_model, model_validator

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.filters import ERROR_FILTERS, LEDGER_FILTERS, Filter, an_id, field_values
from tracejury.schemas.queries.ledger import LedgerQuery
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position
from tracejury.schemas.text.moments import LAST, parse_since

MAX_LIMIT = 1000
MAX_ARCHITECTURE = 20_000
"""Bytes of a description: it stands in every prompt about the service."""
LEDGER_SINCE = "1d"
"""How far back the ledger of all traces is looked through where nobody says."""

Text = Annotated[str, Field(max_length=1000)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many items at most")]
Cursor = Annotated[Text, Field(description="`next` of the page before")]
Since = Annotated[Text, Field(description="A length of time back from now (30m, 1h, 2d) or ISO 8601")]
Simulated = Annotated[bool, Field(description="Of simulated sessions instead of real ones")]
Profile = Annotated[
    Text,
    Field(
        description="strict, balanced, recall or the least confidence as a number; "
        "by default balanced, and strict for traces of an unrecognised convention"
    ),
]


class Params(BaseModel):
    """Parameters of one endpoint."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _known(cls, given: Any) -> Any:
        unknown = [name for name in given if name not in cls.model_fields] if isinstance(given, dict) else ()
        if unknown and cls.model_config["extra"] == "forbid":
            known = ", ".join(cls.model_fields) or "none"
            raise ValueError(f"unknown parameter {str(unknown[0])[:40]!r}; there are: {known}")
        return given


Model = TypeVar("Model", bound=Params)


def with_filters(*filters: Filter) -> Callable[[type[Model]], type[Model]]:
    """A class decorator that adds a parameter for each filter, after those that the class has."""
    fields: dict[str, Any] = {one.name: (_annotation(one), one.default) for one in filters}

    def add(model: type[Model]) -> type[Model]:
        return create_model(model.__name__, __base__=model, __module__=model.__module__, **fields)

    return add


def _annotation(one: Filter) -> Any:
    kind: Any = Literal[("", *one.choices)] if isinstance(one.choices, tuple) and one.choices else one.choices or Text
    if one.repeated:
        kind = tuple[Text, ...]
    if isinstance(one.choices, type) and not isinstance(one.default, one.choices):
        kind = kind | (None if one.default is None else Literal[""])
    return Annotated[kind, Field(description=one.description)] if one.description else kind


class TraceParams(Params):
    """Of one trace, or a part of it."""

    profile: Profile = ""
    limit: Annotated[int | None, Field(ge=1, le=MAX_LIMIT, description="How many agent runs at most")] = None
    cursor: Annotated[Text, Field(description="`part.next` of the part before")] = ""
    span: Annotated[
        Text, Field(description="Only the agent run of this span, with the span's turn and those next to it")
    ] = ""

    @model_validator(mode="after")
    def _one_place(self) -> Self:
        if self.span and (self.cursor or self.limit):
            raise ValueError("span goes without limit and cursor")
        return self


@with_filters(*ERROR_FILTERS)
class _ErrorFilters(Params):
    pass


class SpanErrorsParams(_ErrorFilters):
    """Of the errors that name one span; with `after` they come earliest first, else latest first."""

    profile: Profile = ""
    since: Since = ""
    limit: Limit = 100
    cursor: Cursor = ""
    after: Annotated[
        Text,
        Field(description="Only what was first seen after this: a time as in `since`, now, or the `next` of a page"),
    ] = ""

    @model_validator(mode="after")
    def _one_direction(self) -> Self:
        if self.after and self.cursor:
            raise ValueError("use either cursor or after, not both")
        return self

    def query(self, now: int, span: str = "") -> ErrorQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        return ErrorQuery(
            confidence=Confidence.of(self.profile),
            limit=self.limit,
            span_id=an_id(span),
            **field_values(ERROR_FILTERS, self),
            since=moment("since", self.since, now),
            before=read_cursor("cursor", self.cursor),
            after=_start(self.after, now),
        )


class ErrorsParams(SpanErrorsParams):
    """Of the errors, or of the findings, anywhere."""

    span: Text = ""
    decisive: Annotated[bool, Field(description="Only those that decided the wrong outcome of their trace")] = False

    def query(self, now: int, span: str = "") -> ErrorQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        return replace(super().query(now, span), decisive=self.decisive)


class ErrorParams(Params):
    """Of one error."""

    profile: Profile = ""


@with_filters(*LEDGER_FILTERS)
class _LedgerFilters(Params):
    pass


class LedgerParams(_LedgerFilters):
    """Of the ledger of judges."""

    since: Annotated[
        Text,
        Field(description="As elsewhere, by the time of the word; by default a day, and of one trace everything"),
    ] = ""
    limit: Limit = 100
    cursor: Cursor = ""
    all: Annotated[bool, Field(description="Also superseded windows, and what detectors said")] = False

    def query(self, now: int) -> LedgerQuery:
        """As the ledger's question. Raises ConfigError on a value that means nothing."""
        given = field_values(LEDGER_FILTERS, self)
        return LedgerQuery(
            limit=self.limit,
            **given,
            since=moment("since", self.since or ("" if given["trace_id"] else LEDGER_SINCE), now),
            everything=self.all,
            before=read_cursor("cursor", self.cursor),
        )


class DoctorParams(Params):
    """Of the doctor: one trace, one service, or, with neither, every service of the last day."""

    trace: Text = ""
    service: Text = ""

    @model_validator(mode="after")
    def _at_most_one(self) -> Self:
        if self.trace and self.service:
            raise ValueError("name either trace or service, not both")
        return self


class ArchitectureParams(Params):
    """Of one service's architecture."""

    history: bool = False


class ArchitectureBody(Params):
    """A description of a service's architecture."""

    text: str

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if len(self.text.encode()) > MAX_ARCHITECTURE:
            raise ValueError(f"the text has {len(self.text.encode()):,} bytes; at most {MAX_ARCHITECTURE:,} are taken")
        if not self.text.strip():
            raise ValueError("the text is empty (DELETE, or --clear, takes an edited description back)")
        return self


class JudgeBody(Params):
    """The traces to judge again.

    One trace; all of a session (of `service`, where several have one of that id), which is closed then; or, latest
    first and `limit` at a time, all that arrived since.
    """

    trace_id: Text = ""
    session: Text = ""
    service: Text = ""
    since: Since = ""
    limit: Limit = 100
    cursor: Cursor = ""

    @model_validator(mode="after")
    def _one_of_three(self) -> Self:
        if [bool(self.trace_id), bool(self.session), bool(self.since)].count(True) != 1:
            raise ValueError("name one of trace_id, session and since")
        if self.service and not self.session:
            raise ValueError("service goes with session")
        return self


def asked_names(filters: Iterable[Filter], params: Params) -> dict[str, str]:
    """The values of filters that take any text, by name; `score` as it was asked."""
    return {one.name: getattr(params, one.name) for one in filters if not (one.choices or one.repeated)}


def moment(name: str, text: str, now: int) -> int:
    """The point in time in unix nanos, at most `LAST`, 0 for an empty text. Raises ConfigError."""
    if not text:
        return 0
    try:
        return min(parse_since(text, now), LAST)
    except ValueError as error:
        raise ConfigError(f"{name}: {error}") from error


def late_moment(name: str, text: str, now: int) -> int:
    """As `moment`, where 0 means something else than the beginning of time: what lies before 1970 is refused."""
    found = moment(name, text, now)
    if text and not found:
        raise ConfigError(f"{name}: {text[:40]!r} lies before 1970")
    return found


def opaque(value: list[str | int]) -> str:
    """A short JSON list as a URL-safe text."""
    return base64.urlsafe_b64encode(orjson.dumps(value)).decode().rstrip("=")


def from_opaque(text: str) -> object:
    """The value that `opaque` encoded; None for any other text."""
    try:
        value: object = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
    return value


def write_cursor(kind: Literal["cursor", "after"], position: Position) -> str:
    """A position as an opaque, URL-safe text."""
    return opaque([kind, position.time, position.id])


def read_cursor(kind: Literal["cursor", "after"], text: str) -> Position | None:
    """The position that `write_cursor` encoded, None for an empty text. Raises ConfigError."""
    if not text:
        return None
    match from_opaque(text):
        case [found, int(time), str(item)] if found == kind and time >= 0 and not isinstance(time, bool):
            return Position(time, item)
    raise ConfigError(f"{kind}: {text[:40]!r} is not the `next` of a page")


def _start(text: str, now: int) -> Position | None:
    if not text:
        return None
    if text == "now":
        return Position(now)
    try:
        return Position(min(parse_since(text, now), LAST))
    except ValueError:
        return read_cursor("after", text)
