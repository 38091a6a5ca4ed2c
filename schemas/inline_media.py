"""Pictures, sound and files that are sent inline: taken out of the texts of a row, so that the store has each once.

A text from `LONG` characters on in which base64 of at least `LEAST_RUN` characters begins as a picture, sound or PDF
does (`media_type`) is stored with a reference in its place, `tracejury-media:` and the SHA-256 of that base64. The row
lists what was taken out of it, and only that is put back. Nothing is taken out of a row whose sender wrote
`tracejury-media:` himself, so each reference in a row that lists any is ours, and every text comes back as it was sent.
"""

from __future__ import annotations

import hashlib
import re
import string
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Final, TypeVar

from .media import from_base64, media_type
from .spans import LogRecord, Span

LONG: Final = 8192
LEAST_RUN: Final = 4096
MEDIA: Final = "Media"
"""The column of spans and log records that lists what was taken out of them, by hash."""
MEDIA_COLUMNS: Final = ("tenant", "TraceId", "Hash", "Data", "ReceivedAt")

_MARK: Final = "tracejury-media:"
_REFERENCE: Final = re.compile(rf"{_MARK}([0-9a-f]{{64}})")
_BASE64: Final = string.ascii_letters + string.digits + "+/_-"
_HALF: Final = LEAST_RUN // 2
_RUN: Final = re.compile(f"[{_BASE64}]{{{_HALF - 2},}}={{0,2}}")  # without padding it may have two less
_HEAD: Final = 16  # characters of base64 whose bytes show the type

Row = TypeVar("Row", Span, LogRecord)


class TakenMedia:
    """What is taken out of rows that are stored together; each once a trace."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, str], str] = {}

    def take(self, rows: Sequence[Row]) -> tuple[Sequence[Row], list[list[str]]]:
        """The rows with references, and the hashes that each then refers to."""
        kept, hashes = list(rows), list[list[str]]([[]]) * len(rows)
        for at, row in enumerate(rows):
            if _is_long(row):
                kept[at], hashes[at] = self._take(row)
        return kept, hashes

    def columns(self, received_at: int) -> list[list[Any]]:
        """One list a column of `MEDIA_COLUMNS`. All rows arrived at `received_at` (unix nanos)."""
        keys = sorted(self._found)
        own = [[key[place] for key in keys] for place in range(3)]
        return [*own, [self._found[key] for key in keys], [received_at] * len(keys)]

    def _take(self, row: Row) -> tuple[Row, list[str]]:
        runs = {text: list(_runs(text)) for text in _texts(row) if len(text) >= LONG}
        if not any(runs.values()) or any(_MARK in text for text in _texts(row)):
            return row, []
        hashes = dict[str, None]()

        def referring(text: str) -> str:
            pieces: list[str] = []
            end = 0
            for start, stop in runs.get(text, ()):
                run = text[start:stop]
                digest = hashlib.sha256(run.encode()).hexdigest()
                self._found[row.tenant, row.trace_id, digest] = run
                hashes[digest] = None
                pieces += [text[end:start], _MARK, digest]
                end = stop
            return "".join([*pieces, text[end:]])

        return _with_texts(row, referring), list(hashes)


def put_back(rows: Sequence[Row], hashes: Sequence[Collection[str]], media: Mapping[str, str]) -> list[Row]:
    """The rows as they were sent. `hashes`: what each lists; `media`: base64 by hash.

    A reference to what `media` lacks stays as it is.
    """
    return [_put_back(row, own, media) if own else row for row, own in zip(rows, hashes, strict=True)]


def _put_back(row: Row, hashes: Collection[str], media: Mapping[str, str]) -> Row:
    def resolved(found: re.Match[str]) -> str:
        return media.get(found[1], found[0]) if found[1] in hashes else found[0]

    return _with_texts(row, lambda text: _REFERENCE.sub(resolved, text) if _MARK in text else text)


def _is_long(row: Span | LogRecord) -> bool:
    if max(map(len, row.attributes.values()), default=0) >= LONG:
        return True
    if isinstance(row, LogRecord):
        return len(row.body) >= LONG
    return bool(row.events) and any(len(text) >= LONG for event in row.events for text in event.attributes.values())


def _texts(row: Span | LogRecord) -> Iterator[str]:
    """All texts that something may be taken out of."""
    if isinstance(row, LogRecord):
        return chain((row.body,), row.attributes.values())
    return chain(row.attributes.values(), *(event.attributes.values() for event in row.events))


def _with_texts(row: Row, change: Callable[[str], str]) -> Row:
    attributes = {key: change(text) for key, text in row.attributes.items()}
    if isinstance(row, LogRecord):
        return replace(row, attributes=attributes, body=change(row.body))
    events = tuple(
        replace(event, attributes={key: change(text) for key, text in event.attributes.items()}) for event in row.events
    )
    return replace(row, attributes=attributes, events=events)


def _runs(text: str) -> Iterator[tuple[int, int]]:
    """Where base64 of pictures, sound and PDFs begins and ends.

    Each half of the least length is looked at: a run has half of it or more from such a place on.
    """
    end = 0
    for at in range(0, len(text), _HALF):
        run = _RUN.match(text, at) if at >= end else None
        if run:
            end = run.end()
            before = text[max(at - _HALF, 0) : at]
            start = at - len(before) + len(before.rstrip(_BASE64))
            if end - start >= LEAST_RUN and media_type(from_base64(text[start : start + _HEAD]) or b""):
                yield start, end
