"""How many statements a list costs, and that reading one writes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import pytest
from listed_traces import Listed, Mark, store_all
from stored_readers import stored_reader

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery

ALL = Confidence.of("0")


class CountedStore(SharedStore):
    """The real store; keeps the statements that read, and those that write."""

    reads: list[str]
    writes: list[str]

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        self.reads.append(sql)
        return super().rows(sql, parameters)

    def insert(self, table: str, names: Sequence[str], columns: Sequence[Sequence[Any]], **options: Any) -> None:
        self.writes.append(table)
        super().insert(table, names, columns, **options)

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None, *, mutated: str = "") -> None:
        self.writes.append(sql)
        super().command(sql, parameters, mutated=mutated)


@pytest.fixture
def counted(store_dsn: str) -> Iterator[CountedStore]:
    store = CountedStore.open(store_dsn, StoreConfig(retention_days=None))
    assert isinstance(store, CountedStore)
    store.reads, store.writes = [], []
    yield store
    store.close()


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        (lambda reader: reader.traces(TraceQuery(ALL, 10)), 5),
        (lambda reader: reader.errors(ErrorQuery(ALL, 10)), 5),
        (lambda reader: reader.findings(ErrorQuery(ALL, 10)), 4),
        (lambda reader: reader.sessions(TraceQuery(ALL, 10)), 2),
    ],
    ids=["traces", "errors", "findings", "sessions"],
)
def test_a_list_costs_a_few_reads_and_no_write(
    counted: CountedStore, ask: Callable[[StoredReader], Sequence[object]], most: int
) -> None:
    """Where nothing has come since the list before: what has come is derived once."""
    store_all(counted, [Listed(n, session=f"talk-{n % 2}", marks=(Mark(),)) for n in range(1, 7)])
    reader = stored_reader(counted, AssemblerConfig())
    assert ask(reader)
    counted.reads.clear()
    counted.writes.clear()
    assert ask(reader)
    assert (len(counted.reads) <= most, counted.writes) == (True, [])
