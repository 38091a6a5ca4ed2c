"""Blocks are read as they were written."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from trajectories import FRAMEWORKS

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.otlp.files.files import read
from tracejury.collector.store.client import Store
from tracejury.collector.store.native import NativeBlock
from tracejury.collector.store.native_reading import read_blocks
from tracejury.schemas.rows import (
    LOG_COLUMNS,
    SPAN_COLUMNS,
    log_columns,
    logs_from_columns,
    span_columns,
    spans_from_columns,
)

# Lengths around those whose number takes one more byte.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8) | st.sampled_from(
    ["x" * size for size in (127, 128, 16_383, 16_384)] + ["ä€𝄞" * 50]
)


def whole(bits: int, *, signed: bool = False) -> st.SearchStrategy[int]:
    """Numbers of so many bits."""
    return st.integers(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)


COLUMNS: dict[str, st.SearchStrategy[Any]] = {
    "String": texts,
    "LowCardinality(String)": texts,
    "Bool": st.booleans(),
    "UInt8": whole(8),
    "UInt32": whole(32),
    "UInt64": whole(64),
    "Int32": whole(32, signed=True),
    "Int64": whole(64, signed=True),
    "Float64": st.floats(allow_nan=False),
    "DateTime64(9, 'UTC')": whole(64, signed=True),
    "FixedString(3)": st.binary(min_size=3, max_size=3),
    "Nullable(Float64)": st.none() | st.floats(allow_nan=False),
    "Nullable(String)": st.none() | texts,
    "Array(String)": st.lists(texts, max_size=3),
    "Array(UInt64)": st.lists(whole(64), max_size=3),
    "Map(LowCardinality(String), String)": st.dictionaries(texts, texts, max_size=3),
    "Array(Map(LowCardinality(String), LowCardinality(String)))": st.lists(
        st.dictionaries(texts, texts, max_size=2), max_size=2
    ),
}
ROWS = st.lists(st.tuples(*COLUMNS.values()), max_size=4)


def written(rows: Sequence[tuple[Any, ...]]) -> bytes:
    """A block of rows, a column for each type."""
    columns = [list(column) for column in zip(*rows, strict=True)] or [[] for _ in COLUMNS]
    return b"".join(NativeBlock([f"c{at}" for at in range(len(COLUMNS))], list(COLUMNS)).pieces(columns))


@given(st.lists(ROWS, max_size=3))
def test_all_types_come_back(blocks: list[list[tuple[Any, ...]]]) -> None:
    """Each block of several, with names in their order."""
    found = list(read_blocks(b"".join(map(written, blocks))))
    assert [list(zip(*block.values(), strict=True)) for block in found] == blocks
    assert all([*block] == [f"c{at}" for at in range(len(COLUMNS))] for block in found)


@settings(max_examples=300)
@given(ROWS.filter(bool), st.data())
def test_a_block_that_ends_too_early_is_an_error(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    """Of the kinds that readers of files expect."""
    block = written(rows)
    size = data.draw(st.integers(1, len(block) - 1))
    with pytest.raises((IndexError, ValueError)):
        list(read_blocks(block[:size]))


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")
def test_captures_come_back_as_they_were(store: Store) -> None:
    """Spans and log records, in the types of their tables, with the order of their attributes."""
    types = {
        (table, name): str(kind)
        for table, name, kind in store.rows(
            "SELECT table, name, type FROM system.columns WHERE database = {of:String}", {"of": store.database}
        )
    }
    spans, logs = (
        NativeBlock(SPAN_COLUMNS, [types["spans", name] for name in SPAN_COLUMNS]),
        NativeBlock(LOG_COLUMNS, [types["logs", name] for name in LOG_COLUMNS]),
    )
    batches = [
        decode(Signal.LOGS if isinstance(s.request, ExportLogsServiceRequest) else Signal.TRACES,
               Encoding.PROTOBUF, s.request.SerializeToString(), received_at=7).batch
        for s in read([FRAMEWORKS])
    ]  # fmt: skip
    for batch in batches:
        if batch.spans:
            (block,) = read_blocks(b"".join(spans.pieces(span_columns(batch.spans, 7))))
            assert repr(spans_from_columns(block)) == repr(list(batch.spans))
        if batch.logs:
            (block,) = read_blocks(b"".join(logs.pieces(log_columns(batch.logs, 7))))
            assert repr(logs_from_columns(block)) == repr(list(batch.logs))
    assert sum(len(batch) for batch in batches) > 100


def test_a_type_that_is_never_written_is_an_error() -> None:
    """By its name."""
    with pytest.raises(ValueError, match="no column of type IPv4 can be read"):
        list(read_blocks(b"\x01\x00\x01c\x04IPv4"))
