"""The store as `serve` opens it: brought up to date, with the settings that the configuration decides."""

from __future__ import annotations

from .client import Store
from .config import StoreConfig
from .migrate import ensure
from .upkeep import apply


def open_store(config: StoreConfig) -> Store:
    """Open, migrate where that is allowed, and apply retention and fsync; on failure nothing is left open.

    Raises:
        ConfigError: what the user must mend before it can start.
        RetryableError, StoreError: the store failed.
    """
    store = Store.open(config.dsn, config)
    try:
        ensure(store, allowed=config.migrate)
        apply(store)
    except BaseException:
        store.close()
        raise
    return store
