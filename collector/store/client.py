"""The client of ClickHouse, embedded (chdb) or a server: only it and `embedded` talk to clickhouse-connect."""

from __future__ import annotations

import importlib.util
import logging
import queue
import shutil
import stat
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from tracejury.schemas.errors import ConfigError, RetryableError, StoreError, TracejuryError

from . import cluster, folder_lock
from .config import StoreConfig
from .dsn import Target, parse_dsn
from .embedded import SETTINGS, connect_embedded
from .failures import damaged_part, is_transient, one_line, root_cause
from .folder_identity import FolderIdentity
from .insert_streams import InsertStreams
from .mutations import hurried
from .native import NativeBlock
from .write_gate import WriteGate

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client
    from filelock import FileLock

log = logging.getLogger(__name__)

_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO

_ENGINES: Final = frozenset({"data", "metadata", "metadata_dropped", "status", "store", "tmp"})
"""Entries that the engine makes in its folder; each folder that it has used holds one of them."""


UNREADABLE: Final = "the data part {} is damaged: stop the collector and run `tracejury store check`"

_WORDS: Final = {"exclude_materialize_skip_indexes_on_insert": "words"}
"""The index of words of a table is made by merges alone: what was not merged yet is little to read through, and each
text would be taken apart at its insert and again by the next merge."""

_COLUMN_TYPES: Final = """
SELECT name, type FROM system.columns WHERE database = {database:String} AND table = {name:String}
"""

_DATA_PATHS: Final = """
SELECT arrayJoin(data_paths) FROM system.tables WHERE database = {database:String} AND name = {name:String}
"""


class Store:
    """Statements on one database. Safe to use from several threads: each statement takes a client of its own.

    All methods block; call them from worker threads. They raise RetryableError for what may pass (network, disk,
    memory), StoreError for the rest.
    """

    def __init__(self, target: Target, config: StoreConfig, lock: FileLock | None = None) -> None:
        """Use `Store.open`."""
        self.target = target
        self.config = config
        self.cluster = cluster.Cluster(config.cluster, target.database) if config.cluster else None
        """Of the servers that share the store, where several do."""
        self.write_gate = WriteGate()
        """Closed by backups of an embedded store, which one process alone writes to; servers make their own."""
        self._idle: queue.LifoQueue[Client] = queue.LifoQueue()
        self._slots = threading.BoundedSemaphore(config.clients)
        self._blocks: dict[tuple[str, tuple[str, ...]], NativeBlock] = {}
        self._streams = InsertStreams(target.path) if target.path else None
        self._lock = lock
        self._identity: FolderIdentity | None = None
        self._closed = False
        self.is_incomplete = False
        """Whether stored rows are known to be missing: `StoreHealth` says so, of each process for itself."""
        self.is_new = False
        """Whether `open_store` made it, for there was none."""
        self.unreadable: set[str] = set()
        """Data parts on which a statement has failed."""

    @classmethod
    def open(cls, dsn: str, config: StoreConfig | None = None) -> Self:
        """Open the store behind `dsn` (see `parse_dsn`). The database may not exist yet: `migrate` makes it.

        Raises:
            ConfigError: bad DSN, engine not installed, folder held by another process, server not reachable.
        """
        target = parse_dsn(dsn)
        config = config or StoreConfig(dsn=dsn)
        if target.path is None:
            target.check_certificates()
            store = cls(target, config)
            store._check_server()
            return store
        if config.cluster:
            raise ConfigError(f"store.cluster names a cluster of ClickHouse servers, and the store {dsn} is embedded")
        if importlib.util.find_spec("chdb") is None:
            raise ConfigError(
                "the embedded store needs its engine: pip install 'tracejury[embedded]' (or name a ClickHouse server)"
            )
        _check_folder(Path(target.path))
        lock = folder_lock.acquire(target.path)
        try:
            store = cls(target, config, lock)
            _keep_private(Path(target.path))
            store._idle.put(connect_embedded(target, config))
            store._identity = FolderIdentity((Path(target.path), folder_lock.lock_file(target.path)))
        except BaseException:
            folder_lock.release(lock)
            raise
        return store

    @property
    def database(self) -> str:
        """The name of the database."""
        return self.target.database

    @property
    def embedded(self) -> bool:
        """Whether the engine runs in this process."""
        return self.target.embedded

    @property
    def folder(self) -> Path | None:
        """The embedded engine's folder, None for a server."""
        return Path(self.target.path) if self.target.path else None

    @property
    def data_folder(self) -> Path:
        """The folder of files that are not the engine's: beside an embedded store, else `./.tracejury`."""
        return self.folder.parent if self.folder else Path(".tracejury").resolve()

    def free_bytes(self) -> int | None:
        """Free bytes of the disk that holds an embedded store; None for a server, which answers for itself."""
        return shutil.disk_usage(self.target.path).free if self.target.path else None

    def folder_problem(self) -> str:
        """That the embedded store's files were removed or replaced since it was opened; "" where they were not."""
        return self._identity.problem() if self._identity else ""

    def rows(self, sql: str, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        """All rows of a SELECT. Values only ever come in as bound `{name:Type}` parameters."""
        with self._client() as client:
            return list(client.query(sql, parameters=_clean(parameters)).result_rows)

    def command(self, sql: str, parameters: Mapping[str, Any] | None = None, *, mutated: str = "") -> None:
        """Run a statement without a result, which may write; `mutated`: the table whose stored rows it changes."""
        hurry = hurried(self._nudge, mutated) if mutated and self.embedded else nullcontext()
        with self.write_gate.writing(), hurry, self._client() as client:
            for statement in self.cluster.statements(sql) if self.cluster else (sql,):
                client.command(statement, parameters=_clean(parameters))

    def _nudge(self, sql: str) -> None:
        with self._client() as client:
            client.command(sql)

    def database_exists(self) -> bool:
        """Whether the database has been made."""
        with self._client(in_database=False) as client:
            return self._exists(client)

    def create_database(self) -> None:
        """Make the database where it is missing."""
        with self._client(in_database=False) as client:
            client.command(f"CREATE DATABASE IF NOT EXISTS `{self.database}` {self._on_cluster}")

    def drop_database(self) -> None:
        """Drop the database with all it holds."""
        with self._client(in_database=False) as client:
            client.command(f"DROP DATABASE IF EXISTS `{self.database}` {self._on_cluster} SYNC")

    @property
    def _on_cluster(self) -> str:
        return self.cluster.clause if self.cluster else ""

    def stored(self, table: str) -> str:
        """The table of a server that holds rows of `table`, as its system tables have it."""
        return cluster.local(table) if self.cluster else table

    def every(self, table: str) -> str:
        """A system table, of all servers that share the store."""
        return self.cluster.every(table) if self.cluster else table

    def insert(
        self,
        table: str,
        names: Sequence[str],
        columns: Sequence[Sequence[Any]],
        *,
        merged: bool = True,
        copy: Callable[[bytes], None] | None = None,
    ) -> None:
        """Insert rows given by column; returns once they are committed. `copy` gets the block, piece by piece.

        Unless `merged`, rows of one key stay beside each other until a merge, as those of two inserts do: the engine
        need not copy all rows to find them. FINAL reads one of them in any case.

        Raises the driver's own errors, unmapped: whoever inserts decides by `failures` what they mean. Raises
        RetryableError where the store's folder was removed or replaced.
        """
        if not columns[0]:
            return
        with self.write_gate.writing(), self._client(mapped=False) as client:
            pieces = self._block(client, table, tuple(names)).pieces(columns)
            if copy:
                pieces = _copied(pieces, copy)
            settings = {"optimize_on_insert": int(merged), **_WORDS}
            if self._streams:
                listed = ", ".join(f"`{name}`" for name in names)
                how = ", ".join(f"{name} = {value!r}" for name, value in {**SETTINGS, **settings}.items())
                self._streams.insert(f"INSERT INTO `{self.database}`.`{table}` ({listed}) SETTINGS {how}", pieces)
            else:
                _send(client, table, names, pieces, settings)
        if self._identity:
            self._identity.check()

    def close(self) -> None:
        """Close all clients; idempotent. The last store of a process on a folder releases it."""
        if self._closed:
            return
        self._closed = True
        for _ in range(self.config.clients):  # waits for statements that still run
            self._slots.acquire()
        if self._streams:
            self._streams.close()
        while not self._idle.empty():
            self._idle.get_nowait().close()
        if self._lock is not None:
            folder_lock.release(self._lock)
        self._slots.release(self.config.clients)  # whoever waits for a client is told that the store is closed

    @contextmanager
    def _client(self, *, mapped: bool = True, in_database: bool = True) -> Iterator[Client]:
        with self._slots:
            if self._closed:
                raise RetryableError("the store is closed")
            try:
                client = self._take()
                try:
                    if in_database:
                        self._enter(client)
                    yield client
                except Exception:
                    client = self._after_failure(client)
                    raise
                finally:
                    self._idle.put(client)
            except TracejuryError:
                raise
            except Exception as error:
                if not mapped:
                    raise
                if problem := self.folder_problem():
                    raise RetryableError(problem) from error
                if part := damaged_part(error):
                    self.unreadable.add(part)
                    raise StoreError(f"the store failed: {UNREADABLE.format(part)}") from error
                kind = RetryableError if is_transient(error) else StoreError
                raise kind(f"the store failed: {one_line(error)}") from error

    def _take(self) -> Client:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return self._connect()

    def _after_failure(self, client: Client) -> Client:
        """The client for the next statement: after a failed stream the embedded engine's would go on with its rest."""
        if not self.embedded:
            return client
        try:
            return self._connect()
        finally:
            client.close()  # after the other one is open: the last connection takes the engine with it

    def _enter(self, client: Client) -> None:
        # Never run a statement of ours in whatever database happens to be the default.
        if client.database == self.database:
            return
        if not self._exists(client):
            raise StoreError(f"the store has no database {self.database!r}: run `tracejury migrate`")
        client.database = self.database

    def _connect(self) -> Client:
        if self.embedded:
            return connect_embedded(self.target, self.config)
        import clickhouse_connect

        settings = {**SETTINGS, **(cluster.SETTINGS if self.cluster else {})}
        return clickhouse_connect.get_client(
            settings=settings, autogenerate_session_id=False, query_retries=0, **self.target.options
        )

    def _exists(self, client: Client) -> bool:
        sql = "SELECT count() FROM system.databases WHERE name = {name:String}"
        return bool(client.query(sql, parameters={"name": self.database}).result_rows[0][0])

    def _block(self, client: Client, table: str, names: tuple[str, ...]) -> NativeBlock:
        known = self._blocks.get((table, names))
        if known is None:
            if self._identity:
                self._identity.add(self._data_files(client, table))
            parameters = {"database": self.database, "name": table}
            rows = client.query(_COLUMN_TYPES, parameters=parameters).result_rows
            types = {str(name): str(kind) for name, kind in rows}
            if missing := [name for name in names if name not in types]:
                raise RetryableError(f"the table {table} has no column {missing[0]}: its schema is of another version")
            known = self._blocks[table, names] = NativeBlock(names, [types[name] for name in names])
        return known

    def _data_files(self, client: Client, table: str) -> Iterator[Path]:
        names = {"database": self.database, "name": table}
        for (path,) in client.query(_DATA_PATHS, parameters=names).result_rows:
            yield Path(path)
            yield Path(path) / "format_version.txt"  # a folder that is being removed loses its files first

    def _check_server(self) -> None:
        from clickhouse_connect.driver.exceptions import Error

        try:
            client = self._connect()
            self._idle.put(client)
            if self.cluster:
                self.cluster.check(client.query(cluster.SERVED).result_rows[0], self.target.shown)
        except Error as error:
            raise ConfigError(f"the store {self.target.shown} does not answer: {root_cause(error)}") from error
        except TypeError as error:  # options are the driver's own, so only it knows them
            raise ConfigError(f"the store {self.target.shown} has an unknown option: {one_line(error)}") from error


def _check_folder(folder: Path) -> None:
    """The engine makes a folder its own: never one that holds other things. Raises ConfigError."""
    try:
        held = {entry.name for entry in folder.iterdir()} - {"lost+found"}  # at the top of any ext4 volume
    except OSError:  # missing: it is made; unusable: whoever locks it says why
        return
    if held and not held & _ENGINES:
        raise ConfigError(
            f"the store folder {folder} holds other files and no store: name a folder that is empty, or not there yet"
        )


def _keep_private(folder: Path) -> None:
    """Close the folder to other users: it holds all that agents were told. Raises ConfigError."""
    mode = stat.S_IMODE(folder.stat().st_mode)
    if not mode & _OTHERS:
        return
    try:
        folder.chmod(mode & ~_OTHERS)
    except OSError as error:
        if mode & stat.S_IRWXO:
            raise ConfigError(
                f"the store folder {folder} is open to every user ({mode:o}) and cannot be closed ({error.strerror}): "
                "run chmod 700 on it as its owner, or name another folder"
            ) from error
        return  # a volume that its group may use, as orchestrators mount them
    if any(entry.name in _ENGINES for entry in folder.iterdir()):
        log.warning("the store folder %s was open to other users (%o) and is closed to them now", folder, mode)


def _copied(pieces: Iterable[bytes], copy: Callable[[bytes], None]) -> Iterator[bytes]:
    for piece in pieces:
        copy(piece)
        yield piece


def _clean(parameters: Mapping[str, Any] | None) -> dict[str, Any]:
    return {key: _encodable(value) for key, value in (parameters or {}).items()}


def _encodable(value: Any) -> Any:
    # No stored text holds a lone surrogate, so such a parameter finds nothing; the engine would raise on it.
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, list | tuple):
        return [tuple(map(_encodable, v)) if isinstance(v, tuple) else _encodable(v) for v in value]
    return value


def _send(client: Client, table: str, names: Sequence[str], pieces: Iterable[bytes], settings: dict[str, Any]) -> None:
    """Insert a Native block by HTTP, compressed as the driver has agreed with the server."""
    from clickhouse_connect.driver.compression import get_compressor

    compressor = get_compressor(client.write_compression)
    block = bytes(compressor.compress_block(b"".join(pieces)))
    block += compressor.flush() or b""  # type: ignore[no-untyped-call]  # the driver has no annotations there
    client.raw_insert(table, names, block, fmt="Native", compression=client.write_compression, settings=settings)
