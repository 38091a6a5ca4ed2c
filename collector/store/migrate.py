"""Migrations: numbered SQL files, applied once, in order, never changed afterwards.

Which ones were applied, and their checksums, stands in the table `migrations` of the same database. ClickHouse has
no transactions for DDL: every statement is written so that it can be run again (IF NOT EXISTS), and the status rows
are written last, so migrations that were interrupted are simply run again.
"""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

from tracejury import schemas
from tracejury.schemas.errors import ConfigError

from .client import Store
from .cluster import COMMENT

log = logging.getLogger(__name__)

_NAME = re.compile(r"(\d{4})_[a-z0-9_]+\.sql\Z")
_STATEMENT_END = re.compile(r";[ \t]*\n")

FIRST: Final = "0001_"
"""The beginning of the name of the first one, which only a new store lacks."""

BREAKING: Final = "_breaking_"
"""In the name of a migration after which no earlier version may write to the store; any other only adds."""

_STATUS_TABLE: Final = """
CREATE TABLE IF NOT EXISTS migrations
(
    Name String,
    Checksum FixedString(32),
    AppliedAt DateTime('UTC') DEFAULT now()
)
ENGINE = ReplacingMergeTree ORDER BY Name
"""


@dataclass(frozen=True, slots=True)
class Migration:
    """One file. `checksum`: 32 hex digits of its text."""

    name: str
    sql: str

    @property
    def checksum(self) -> str:
        """Digest of the text as it is stored in the status table."""
        return hashlib.blake2b(self.sql.encode(), digest_size=16).hexdigest()

    @property
    def statements(self) -> tuple[str, ...]:
        """The statements, in order; a `;` at the end of a line ends one. A server takes none of comments alone."""
        return tuple(s.strip() for s in _STATEMENT_END.split(self.sql + "\n") if COMMENT.sub("", s).strip())


@dataclass(frozen=True, slots=True)
class Status:
    """Migrations that a store has (`applied`) and lacks (`pending`), in order."""

    applied: tuple[str, ...]
    pending: tuple[Migration, ...]


def migrations() -> tuple[Migration, ...]:
    """All migrations that this version ships, in order."""
    folder = files(schemas) / "migrations"
    found = sorted((f for f in folder.iterdir() if _NAME.match(f.name)), key=lambda f: f.name)
    return tuple(Migration(f.name, f.read_text(encoding="utf-8")) for f in found)


def status(store: Store, shipped: Sequence[Migration] | None = None) -> Status:
    """Compare the store with what this version ships.

    A server may have migrations of a newer version, which is installed process by process, if they only add.

    Raises:
        ConfigError: an applied migration differs from the shipped one, or the store is of a newer version that this one
            must not write to.
    """
    shipped = migrations() if shipped is None else shipped
    done = applied(store)
    newer = set() if store.embedded else newer_names(done, shipped)
    check_known({name: checksum for name, checksum in done.items() if name not in newer}, shipped)
    return Status(tuple(sorted(done)), tuple(m for m in shipped if m.name not in done))


def newer_names(done: Iterable[str], shipped: Sequence[Migration]) -> set[str]:
    """Applied migrations of a newer version beside which this one may go on."""
    last = max((m.name for m in shipped), default="")
    return {name for name in done if name > last and BREAKING not in name}


def check_known(done: Mapping[str, str], shipped: Sequence[Migration] | None = None, what: str = "the store") -> None:
    """Check the checksums of applied migrations, by name. Raises ConfigError as `status`."""
    known = {m.name: m for m in (migrations() if shipped is None else shipped)}
    for name, checksum in done.items():
        if name not in known:
            raise ConfigError(f"{what} has migration {name}, which this version does not know: use a newer tracejury")
        if known[name].checksum != checksum:
            raise ConfigError(
                f"migration {name} was changed after it had been applied to {what}: another build of this version "
                "made it; start that build again, or begin a new store"
            )


def migrate(store: Store, shipped: Sequence[Migration] | None = None) -> tuple[str, ...]:
    """Apply what is pending; returns the names of the applied files. Safe to repeat."""
    store.create_database()
    store.command(_STATUS_TABLE)
    done: list[Migration] = []
    try:
        for migration in status(store, shipped).pending:
            for statement in migration.statements:
                store.command(statement)
            done.append(migration)
    finally:  # an insert takes as long as a whole migration, so they are noted together
        if done:
            rows = ([m.name for m in done], [m.checksum.encode() for m in done])
            store.insert("migrations", ("Name", "Checksum"), rows)
    return tuple(m.name for m in done)


def ensure(store: Store, *, allowed: bool = False) -> tuple[str, ...]:
    """Migrate at the start of `serve`: always an embedded store, a server only where `allowed`.

    Raises:
        ConfigError: migrations are pending on a server, and running them was not asked for.
    """
    if store.embedded or allowed:
        return migrate(store)
    require_migrated(store)
    return ()


def require_migrated(store: Store) -> None:
    """Raises ConfigError while migrations are pending."""
    found = status(store)
    pending = found.pending
    if newer := newer_names(found.applied, migrations()):
        log.warning("the store is of a newer version (%s), beside which this one goes on", ", ".join(sorted(newer)))
    if pending:
        names = ", ".join(m.name for m in pending)
        raise ConfigError(
            f"the store {store.target.shown} lacks {len(pending)} migrations ({names}): run `tracejury migrate`, or "
            "start with store.migrate: true"
        )


def applied(store: Store) -> dict[str, str]:
    """The checksums of the migrations that a store has, by name."""
    if not store.database_exists():
        return {}
    found = store.rows("SELECT engine FROM system.tables WHERE database = currentDatabase() AND name = 'migrations'")
    if not found:
        return {}
    if (found[0][0] == "Distributed") != (store.cluster is not None):
        made, named = ("one server", f"the cluster {store.cluster.name!r}") if store.cluster else ("a cluster", "none")
        raise ConfigError(f"the store {store.target.shown} was migrated for {made}, and store.cluster names {named}")
    return {name: _text(checksum) for name, checksum in store.rows("SELECT Name, Checksum FROM migrations FINAL")}


def _text(value: bytes | str) -> str:
    return value.decode() if isinstance(value, bytes) else value
