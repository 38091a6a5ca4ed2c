"""Spans and log records as they were sent: what is stored once beside their rows is put back. All of it blocks.

Functions raise RetryableError for what may pass, StoreError for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from tracejury.schemas.inline_media import put_back
from tracejury.schemas.rows import log_from_row, span_from_row
from tracejury.schemas.spans import LogRecord, Span

from .scope import TENANT, Scope

_HASHES: Final = 1_000
"""In one question: a server takes 128 KiB of a parameter."""
_MEDIA: Final = f"""
SELECT Hash, Data FROM media
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND Hash IN {{hashes:Array(String)}} LIMIT 1 BY Hash
"""

Row = TypeVar("Row", Span, LogRecord)


def select_spans(scope: Scope, sql: str, **parameters: Any) -> list[Span]:
    """The spans of a SELECT of `SPAN_SELECT`; see `Scope.select`."""
    return _whole(scope, span_from_row, scope.select(sql, **parameters))


def select_logs(scope: Scope, sql: str, **parameters: Any) -> list[LogRecord]:
    """The log records of a SELECT of `LOG_SELECT`; see `Scope.select`."""
    return _whole(scope, log_from_row, scope.select(sql, **parameters))


def _whole(scope: Scope, read: Callable[[Sequence[Any]], Row], stored: Sequence[Sequence[Any]]) -> list[Row]:
    rows, hashes = [read(row) for row in stored], [row[-1] for row in stored]
    wanted = sorted({one for own in hashes for one in own})
    if not wanted:
        return rows
    trace_ids = sorted({row.trace_id for row, own in zip(rows, hashes, strict=True) if own})
    media = dict[str, str]()
    for at in range(0, len(wanted), _HASHES):
        found = scope.select(_MEDIA, trace_ids=trace_ids, hashes=wanted[at : at + _HASHES])
        media.update((digest, data) for digest, data in found)
    return put_back(rows, hashes, media)
