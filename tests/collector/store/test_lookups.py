"""A look-up of one span id, or of one trace, reads the granules that hold it and no others."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.reader import Confidence, ErrorQuery

SPANS = 200_000
WEEK = 7 * 86_400_000_000_000

# Ids are hashes, spread as real ones are; 20 spans a trace, over four weeks of arrival.
FILL = """
INSERT INTO spans (TraceId, SpanId, SpanName, StartNanos, EndNanos, ReceivedAt)
SELECT lower(hex(sipHash128(intDiv(number, 20)))), lower(hex(sipHash64(number))), 'x', 1, 2,
    fromUnixTimestamp64Nano({at:Int64})
FROM numbers({first:UInt64}, {count:UInt64})
"""
FILL_FINDINGS = """
INSERT INTO findings (TraceId, SpanId, Id, State, Severity, Confidence, FirstSeen, JudgedAt)
SELECT lower(hex(sipHash128(intDiv(number, 2)))), lower(hex(sipHash64(number * 10))), toString(number), 'current',
    'HIGH', 1, number, 1
FROM numbers(20000)
"""
# The id of a span within the data, and of its trace.
A_SPAN = "SELECT lower(hex(sipHash64(toUInt64(123456)))), lower(hex(sipHash128(intDiv(toUInt64(123456), 20))))"


class Explaining(SharedStore):
    """The real store; keeps the statements that it answers."""

    asked: list[tuple[str, Mapping[str, Any]]]

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        self.asked.append((sql, parameters or {}))
        return super().rows(sql, parameters)


@pytest.fixture
def filled(store_dsn: str) -> Iterator[Explaining]:
    store = Explaining.open(store_dsn, StoreConfig(retention_days=None))
    assert isinstance(store, Explaining)
    store.asked = []
    migrate(store)
    for week in range(4):
        quarter = SPANS // 4
        store.command(FILL, {"at": (week + 1) * WEEK, "first": week * quarter, "count": quarter})
    store.command(FILL_FINDINGS)
    store.asked = []
    yield store
    store.close()


def last_on(store: Explaining, table: str) -> tuple[str, Mapping[str, Any]]:
    """The latest statement on the table, with its parameters."""
    return [asked for asked in store.asked if f"FROM {table}" in asked[0]][-1]


def granules(store: Explaining, table: str, sql: str, parameters: Mapping[str, Any]) -> tuple[int, int]:
    """(granules read, granules there) of the table in that statement, by EXPLAIN."""
    plan = "\n".join(row[0] for row in SharedStore.rows(store, f"EXPLAIN indexes = 1 {sql}", parameters))
    of_table = re.split(r"ReadFromMergeTree \(", plan[plan.index(f".{table})") :])[0]
    steps = [(int(a), int(b)) for a, b in re.findall(r"Granules: (\d+)/(\d+)", of_table)]
    assert steps, plan
    return steps[-1][0], steps[0][1]


def test_one_span_id(filled: Explaining) -> None:
    """The bloom filter leaves next to nothing of 200,000 spans, although the id is not the first of the sort key."""
    span_id, trace_id = SharedStore.rows(filled, A_SPAN)[0]
    assert StoredReading(filled).knows("", span_id)
    read, there = granules(filled, "spans", *last_on(filled, "spans"))
    assert (read <= 3, there >= 150) == (True, True)
    assert StoredReading(filled).span_trace_ids(span_id) == [trace_id]
    assert granules(filled, "spans", *last_on(filled, "spans"))[0] <= 3


def test_an_unknown_span_id(filled: Explaining) -> None:
    """An id that is not there reads nothing (or the rare false hit of a filter)."""
    assert not StoredReading(filled).knows("", "0" * 16)
    assert granules(filled, "spans", *last_on(filled, "spans"))[0] <= 1


def test_one_trace(filled: Explaining) -> None:
    """Key and filter together leave the granules of the trace."""
    _, trace_id = SharedStore.rows(filled, A_SPAN)[0]
    judging = StoredJudging(filled)
    assert judging.known_rows([trace_id]) == {trace_id: 20}
    assert granules(filled, "spans", *last_on(filled, "spans"))[0] <= 3
    assert len(judging.load_spans([trace_id])[trace_id][0]) == 20
    assert granules(filled, "spans", *last_on(filled, "spans"))[0] <= 6  # with FINAL also what may hold other copies


def test_one_span_in_the_exporters_view(filled: Explaining) -> None:
    """Conditions on the view reach the indexes of the table behind it."""
    span_id, trace_id = SharedStore.rows(filled, A_SPAN)[0]
    for view in ("otel_traces", "annotated_spans"):
        for column, value in (("SpanId", span_id), ("TraceId", trace_id)):
            sql = f"SELECT * FROM {view} WHERE {column} = {{id:String}}"
            read, there = granules(filled, "spans", sql, {"id": value})
            assert (read <= 6, there >= 150) == (True, True)


def test_findings_of_one_span(filled: Explaining) -> None:
    """Neither is the table of findings scanned for the errors of one span."""
    span_id = SharedStore.rows(filled, "SELECT SpanId FROM findings LIMIT 1")[0][0]
    assert StoredReading(filled).find_findings(ErrorQuery(Confidence(0, 0), 10, span_id=span_id))
    read, there = granules(filled, "findings", *last_on(filled, "findings"))
    assert (read <= 2, there >= 15) == (True, True)
