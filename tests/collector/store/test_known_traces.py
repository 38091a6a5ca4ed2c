"""The filter of stored traces: the engine fills it as Python reads it."""

from __future__ import annotations

import pytest
from store_parts import a_span

from tracejury.collector.store.committer import Committer, WriterCounters
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.known_traces import KnownTraces
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord

KEYS = [(tenant, f"{number:032x}") for tenant in ("", "shop", "größe") for number in range(200)]


def test_a_trace_is_known_from_its_second_time_on() -> None:
    """Tenants are told apart, and ids of one another by all of their digits."""
    known = KnownTraces()
    assert not any(known.add(key) for key in KEYS)
    assert all(known.add(key) for key in KEYS)


def test_what_is_stored_is_known(store: SharedStore) -> None:
    """By its spans, or by a log record alone; nothing else is."""
    folder = DeadLetterFolder(store.folder or pytest.fail("embedded"), 1)
    spans = [a_span(tenant=tenant, trace_id=trace_id) for tenant, trace_id in KEYS[::2]]
    logged = ("", "f" * 32)
    Committer(store, folder, WriterCounters()).commit([Batch(spans, [LogRecord(logged[1], "1", 1, 1)], 1)])
    known = KnownTraces()
    known.load(store)
    assert all(known.add(key) for key in [*KEYS[::2], logged])
    assert not any(known.add(key) for key in KEYS[1::2])
