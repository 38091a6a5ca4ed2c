"""Human annotations in the store."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tracejury.collector.store.annotations import load_annotations, save_annotations
from tracejury.collector.store.client import Store
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.taxonomy import Severity

pytestmark = pytest.mark.store

ONE = Annotation("1", "a" * 32, "b" * 16, "ann", "Tool-related", Severity.HIGH, "quote", "why", changed_at=5)


def test_they_come_back_as_they_were(store: Store) -> None:
    """Every field; by trace; twice the same is one."""
    other = replace(ONE, id="2", trace_id="c" * 32, severity=Severity.LOW, taxonomy="own", evidence="", explanation="")
    save_annotations(store, [ONE, other])
    save_annotations(store, [ONE])
    assert load_annotations(store, [ONE.trace_id, other.trace_id, "d" * 32]) == {
        ONE.trace_id: [ONE], other.trace_id: [other],
    }  # fmt: skip


def test_the_latest_change_wins(store: Store) -> None:
    """In whatever order they are stored; a withdrawn one counts nowhere."""
    changed = replace(ONE, category="Goal Deviation", changed_at=6)
    save_annotations(store, [changed])
    save_annotations(store, [ONE])
    assert load_annotations(store, [ONE.trace_id]) == {ONE.trace_id: [changed]}
    save_annotations(store, [replace(changed, withdrawn=True, changed_at=7)])
    assert load_annotations(store, [ONE.trace_id]) == {}


def test_tenants_do_not_mix(store: Store) -> None:
    """Each reads its own."""
    save_annotations(store, [replace(ONE, tenant="x")])
    assert load_annotations(store, [ONE.trace_id]) == {}
    assert load_annotations(store, [ONE.trace_id], "x") == {ONE.trace_id: [replace(ONE, tenant="x")]}


def test_nothing_and_failures(store: Store) -> None:
    """Nothing to store is fine; what can never be stored and what may pass are told apart."""
    save_annotations(store, [])
    with pytest.raises(StoreError):
        save_annotations(store, [replace(ONE, evidence="\ud800")])
    store.command("RENAME TABLE annotations TO away")
    with pytest.raises(RetryableError):
        save_annotations(store, [ONE])
