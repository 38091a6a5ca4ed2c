"""Retention by project and by service: which rule holds, what the engine drops, and what the sweep deletes."""

from __future__ import annotations

import os
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from judging_bench import Bench, span
from pydantic import ValidationError

from tracejury.collector.store import opening
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.retention import DAY, Retention, expired
from tracejury.collector.store.retention_sweep import RetentionSweep
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import Span

NANOS_A_DAY = DAY * SECOND

RULES: list[dict[str, Any]] = [
    {"project": "lab", "days": 365},
    {"service": "bot", "days": 7},
    {"project": "lab", "service": "bot", "days": 3},
    {"project": "lab", "service": "audit", "days": None},
    {"project": "", "service": "kept", "days": 90},
]


def retention(*rules: dict[str, Any], days: float | None = 30) -> Retention:
    return Retention(StoreConfig.model_validate({"retention_days": days, "retention": rules or RULES}))


@pytest.mark.parametrize(
    ("project", "service", "days"),
    [
        ("", "shop", 30), ("", "bot", 7), ("", "kept", 90), ("other", "kept", 30), ("other", "bot", 7),
        ("lab", "shop", 365), ("lab", "bot", 3), ("lab", "audit", None), ("lab", "kept", 365), ("", "", 30),
    ],
)  # fmt: skip
def test_the_rule_that_names_most_holds(project: str, service: str, days: int | None) -> None:
    """A service goes before a project, both together before either."""
    found = retention().of(project, service)
    assert found == (None if days is None else days * DAY)


def test_a_project_is_kept_as_long_as_any_of_its_services() -> None:
    """And as its other services."""
    found = retention()
    assert found.longest("lab") is None
    assert (found.longest(""), found.longest("other")) == (90 * DAY, 30 * DAY)
    assert found.shortest() == 30 * DAY


_NAMES = st.sampled_from(["*", "", "a", "b"])
_RULE = st.fixed_dictionaries(
    {"project": _NAMES, "service": st.sampled_from(["*", "x", "y"]), "days": st.none() | st.sampled_from([1, 5, 40])}
).filter(lambda rule: rule["project"] != "*" or rule["service"] != "*")


@given(st.lists(_RULE, min_size=1, max_size=5), st.none() | st.just(30))
def test_the_engine_never_drops_what_a_rule_keeps(rules: list[dict[str, Any]], days: int | None) -> None:
    """For every project the TTL is at least what each of its services has."""
    found = retention(*rules, days=days)
    for project in ("", "a", "b", "c"):
        longest = found.longest(project)
        for service in ("", "x", "y", "z"):
            kept = found.of(project, service)
            assert longest is None or (kept is not None and kept <= longest)


@pytest.mark.parametrize("rule", [{"days": 3}, {"project": "*", "service": "*", "days": 3}])
def test_a_rule_of_everything_is_refused(rule: dict[str, Any]) -> None:
    """That is what `retention_days` says."""
    with pytest.raises(ValidationError, match="name a project or a service"):
        StoreConfig.model_validate({"retention": [rule]})


@pytest.mark.parametrize("project", ["a'b", "a\\", "x', 1) OR 1 = 1 --"])
def test_a_project_that_no_key_can_have_is_refused(project: str) -> None:
    """Its name stands in the definition of tables."""
    with pytest.raises(ValidationError, match="quotes"):
        StoreConfig.model_validate({"retention": [{"project": project, "days": 1}]})


def arrived(store: SharedStore, project: str, name: str, days: float, service: str = "shop") -> Span:
    """A span of a trace of its own that arrived so many days ago by the real clock."""
    one = replace(span("1", trace_id=name * 32), tenant=project, service=service)
    store.insert("spans", SPAN_COLUMNS, span_columns([one], time.time_ns() - round(days * NANOS_A_DAY)))
    return one


def left(store: SharedStore) -> set[tuple[str, str]]:
    return {(row[0], row[1][0]) for row in store.rows("SELECT DISTINCT tenant, TraceId FROM spans FINAL")}


def test_the_engine_drops_by_project(served_dsn: str) -> None:
    """A start brings the tables in line; the same start again changes nothing."""
    config = StoreConfig.model_validate(
        {"dsn": served_dsn, "retention_days": 30, "retention": [{"project": "lab", "days": 2}]}
    )
    store = SharedStore.open(served_dsn, config)
    opening.apply_settings(store)
    before = store.rows("SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()")
    opening.apply_settings(store)
    assert store.rows("SELECT name, engine_full FROM system.tables WHERE database = currentDatabase()") == before
    for project, name, days in (("", "a", 3), ("", "b", 40), ("lab", "c", 1), ("lab", "d", 3)):
        arrived(store, project, name, days)
    store.command("OPTIMIZE TABLE spans FINAL")
    assert left(store) == {("", "a"), ("lab", "c")}
    store.close()


def swept(store: SharedStore, bench: Bench, folder: Path) -> int:
    """The number of traces that one sweep deletes."""
    letters = DeadLetterFolder(folder, 1 << 20)
    clock = lambda: bench.now  # noqa: E731
    sweep = RetentionSweep(
        store, lambda tenant: Deletion(store, bench.judging, clock=clock, tenant=tenant), letters, clock
    )
    return sweep.run()


def test_the_sweep_deletes_by_service_when_its_time_is_over(store: SharedStore, tmp_path: Path) -> None:
    """By the injected clock, judged or not, with all that was found; what is sent again is stored."""
    store.config = StoreConfig.model_validate({"retention": [{"service": "bot", "days": 7}]})
    bench = Bench(store)
    bench.commit(replace(span("1", output="boom", trace_id="a" * 32), service="bot"), span("1", trace_id="b" * 32))
    bench.wait(6)
    bench.commit(replace(span("1", trace_id="c" * 32), service="bot"), tell=False)
    bench.now += 7 * NANOS_A_DAY - 1
    assert swept(store, bench, tmp_path) == 1  # the first arrived six seconds before the other
    assert left(store) == {("", "b"), ("", "c")}
    assert store.rows("SELECT count() FROM findings FINAL") == [(0,)]
    bench.now += 2
    assert swept(store, bench, tmp_path) == 1
    assert left(store) == {("", "b")}
    bench.commit(replace(span("1", trace_id="c" * 32), service="bot"))
    assert left(store) == {("", "b"), ("", "c")}


def test_a_store_without_rules_is_left_to_the_engine(store: SharedStore) -> None:
    """No query is made for nothing."""
    arrived(store, "", "a", 100)
    assert list(expired(store, Retention(StoreConfig()), time.time_ns())) == []


def test_what_was_deleted_leaves_the_disk(store: SharedStore, tmp_path: Path) -> None:
    """A deleted row is masked at once; the next sweep rewrites its part."""
    bench = Bench(store)
    bench.commit(span("1", trace_id="a" * 32), span("1", trace_id="b" * 32))
    Deletion(store, bench.judging, clock=lambda: bench.now).delete(DeleteQuery(trace_id="a" * 32))
    table = f"database = currentDatabase() AND table = '{store.stored('spans')}'"
    rows = f"SELECT sum(rows) FROM system.parts WHERE {table} AND active"
    assert store.rows(rows) == [(2,)]
    swept(store, bench, tmp_path)
    assert store.rows(f"{rows} AND NOT has_lightweight_delete") == [(1,)]


def test_dead_letters_are_kept_as_long_as_their_project(store: SharedStore, tmp_path: Path) -> None:
    """By the time of their last change."""
    store.config = StoreConfig.model_validate({"retention_days": 30, "retention": [{"project": "lab", "days": 2}]})
    bench, letters = Bench(store), DeadLetterFolder(tmp_path, 1 << 20)
    kept = {project: letters.keep_body("traces", "json", project.encode() or b"{}", project) for project in ("", "lab")}
    for file in kept.values():
        assert file
        os.utime(file, ns=(bench.now, bench.now))
    for days, expected in ((2, {"", "lab"}), (1, {""}), (27, {""}), (1, set())):
        bench.now += days * NANOS_A_DAY
        swept(store, bench, tmp_path)
        assert {project for project, file in kept.items() if file and file.exists()} == expected
