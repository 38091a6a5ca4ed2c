"""Connections to the embedded engine (chdb), which shares a process with the collector."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tracejury.schemas.errors import ConfigError

from .config import StoreConfig
from .dsn import Target
from .failures import one_line

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

SETTINGS: Final[Mapping[str, Any]] = {
    # The writer groups commits itself; the engine's own asynchronous inserts would add their delay on top.
    "async_insert": 0,
    # A server's query log would grow by a row a statement of ours.
    "log_queries": 0,
}
"""Of each statement, also on a server."""

# The engine's own defaults are gigabytes each, meant for a server with the machine to itself.
_CACHES: Final = ("mark_cache_size", "index_mark_cache_size", "primary_index_cache_size")

# Of a process that does nothing the engine would take half a second a minute: it compares its memory with the system's
# twenty times a second, and first looks every .1 s, then less and less often, at each table for parts to merge, move or
# stream. An insert has its table looked at for merges at once; nothing is moved or streamed.
_IDLE: Final = {
    "memory_worker_period_ms": 500,
    "background_processing_pool_thread_sleep_seconds_if_nothing_to_do": 5,
    "background_move_processing_pool_thread_sleep_seconds_if_nothing_to_do": 300,
    "background_streaming_processing_pool_thread_sleep_seconds_if_nothing_to_do": 300,
}


def connect_embedded(target: Target, config: StoreConfig) -> Client:
    """A connection to the engine in the target's folder, which opens it where none has. Raises ConfigError."""
    import clickhouse_connect
    from clickhouse_connect.driver.exceptions import ProgrammingError

    with _no_arrow():
        import chdb.state  # noqa: F401

    # Of all stores of a process the first one's options hold.
    options: dict[str, int | str] = {"max_server_memory_usage": config.max_memory_bytes, **_IDLE}
    options |= dict.fromkeys(_CACHES, config.max_memory_bytes // 16)
    options["backups.allowed_path"] = "/"  # of BACKUP, which only we run; the option cannot hold every path
    try:
        return clickhouse_connect.get_client(
            interface="chdb", path=target.path, chdb_options=options, settings=dict(SETTINGS)
        )
    except ProgrammingError as error:
        raise ConfigError(f"the embedded store {target.path} cannot be opened: {_cause(target, error)}") from error


@contextmanager
def _no_arrow() -> Iterator[None]:
    """Keep chdb from importing pyarrow: .1 s and 30 MB, for formats that we do not read."""
    if "pyarrow" in sys.modules:
        yield
        return
    sys.modules["pyarrow"] = None  # type: ignore[assignment]  # so an import fails as if it were not installed
    try:
        yield
    finally:
        del sys.modules["pyarrow"]


def _cause(target: Target, error: Exception) -> str:
    # The engine writes its holder's pid into its own status file: a holder that is no tracejury.
    status = Path(target.path or "") / "status"
    try:
        holder = next(line for line in status.read_text().splitlines() if line.startswith("PID:"))
    except (OSError, StopIteration):
        return one_line(error)
    return f"it may be held by another process ({holder}); {one_line(error)}"
