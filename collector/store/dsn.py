"""The DSN of the store."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from tracejury.collector.otlp.client_tls import ClientTls
from tracejury.schemas.errors import ConfigError

DEFAULT_DATABASE: Final = "tracejury"

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}\Z")
_TLS = {"chdb": False, "clickhouse": False, "clickhouses": True, "http": False, "https": True}
_CERTIFI: Final = "certifi"
"""The driver's name for the authorities that the package of that name ships."""
_NATIVE_PORTS: Final = (9000, 9440)


@dataclass(frozen=True, slots=True)
class Target:
    """A parsed DSN. `path`: the embedded engine's folder (absolute), None for a server.

    `options`: arguments of clickhouse-connect's `get_client`, the database apart. `shown`: the DSN without password.
    """

    database: str
    shown: str
    path: str | None = None
    options: dict[str, Any] = field(default_factory=dict, repr=False)

    @property
    def embedded(self) -> bool:
        """Whether the engine runs in this process."""
        return self.path is not None

    def check_folder(self) -> None:
        """For what makes no store. Raises ConfigError where the embedded engine's folder does not exist."""
        if self.path is not None and not Path(self.path).is_dir():
            raise ConfigError(f"there is no store in {self.path}")

    def check_certificates(self) -> None:
        """Read the files that `ca_cert`, `client_cert` and `client_cert_key` name: the driver's errors name none.

        Raises:
            ConfigError: a file cannot be used.
        """
        ca, cert = (str(self.options.get(name, "")) for name in ("ca_cert", "client_cert"))
        key = str(self.options.get("client_cert_key", cert))  # a key may stand in the certificate's file
        if ca or cert or key:
            place = f"store {self.shown.partition('?')[0]}"
            settings = (f"{place}: ca_cert", f"{place}: client_cert", f"{place}: client_cert_key")
            ClientTls.named(("" if ca == _CERTIFI else ca, cert, key), settings).context()


def parse_dsn(dsn: str) -> Target:
    """Read `chdb:///folder[?database=x]` or `clickhouse[s]://[user:password@]host[:port][/database][?option=…]`.

    `http://` and `https://` mean the same as `clickhouse://` and `clickhouses://` (it is ClickHouse's HTTP
    interface that is spoken). The folder may be relative (`chdb:///./data`); the database is `tracejury` where none
    is named.

    Raises:
        ConfigError: the DSN is none of these.
    """
    parts = urlsplit(dsn)
    if parts.scheme not in _TLS:
        raise ConfigError(f"store {_shown(dsn)!r}: expected chdb:///folder or clickhouse://host:8123/database")
    options = {key: values[-1] for key, values in parse_qs(parts.query).items()}
    if parts.scheme == "chdb":
        return _embedded(dsn, parts.netloc, unquote(parts.path), options)
    database = options.pop("database", "") or unquote(parts.path).strip("/") or DEFAULT_DATABASE
    try:
        port = parts.port
    except ValueError as error:
        raise ConfigError(f"store {_shown(dsn)!r}: {error}") from None
    if not parts.hostname:
        raise ConfigError(f"store {_shown(dsn)!r} names no host")
    if port in _NATIVE_PORTS:
        raise ConfigError(
            f"store {_shown(dsn)!r}: port {port} is ClickHouse's native protocol; tracejury speaks its HTTP interface "
            "(8123, with TLS 8443)"
        )
    tls = _TLS[parts.scheme]
    connection: dict[str, Any] = {
        "host": parts.hostname,
        "port": port or (8443 if tls else 8123),
        "interface": "https" if tls else "http",
        "username": unquote(parts.username) if parts.username else None,
        "password": unquote(parts.password) if parts.password else "",
    }
    return Target(_checked(dsn, database), _shown(dsn), options=connection | options)


def _embedded(dsn: str, netloc: str, path: str, options: dict[str, str]) -> Target:
    database = options.pop("database", DEFAULT_DATABASE)
    if netloc or not path.strip("/"):
        raise ConfigError(f"store {dsn!r}: write chdb:///folder (three slashes), for example chdb:///./.tracejury/db")
    if options:
        raise ConfigError(f"store {dsn!r}: unknown option {min(options)!r} (only database is known)")
    # "/./x" and "/../x" are relative to where the command is run; every other path starts at the root.
    relative = path[1:] if path.startswith(("/./", "/../")) else path
    return Target(_checked(dsn, database), dsn, path=os.path.realpath(relative))


def _checked(dsn: str, database: str) -> str:
    if not _IDENTIFIER.match(database):
        raise ConfigError(f"store {_shown(dsn)!r}: database {database!r} is no plain name (letters, digits, _)")
    return database


def _shown(dsn: str) -> str:
    return re.sub(r"(//[^/@:]*):[^@/]*@", r"\1:***@", dsn)
