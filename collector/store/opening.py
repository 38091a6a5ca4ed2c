"""The store as `serve` opens it: migrated, with the retention and fsync that the configuration asks for."""

from __future__ import annotations

import re
import time
from contextlib import suppress
from typing import Final

from tracejury.schemas.annotations import LABELS
from tracejury.schemas.errors import TracejuryError

from .client import Store
from .config import StoreConfig
from .lists.pending import list_pending
from .migrate import FIRST, ensure
from .retention import DAY, Retention
from .shared_store import SharedStore

RETAINED: Final = (
    "spans",
    "logs",
    "media",
    "traces",
    "judgements",
    "findings",
    "errors",
    "verdicts",
    "answers",
    "joins",
    "texts",
    "deliveries",
    "exports",
    "run_facts",
    "outlines",
    "deletions",
    "cluster_names",
    "alerts",
    "alert_rules",
    "scores",
)
"""Tables whose rows expire by `ReceivedAt`."""

KEPT: Final = (
    *(kind.table for kind in LABELS),
    "rule_calibrations",
    "architectures",
    "install",
    "receipts",
    "requests",
    "saved_views",
    "sweeps",
    "underived",
)
"""Tables whose rows never expire: what people said and did, what follows from it, and facts of the installation."""

_TTL = re.compile(r" TTL (.+?)(?: SETTINGS |$)")

_ENGINES: Final = """
SELECT name, engine_full FROM system.tables WHERE database = currentDatabase() AND name IN {names:Array(String)}
"""


def open_store(config: StoreConfig) -> SharedStore:
    """Open, migrate where that is allowed, and apply retention and fsync; on failure nothing is left open.

    Traces that an earlier process has stored and not judged are in lists from then on.

    Raises:
        ConfigError: what the user must mend before it can start.
        RetryableError, StoreError: the store failed.
    """
    store = SharedStore.open(config.dsn, config)
    try:
        store.is_new = any(name.startswith(FIRST) for name in ensure(store, allowed=config.migrate))
        apply_settings(store)
        store.tombstones.load(store, time.time_ns())
        with suppress(TracejuryError):  # where it takes no rows the worker tries again
            list_pending(store)  # of what an earlier process left
    except BaseException:
        store.close()
        raise
    return store


def apply_settings(store: Store) -> None:
    """Bring retention and fsync of every table in line with the store's configuration, changing only what differs."""
    tables = {store.stored(table): table for table in (*RETAINED, *KEPT)}
    for stored, engine in store.rows(_ENGINES, {"names": list(tables)}):
        table = tables[stored]
        if table in RETAINED:
            _retention(store, table, engine)
        _fsync(store, table, engine)


def _retention(store: Store, table: str, engine: str) -> None:
    found = _TTL.search(engine)
    least = round(store.config.tombstone_days * DAY) if table == "deletions" else 0
    wanted = Retention(store.config).ttl(least)
    if not wanted:
        if found:
            store.command(f"ALTER TABLE {table} REMOVE TTL")
    elif not found or found.group(1) != wanted:
        store.command(f"ALTER TABLE {table} MODIFY TTL {wanted}")


def _fsync(store: Store, table: str, engine: str) -> None:
    if ("fsync_after_insert = 1" in engine) != store.config.fsync:
        on = int(store.config.fsync)
        store.command(f"ALTER TABLE {table} MODIFY SETTING fsync_after_insert = {on}, fsync_part_directory = {on}")
