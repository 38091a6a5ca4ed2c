"""Where spans are read from: a table of a ClickHouse server, or files of such a table."""

from __future__ import annotations

import glob
import importlib.util
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit, urlunsplit

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.dsn import Target, parse_dsn
from tracejury.collector.store.embedded import connect_embedded
from tracejury.collector.store.failures import is_transient, one_line, root_cause
from tracejury.schemas.errors import ConfigError, RetryableError, StoreError

from .columns import LOG_TABLE, SPAN_TABLE, TableSchema

if TYPE_CHECKING:
    from clickhouse_connect.driver.client import Client

DATABASE, TABLE, LOGS = "otel", "otel_traces", "otel_logs"
"""The names that the exporter's documentation uses."""
NO_LOGS: Final = "none"
_SUFFIXES: Final = (".parquet", ".json", ".jsonl", ".ndjson")
_PACKED: Final = frozenset({".gz", ".zst"})
_WITH_TYPES: Final = re.compile(r"\s*\{\s*\"meta\"\s*:")
"""How a file of ClickHouse's format JSON begins; all other JSON is rows, in lines or in a list."""
_KEYS: Final = "SELECT groupUniqArrayArray(JSONExtractKeys(row)) FROM (SELECT row FROM {file} LIMIT 1000)"
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}\Z")
_UNKNOWN_TABLE, _UNKNOWN_DATABASE = 60, 81
_REFUSED: Final = frozenset({192, 193, 194, 497, 516})
"""Unknown user, wrong or required password, access denied, authentication failed."""
_SIMILAR: Final = """
SELECT concat(database, '.', table) AS Name FROM system.columns WHERE name IN ('TraceId', 'SpanAttributes')
GROUP BY Name HAVING count() = 2 ORDER BY Name LIMIT 10
"""


def is_server(address: str) -> bool:
    """Whether it is the address of a server, else it is a path."""
    return "://" in address


def identity(address: str) -> str:
    """The address without user, password and options, by which progress is told apart."""
    parts = urlsplit(address)
    return f"{parts.hostname}:{parts.port}{parts.path}" if is_server(address) else address


@dataclass(frozen=True, slots=True)
class ExporterTables:
    """An open source. `spans`, `logs`: what their rows are selected from, as SQL; "" where there are no log records.

    `columns`, `log_columns`: the select lists of `items`' rows. `shown`: its name for people, without password.
    """

    client: Client
    shown: str
    spans: str
    columns: str
    logs: str = ""
    log_columns: str = ""

    def rows(self, sql: str, values: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        """All rows of a SELECT.

        Raises:
            RetryableError, StoreError: the server failed.
        """
        try:
            return list(self.client.query(sql, parameters=dict(values or {})).result_rows)
        except Exception as error:
            kind = RetryableError if is_transient(error) else StoreError
            raise kind(f"{self.shown} failed: {one_line(error)}") from error


@contextmanager
def opened(address: str, logs: str = "") -> Iterator[ExporterTables]:
    """The source at `clickhouse://user:password@host:port/database.table`, or of a file, a folder or a pattern.

    `logs`: the table, or file, of log records; "none" for none; by default a server's `otel_logs` where there is one.

    Raises:
        ConfigError: no such server, table or file, a wrong password, or a table of another kind.
    """
    if not is_server(address):
        files = _files(address), _files(logs) if logs not in {"", NO_LOGS} else []
        with tempfile.TemporaryDirectory(prefix="tracejury-backfill-") as folder, _embedded(Path(folder)) as client:
            spans = _imported(client, SPAN_TABLE, files[0], TABLE)
            with_logs = _imported(client, LOG_TABLE, files[1], LOGS) if files[1] else ("", "")
            yield ExporterTables(client, address, *spans, *with_logs)
        return
    parts = urlsplit(address)
    database, _, table = unquote(parts.path).strip("/").partition(".")
    target = parse_dsn(urlunsplit(parts._replace(path=f"/{database or DATABASE}")))
    if target.embedded:
        raise ConfigError("an embedded store is open in its collector only: name a ClickHouse server, or files")
    for name in filter(None, (table, logs)):
        if not _NAME.match(name):
            raise ConfigError(f"{name[:80]!r} is no plain name of a table (letters, digits, _)")
    client = _connected(target)
    try:
        spans = _described(client, target, SPAN_TABLE, table or TABLE)
        with_logs = ("", "")
        if logs != NO_LOGS:
            try:
                with_logs = _described(client, target, LOG_TABLE, logs or LOGS)
            except _MissingTableError:
                if logs:
                    raise
        place = f"{target.database}.{table or TABLE} of {parts.hostname}"
        yield ExporterTables(client, place, *spans, *with_logs)
    finally:
        client.close()


class _MissingTableError(ConfigError):
    """There is no such table."""


def _connected(target: Target) -> Client:
    import clickhouse_connect
    from clickhouse_connect.driver.exceptions import Error

    target.check_certificates()
    try:
        client = clickhouse_connect.get_client(autogenerate_session_id=False, query_retries=2, **target.options)
    except Error as error:
        if getattr(error, "code", None) in _REFUSED:
            raise ConfigError(f"{target.shown} refuses the user or password: {one_line(error)}") from error
        raise ConfigError(f"{target.shown} does not answer: {root_cause(error)}") from error
    except TypeError as error:  # options are the driver's own
        raise ConfigError(f"{target.shown} has an unknown option: {one_line(error)}") from error
    held = client.server_settings.get("readonly")
    if held is None or held.value == "0":  # a user who may only read must not even say so
        client.set_client_setting("readonly", 1)
    return client


def _described(client: Client, target: Target, schema: TableSchema, table: str) -> tuple[str, str]:
    """A table's name and its select list."""
    from clickhouse_connect.driver.exceptions import Error

    name = f"`{target.database}`.`{table}`"
    try:
        found = _columns(client, name)
    except Error as error:
        if getattr(error, "code", None) not in {_UNKNOWN_TABLE, _UNKNOWN_DATABASE}:
            kind = RetryableError if is_transient(error) and error.code not in _REFUSED else ConfigError
            raise kind(f"{target.shown}: {one_line(error)}") from error
        similar: list[str] = []
        with suppress(Error):
            similar = [str(row[0]) for row in client.query(_SIMILAR).result_rows]
        there = f"; tables of spans are {', '.join(similar)}" if similar else "; no table of spans can be seen"
        raise _MissingTableError(f"there is no table {target.database}.{table} at {target.shown}{there}") from error
    _check(schema, found, f"{target.database}.{table}")
    return name, schema.select(found)


def _columns(client: Client, table: str, settings: str = "") -> dict[str, str]:
    return {str(row[0]): str(row[1]) for row in client.query(f"DESCRIBE TABLE {table}{settings}").result_rows}


def _check(schema: TableSchema, found: Mapping[str, str], place: str) -> None:
    missing = schema.missing(found)
    if not missing:
        return
    hint = ": `tracejury replay` sends OTLP" if {"resourceSpans", "resourceLogs"} & found.keys() else ""
    raise ConfigError(
        f"{place} is no table of {schema.noun} of the OpenTelemetry Collector's ClickHouse exporter{hint}; "
        f"it lacks {', '.join(missing)}"
    )


@contextmanager
def _embedded(folder: Path) -> Iterator[Client]:
    """An engine of this process's own, in a folder that goes with it."""
    if importlib.util.find_spec("chdb") is None:
        raise ConfigError("reading files needs the embedded engine: pip install 'tracejury[embedded]'")
    client = connect_embedded(Target("default", "files", path=str(folder)), StoreConfig())
    try:
        client.command(f"CREATE DATABASE {DATABASE}")
        yield client
    finally:
        client.close()


def _imported(client: Client, schema: TableSchema, files: Sequence[Path], table: str) -> tuple[str, str]:
    """The rows of files as a table by time, in which slices are found without reading all files again and again."""
    name = f"{DATABASE}.{table}"
    columns = dict(schema.types())
    listed = ", ".join(f"`{column}` {kind}" for column, kind in columns.items())
    client.command(f"CREATE TABLE {name} ({listed}) ENGINE = MergeTree ORDER BY Timestamp")
    for file in files:
        try:
            _import(client, schema, file, name)
        except ConfigError:
            raise
        except Exception as error:
            raise ConfigError(f"{file} cannot be read: {one_line(error)}") from error
    return name, schema.select(columns)


def _import(client: Client, schema: TableSchema, file: Path, table: str) -> None:
    path = _quoted(str(file.resolve()))
    if _suffix(file) == ".parquet":
        kind = "Parquet"
    else:
        head = client.query(f"SELECT line FROM file({path}, 'LineAsString', 'line String') LIMIT 2").result_rows
        kind = "JSON" if _WITH_TYPES.match("".join(row[0] for row in head)) else "JSONEachRow"
    structure = ""
    if kind == "JSONEachRow":  # the engine would guess types, and take attributes for tuples of all keys that there are
        keys = client.query(_KEYS.format(file=f"file({path}, 'JSONAsString', 'row String')")).result_rows[0][0]
        found = schema.structure({str(key) for key in keys})
        structure = ", " + _quoted(", ".join(f"`{name}` {stored}" for name, stored in found.items()))
        found |= {str(key): "" for key in keys if key not in found}
    else:
        found = _columns(client, f"file({path}, '{kind}')")
    _check(schema, found, str(file))
    rows = f"SELECT {schema.select(found)} FROM file({path}, '{kind}'{structure})"
    client.command(f"INSERT INTO {table} {rows} SETTINGS date_time_input_format = 'best_effort'")


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def _files(paths: str) -> list[Path]:
    """The files of a path or pattern, those of folders included.

    Raises:
        ConfigError: there are none, or one has a name that we cannot read.
    """
    given = [Path(paths)] if Path(paths).exists() else [Path(p) for p in sorted(glob.glob(paths, recursive=True))]  # noqa: PTH207  a pattern may be absolute
    found = [
        file
        for path in given
        for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
        if file.is_file() and (_suffix(file) in _SUFFIXES or not path.is_dir())
    ]
    if not found:
        raise ConfigError(f"there is no file {paths}: name one, a folder or a pattern of {', '.join(_SUFFIXES)}")
    for file in found:
        if _suffix(file) not in _SUFFIXES:
            raise ConfigError(
                f"{file}: the format is told by the name, one of {', '.join(_SUFFIXES)} (also with .gz, .zst)"
            )
        if re.search(r"[*?{}]", str(file.resolve())):
            raise ConfigError(f"{file}: rename it, the engine takes *, ?, {{ and }} for a pattern")
    return found


def _suffix(file: Path) -> str:
    return file.with_suffix("").suffix.lower() if file.suffix.lower() in _PACKED else file.suffix.lower()
