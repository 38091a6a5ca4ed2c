"""The parameters of the API: one model an endpoint, unknown names refused, turned into the reader's questions."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal, Self

import orjson
from pydantic import BaseModel, ConfigDict, Field, model_validator

from ...schemas.errors import ConfigError
from ...schemas.queries.ledger import LedgerQuery
from ...schemas.queries.reader import Confidence, ErrorQuery, Position
from ...schemas.taxonomy import Severity
from ...schemas.text.moments import LAST, parse_since
from ...schemas.verdicts import Outcome

MAX_LIMIT = 1000
MAX_ARCHITECTURE = 20_000
"""Bytes of a description: it stands in every prompt about the service."""
LEDGER_SINCE = "1d"
"""How far back the ledger of all traces is looked through where nobody says."""

Text = Annotated[str, Field(max_length=1000)]
Limit = Annotated[int, Field(ge=1, le=MAX_LIMIT, description="How many items at most")]
Cursor = Annotated[Text, Field(description="`next` of the page before")]
Since = Annotated[Text, Field(description="A length of time back from now (30m, 1h, 2d) or ISO 8601")]
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


class TraceParams(Params):
    """Of one trace."""

    profile: Profile = ""


class SpanErrorsParams(Params):
    """Of the findings at one span; with `after` they come earliest first, else latest first."""

    trace: Text = ""
    service: Text = ""
    agent: Annotated[Text, Field(description="The name of the agent whose run it is")] = ""
    judge: Annotated[Text, Field(description="The name of the detector or judge")] = ""
    category: Text = ""
    severity: Annotated[Severity, Field(description="The least severity")] = Severity.LOW
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
            trace_id=an_id(self.trace),
            span_id=an_id(span),
            service=self.service,
            agent=self.agent,
            judge=self.judge,
            category=self.category,
            severity=self.severity,
            since=moment("since", self.since, now),
            before=read_cursor("cursor", self.cursor),
            after=_start(self.after, now),
        )


class ErrorsParams(SpanErrorsParams):
    """Of the findings anywhere."""

    span: Text = ""


class LedgerParams(Params):
    """Of the ledger of judges."""

    trace: Text = ""
    judge: Annotated[Text, Field(description="The name of the judge; detectors for all detectors together")] = ""
    outcome: Outcome | None = None
    service: Text = ""
    since: Annotated[
        Text,
        Field(description="As elsewhere, by the time of the word; by default a day, and of one trace everything"),
    ] = ""
    limit: Limit = 100
    cursor: Cursor = ""
    all: Annotated[bool, Field(description="Also superseded windows, and what detectors said")] = False

    def query(self, now: int) -> LedgerQuery:
        """As the ledger's question. Raises ConfigError on a value that means nothing."""
        trace_id = an_id(self.trace)
        return LedgerQuery(
            limit=self.limit,
            trace_id=trace_id,
            judge=self.judge,
            outcome=self.outcome,
            service=self.service,
            since=moment("since", self.since or ("" if trace_id else LEDGER_SINCE), now),
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
    """What to judge again: one trace, or, latest first and `limit` at a time, all that arrived since."""

    trace_id: Text = ""
    since: Since = ""
    limit: Limit = 100
    cursor: Cursor = ""

    @model_validator(mode="after")
    def _one_of_two(self) -> Self:
        if bool(self.trace_id) == bool(self.since):
            raise ValueError("name either trace_id or since")
        return self


def an_id(text: str) -> str:
    """An id as it is stored: lower case, without the white space of a copied line."""
    return text.strip().lower()


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
    """What `opaque` wrote; None for a text of nobody."""
    try:
        value: object = orjson.loads(base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)))
    except (ValueError, binascii.Error):
        return None
    return value


def write_cursor(kind: Literal["cursor", "after"], position: Position) -> str:
    """A position as an opaque, URL-safe text."""
    return opaque([kind, position.time, position.id])


def read_cursor(kind: Literal["cursor", "after"], text: str) -> Position | None:
    """What `write_cursor` wrote, None for an empty text. Raises ConfigError."""
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
