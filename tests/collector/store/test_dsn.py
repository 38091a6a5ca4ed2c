"""Where the store is."""

from __future__ import annotations

import os

import pytest

from tracejury.collector.store.dsn import parse_dsn
from tracejury.schemas.errors import ConfigError


@pytest.mark.parametrize(
    ("dsn", "path", "database"),
    [
        ("chdb:///./.tracejury/db", ".tracejury/db", "tracejury"),
        ("chdb:///../up/db", "../up/db", "tracejury"),
        ("chdb:///var/lib/tracejury", "/var/lib/tracejury", "tracejury"),
        ("chdb:///var/a%20b/", "/var/a b", "tracejury"),
        ("chdb:///var/db?database=t_1", "/var/db", "t_1"),
    ],
)
def test_embedded(dsn: str, path: str, database: str) -> None:
    """A chdb DSN names a folder: relative after /./ or /../, else absolute, and perhaps a database."""
    target = parse_dsn(dsn)
    assert target.embedded
    assert target.path == os.path.realpath(path)
    assert target.database == database


@pytest.mark.parametrize(
    ("dsn", "host", "port", "interface", "database"),
    [
        ("clickhouse://ch.example", "ch.example", 8123, "http", "tracejury"),
        ("clickhouse://ch.example:8124/otel", "ch.example", 8124, "http", "otel"),
        ("clickhouses://ch.example/otel", "ch.example", 8443, "https", "otel"),
        ("http://[::1]:80/x", "::1", 80, "http", "x"),
        ("https://ch.example?database=y", "ch.example", 8443, "https", "y"),
    ],
)
def test_server(dsn: str, host: str, port: int, interface: str, database: str) -> None:
    """A server's DSN names host, port, TLS by the scheme, and perhaps a database."""
    target = parse_dsn(dsn)
    assert not target.embedded
    assert (target.options["host"], target.options["port"]) == (host, port)
    assert (target.options["interface"], target.database) == (interface, database)


def test_credentials_are_read_and_never_shown() -> None:
    """User and password may be percent-encoded; the password is in no text about the store."""
    target = parse_dsn("clickhouse://ann:p%40ss%3A@ch.example/otel?compress=lz4")
    assert (target.options["username"], target.options["password"]) == ("ann", "p@ss:")
    assert target.options["compress"] == "lz4"
    assert "p%40ss" not in target.shown + repr(target)
    with pytest.raises(ConfigError) as refused:
        parse_dsn("clickhouse://ann:secret@ch.example/no-name")
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("dsn", "part"),
    [
        ("", "expected chdb:///folder"),
        ("./db", "expected chdb:///folder"),
        ("postgres://x", "expected chdb:///folder"),
        ("chdb://folder/db", "three slashes"),
        ("chdb:///", "three slashes"),
        ("chdb:///a?speed=1", "unknown option 'speed'"),
        ("chdb:///a?database=x;drop", "no plain name"),
        ("clickhouse://ch.example/a`b", "no plain name"),
        ("clickhouse://ch.example:9000/x", "native protocol"),
        ("clickhouse://ch.example:eighty/x", "Port"),
        ("clickhouse:///x", "names no host"),
    ],
)
def test_refused(dsn: str, part: str) -> None:
    """A DSN that means nothing is refused in one line that says what is wrong."""
    with pytest.raises(ConfigError) as refused:
        parse_dsn(dsn)
    assert part in str(refused.value)
    assert "\n" not in str(refused.value)
