"""New trace and span ids for stored traces, so that the same trace can be sent again as another one."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterator
from typing import Any

from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS


class FreshIds:
    """Maps each id to a new one, the same for all requests, without a table.

    Parents, links and log records follow their spans. Ids that are no ids (empty, zeros) stay what they are; text
    that happens to hold an id is content and stays too.
    """

    def __init__(self, salt: bytes | None = None) -> None:
        self._salt = salt or secrets.token_bytes(16)

    def rewrite(self, request: Request) -> Request:
        """A copy of the request under new ids."""
        copy = type(request).FromString(request.SerializeToString())
        for record in _records(copy):
            record.trace_id = self._fresh(record.trace_id)
            record.span_id = self._fresh(record.span_id)
            if hasattr(record, "parent_span_id"):
                record.parent_span_id = self._fresh(record.parent_span_id)
        return copy

    def _fresh(self, old: bytes) -> bytes:
        if not any(old):
            return old
        return hashlib.blake2b(old, digest_size=len(old), key=self._salt).digest()


def _records(request: Request) -> Iterator[Any]:
    for _, _, item in rows(request):
        yield item
        if schema_of(request) is SPANS:
            yield from item.links
