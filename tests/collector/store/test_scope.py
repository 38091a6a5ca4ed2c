"""Every query carries its tenant."""

from __future__ import annotations

import pytest

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT, Scope


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count() FROM spans",
        "SELECT count() FROM spans WHERE tenant = ''",
        f"SELECT count() FROM spans WHERE {TENANT} AND TraceId IN (SELECT TraceId FROM traces)",
    ],
)
def test_a_query_without_it_is_refused(store: Store, sql: str) -> None:
    """A table that is not restricted is a mistake of ours, noticed at the first run."""
    with pytest.raises(ValueError, match="tenant"):
        Scope(store).select(sql)


def test_a_query_with_it_runs(store: Store) -> None:
    """Once a table; sub-selects included."""
    sql = f"SELECT count() FROM spans WHERE {TENANT} AND TraceId IN (SELECT TraceId FROM traces WHERE {TENANT})"
    assert Scope(store, "x").select(sql) == [(0,)]
    assert Scope(store, "x").select(f"SELECT count() FROM (SELECT 1 FROM spans WHERE {TENANT})") == [(0,)]
