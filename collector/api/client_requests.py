"""Parts of the API client's requests: addresses, pages, and texts that a command line cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from typing import Final
from urllib.parse import quote

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.wire.errors import ErrorJson, SpanErrorJson

PAGE = 500
_SOURCES: Final = {
    "version": " (versions are those that agents state: the resource attribute service.version of their spans)",
    "score": " (the LLM judges with scores; PA and such stand for theirs)",
}
"""By kind of name: where its names come from, for those whose name does not say it."""

Parameters = Mapping[str, str | Sequence[str]]
"""Of a request; one that is repeated has several values."""


class UnknownNameError(ConfigError):
    """A filter names what is in no stored data."""


def in_path(text: str) -> str:
    """A text as one part of a path. Raises ConfigError where it is none in UTF-8."""
    with sayable():
        # Dots are quoted, too: "." and ".." would be steps in the path.
        return quote(text, safe="").replace(".", "%2E")


@contextmanager
def sayable() -> Iterator[None]:
    """Around sending texts of a command line. Raises ConfigError for what is no UTF-8."""
    # Bytes of a command line that are no UTF-8 come as halves of surrogate pairs.
    try:
        yield
    except UnicodeEncodeError as error:
        before = error.object[max(0, error.start - 20) : error.start].rpartition('"')[2]
        after = error.object[error.start : error.end + 20].partition('"')[0]
        raise ConfigError(f"{before + after!a} is not text in UTF-8") from error


def of_errors(filters: Parameters) -> tuple[type[ErrorJson], str, Parameters]:
    """The model, the address and the parameters of a list of errors: those of one span have their own."""
    if not (span_id := filters.get("span")):
        return ErrorJson, "/api/errors", filters
    others = {name: value for name, value in filters.items() if name != "span"}
    return SpanErrorJson, f"/api/spans/{in_path(str(span_id))}/errors", others


def of_page(filters: Parameters, limit: int, cursor: str = "") -> Parameters:
    """The parameters of a page of at most `limit` items."""
    return {**filters, "limit": str(min(PAGE, limit)), "cursor": cursor}


def refuse_unknown(filters: Parameters, unknown: Mapping[str, Sequence[str]]) -> None:
    """Raises UnknownNameError for the first filter that names what is not there."""
    for name, known in unknown.items():
        value = str(filters.get(name, ""))[:64]
        others = f"known are: {', '.join(known)}" if known else f"no {name} is known"
        raise UnknownNameError(f"no {name} {value!r} is stored; {others}{_SOURCES.get(name, '')}")


def of_architecture(service: str) -> str:
    """The address of a service's description."""
    return f"/api/architectures/{in_path(service)}"


def check_encodable(items: Iterable[Mapping[str, object]]) -> None:
    """Raises ConfigError: a value cannot be sent."""
    # Bytes of a command line that are no UTF-8 come as halves of surrogate pairs.
    for key, value in chain.from_iterable(item.items() for item in items):
        try:
            str(value).encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{key} is not text in UTF-8") from None
