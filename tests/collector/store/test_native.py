"""Inserts by our own Native blocks store the rows that the driver's would, and no others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized
from trajectories import FRAMEWORKS

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import schema_of
from tracejury.collector.otlp.codec.signals import Encoding
from tracejury.collector.otlp.files.files import read
from tracejury.collector.store.client import Store
from tracejury.collector.store.failures import is_transient
from tracejury.collector.store.insert_streams import InsertStreams
from tracejury.collector.store.native import NativeBlock
from tracejury.schemas.errors import RetryableError
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=12) | st.just("\x00ä€𝄞" * 9000)
maps = st.dictionaries(texts, texts, max_size=3)
u32, i32, u64 = st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(0, 2**64 - 1)
events = st.builds(SpanEvent, u64, texts, maps, maps)
links = st.builds(SpanLink, texts, texts, texts, maps, maps)
spans = st.builds(
    Span, trace_id=texts, span_id=texts, parent_span_id=texts, name=texts, start=u64, end=u64, attributes=maps,
    attribute_types=maps, events=st.lists(events, max_size=3).map(tuple), links=st.lists(links, max_size=2).map(tuple),
    kind=i32, status_code=i32, status_message=texts, service=texts, resource_attributes=maps,
    resource_attribute_types=maps, scope_name=texts, scope_version=texts, trace_state=texts, flags=u32,
    dropped_attributes=u32, dropped_events=u32, dropped_links=u32, pending=st.booleans(), cut=u32, tenant=texts,
)  # fmt: skip


@pytest.fixture
def twin(store: Store) -> Iterator[Store]:
    """A store with a table `spans_twin` and one `logs_twin` for what the driver inserts."""
    for table in ("spans", "logs"):
        store.command(f"CREATE TABLE {table}_twin AS {table}")
    yield store
    for table in ("spans", "logs"):
        store.command(f"DROP TABLE {table}_twin SYNC")


def assert_equal_rows(store: Store, table: str, names: Sequence[str], columns: list[list[Any]]) -> None:
    """Insert by both ways into empty tables."""
    if not columns[0]:
        return
    for name in (table, f"{table}_twin"):
        store.command(f"TRUNCATE TABLE {name} SYNC")
    store.insert(table, names, columns)
    with store._client() as client:
        client.insert(f"{table}_twin", columns, column_names=names, column_oriented=True)
    ours, drivers = (store.rows(f"SELECT * FROM {name} ORDER BY ALL") for name in (table, f"{table}_twin"))
    assert ours == drivers
    assert ours


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=sized(6, 30))
@given(drawn=st.lists(spans, min_size=1, max_size=6), copies=st.integers(1, 3))
def test_a_row_is_the_one_that_the_driver_writes(twin: Store, drawn: list[Span], copies: int) -> None:
    """Of any span; `copies` of each share its resource, as the spans of one request do."""
    many = [replace(span, name=f"{span.name}{n}") for span in drawn for n in range(copies)]
    assert_equal_rows(twin, "spans", SPAN_COLUMNS, span_columns(many, 1))


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")
def test_captures_are_stored_as_the_driver_would(twin: Store) -> None:
    """Every span and log record of the captures of real frameworks."""
    found: list[Span] = []
    logs: list[LogRecord] = []
    for file in read([FRAMEWORKS]):
        body = file.request.SerializeToString()
        batch = decode(schema_of(file.request).signal, Encoding.PROTOBUF, body, received_at=1).batch
        found += batch.spans
        logs += batch.logs
    assert_equal_rows(twin, "spans", SPAN_COLUMNS, span_columns(found, 1))
    assert_equal_rows(twin, "logs", LOG_COLUMNS, log_columns(logs, 1))


TYPES: dict[str, list[Any]] = {
    "String": ["", "a\x00b", "ß" * 5000, "x" * 70_000],
    "LowCardinality(String)": ["one", "one", "two", ""],
    "Bool": [True, False, True, False],
    "UInt8": [0, 1, 254, 255],
    "UInt32": [0, 1, 2, 2**32 - 1],
    "UInt64": [0, 1, 2, 2**64 - 1],
    "Int32": [0, -1, 2**31 - 1, -(2**31)],
    "Int64": [0, -1, 2**63 - 1, -(2**63)],
    "Float64": [0.0, -1.5, 1e300, 7],
    "Nullable(Float64)": [None, 0.5, None, 2.0],
    "Nullable(String)": [None, "", "x", None],
    "FixedString(2)": [b"ab", b"\x00\x01", b"zz", b"  "],
    "SimpleAggregateFunction(max, UInt64)": [1, 2, 3, 4],
    "Array(LowCardinality(String))": [["a", "b"], [], ["a"], ["ü"]],
    "Array(Array(String))": [[["a"], []], [], [["b", "c"]], [[]]],
    "Array(Bool)": [[True], [], [False, True], []],
    "Map(LowCardinality(String), UInt64)": [{"a": 1}, {}, {"b": 2, "c": 3}, {"a": 2**64 - 1}],
}
"""Four values of each type that a table of ours has."""


def test_every_type_comes_back_as_it_went_in(store: Store) -> None:
    """All columns in one block, with the bounds of their types."""
    columns = {"n": "UInt32"} | {f"c{at}": kind for at, kind in enumerate(TYPES)}
    listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
    store.command(f"CREATE TABLE all_types ({listed}) ENGINE = MergeTree ORDER BY n")
    try:
        store.insert("all_types", list(columns), [[0, 1, 2, 3], *TYPES.values()])
        rows = store.rows("SELECT * FROM all_types ORDER BY n")
    finally:
        store.command("DROP TABLE all_types SYNC")
    assert [list(column) for column in zip(*rows, strict=True)][1:] == list(TYPES.values())


@pytest.mark.parametrize("merged", [True, False])
def test_of_rows_of_one_key_in_one_insert_the_best_is_read(store: Store, *, merged: bool) -> None:
    """Over several granules, and where all is read as well as where an index leaves one granule."""
    both = [
        Span(f"{n:032x}", "b" * 16, "", name, 1, end) for n in range(3000) for name, end in (("old", 2), ("new", 3))
    ]
    store.insert("spans", SPAN_COLUMNS, span_columns(both, 1), merged=merged)
    assert store.rows("SELECT DISTINCT SpanName, count() OVER () FROM spans FINAL") == [("new", 3000)]
    assert store.rows(f"SELECT SpanName FROM spans FINAL WHERE TraceId = '{7:032x}'") == [("new",)]


def test_every_column_of_every_table_can_be_written(store: Store) -> None:
    """A migration may add a type that nobody taught the writer yet."""
    kinds = """SELECT DISTINCT type FROM system.columns JOIN system.tables ON columns.table = tables.name
        AND columns.database = tables.database WHERE database = currentDatabase() AND engine LIKE '%MergeTree'
        AND default_kind != 'MATERIALIZED' AND columns.name NOT IN ('AppliedAt')"""
    types = [kind for (kind,) in store.rows(kinds)]
    assert len(types) > 10
    NativeBlock([""] * len(types), types)


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("String", "\ud800"),
        ("String", None),
        ("String", b"bytes"),
        ("LowCardinality(String)", "\ud800"),
        ("LowCardinality(String)", None),
        ("UInt32", 2**32),
        ("UInt64", -1),
        ("Int32", 2**31),
        ("UInt32", 1.5),
        ("FixedString(2)", b"abc"),
        ("Array(String)", ["fine", "\udfff"]),
        ("Map(String, String)", {"key": "\ud800"}),
    ],
)
def test_a_value_that_its_column_cannot_hold_is_refused(kind: str, value: Any) -> None:
    """It never becomes another value."""
    with pytest.raises((ValueError, TypeError, OverflowError, AttributeError)) as failure:
        list(NativeBlock(["c"], [kind]).pieces([[value]]))
    assert not is_transient(failure.value)


@pytest.mark.parametrize("kind", ["{}", "Array({})", "Map({}, {})", "Array(Map({}, {}))"])
@given(data=st.data())
def test_repeated_texts_are_written_as_any_others(kind: str, data: st.DataObject) -> None:
    """A type of low cardinality says how the engine stores a text, not how it is sent; rows may share a map."""
    of_kind = {"{}": texts, "Array({})": st.lists(texts, max_size=3), "Map({}, {})": maps}
    drawn = data.draw(st.lists(of_kind.get(kind, st.lists(maps, max_size=3)), min_size=1, max_size=5))
    values = data.draw(st.lists(st.sampled_from(drawn), max_size=12))
    low, plain = (NativeBlock(["c"], [kind.replace("{}", text)]) for text in ("LowCardinality(String)", "String"))
    assert b"".join(low.pieces([values])) == b"".join(plain.pieces([values]))


def test_a_resource_that_many_rows_share_is_never_in_memory_as_often() -> None:
    """A request of one large resource and many small spans is small; its rows are not."""
    shared = {"dump": "x" * 100_000, "host": "h"}
    pieces = list(map(len, NativeBlock(["c"], ["Map(LowCardinality(String), String)"]).pieces([[shared] * 400])))
    assert max(pieces) < 10_000_000
    assert sum(pieces) > 40_000_000


def test_columns_of_different_lengths_are_refused() -> None:
    """They would shift all that follows them."""
    with pytest.raises(ValueError, match="same length"):
        list(NativeBlock(["a", "b"], ["String", "String"]).pieces([["x"], []]))


def test_an_unknown_type_is_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(ValueError, match="IPv6"):
        NativeBlock(["a"], ["Array(IPv6)"])


def test_a_missing_column_is_a_schema_of_another_version(store: Store) -> None:
    """It passes once the schema is migrated."""
    with pytest.raises(RetryableError, match="no column Nowhere"):
        store.insert("spans", ["Nowhere"], [["x"]])


def test_an_insert_that_breaks_off_stores_nothing(store: Store, store_folder: Path) -> None:
    """Neither the rows before the failure nor a half; the next insert is whole."""
    store.command("CREATE TABLE numbers (n UInt64) ENGINE = MergeTree ORDER BY n")
    streams = InsertStreams(str(store_folder))
    into = f"INSERT INTO {store.database}.numbers (n)"
    block = NativeBlock(["n"], ["UInt64"])

    def breaks() -> Iterator[bytes]:
        yield from block.pieces([list(range(100_000))])
        raise ValueError("no more")

    try:
        with pytest.raises(ValueError, match="no more"):
            streams.insert(into, breaks())
        assert store.rows("SELECT count() FROM numbers") == [(0,)]
        streams.insert(into, block.pieces([[1, 2, 3]]))
        assert store.rows("SELECT groupArray(n) FROM numbers") == [([1, 2, 3],)]
        with pytest.raises(DatabaseError) as failure:
            streams.insert(f"INSERT INTO {store.database}.nowhere (n)", block.pieces([[1]]))
        assert is_transient(failure.value)
        streams.insert(into, block.pieces([[4]]))
        assert store.rows("SELECT max(n) FROM numbers") == [(4,)]
    finally:
        streams.close()
        store.command("DROP TABLE numbers SYNC")
