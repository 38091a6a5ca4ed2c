"""The form of our statements on a ClickHouse cluster, and how it is spoken to (docs/clickhouse-cluster.md).

A table `X` is there a Distributed one over `X_local`, which each server has and replicates. What is read and inserted
names `X`; what changes a table or its stored rows goes to `X_local` on all servers. Statements are those of one server:
each kind that we use is known here, and no other one is let through.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.schemas.errors import ConfigError

_TRACE: Final = "cityHash64(tenant, TraceId)"
_SUBJECT: Final = "cityHash64(tenant, if(TraceId = '', SubjectId, TraceId))"
_SERVICE: Final = "cityHash64(tenant, Service)"
_ID: Final = "cityHash64(tenant, Id)"
_NAME: Final = "cityHash64(tenant, Name)"
_RULE: Final = "cityHash64(tenant, Rule)"

SHARDING: Final[Mapping[str, str]] = {
    "spans": _TRACE,
    "media": _TRACE,
    "logs": "cityHash64(tenant, if(TraceId = '', toString(Nanos), TraceId))",
    "traces": _TRACE,
    "findings": _TRACE,
    "errors": _TRACE,
    "judgements": _SUBJECT,
    "verdicts": _SUBJECT,
    "run_facts": _TRACE,
    "texts": _TRACE,
    "outlines": _TRACE,
    "annotations": _TRACE,
    "human_scores": _TRACE,
    "reviews": _TRACE,
    "scores": "cityHash64(tenant, if(TraceId = '', if(SessionId = '', Id, SessionId), TraceId))",
    "deliveries": _TRACE,
    "exports": _TRACE,
    "deletions": _TRACE,
    "cluster_names": _TRACE,
    "joins": "cityHash64(tenant, Key)",
    "answers": "cityHash64(tenant, Key, At)",
    "preferences": _ID,
    "session_labels": _ID,
    "pattern_labels": "cityHash64(tenant, Pattern)",
    "alerts": _RULE,
    "alert_rules": _RULE,
    "score_outcomes": _NAME,
    "receipts": _ID,
    "requests": _ID,
    "architectures": _SERVICE,
    "rule_calibrations": _SERVICE,
    "install": _NAME,
    "sweeps": _NAME,
    "saved_views": _NAME,
    "underived": "cityHash64(tenant, Since)",
    "rate_cells": "cityHash64(tenant, Bucket)",
    "rate_buckets": "cityHash64(tenant, Bucket)",
    "migrations": "cityHash64(Name)",
}
"""On which shard a row lies: a function of its table's sorting key, so that all rows of one key lie on one.

What is said of a session has no trace, as some log records: they go by what else their key has."""

SETTINGS: Final[Mapping[str, Any]] = {
    # An insert returns once each shard has it, not when it stands in a file of the server that was asked.
    "distributed_foreground_insert": 1,
    # On most replicas of the shard: what was acknowledged outlives a machine.
    "insert_quorum": "auto",
    "insert_quorum_timeout": 30_000,
    # Every process reads and writes the same replica of a shard, the first that is there, whichever server it is
    # connected to: so what one has stored another reads. (select_sequential_consistency needs insert after insert.)
    "load_balancing": "in_order",
    "prefer_localhost_replica": 0,
    # A subquery is carried out once, over all shards: right wherever its rows lie.
    "distributed_product_mode": "global",
    # What is copied may belong on another shard: it goes by its sharding key.
    "parallel_distributed_insert_select": 0,
    # No block is sent twice: each attempt dates its rows anew, and what clients send again comes in another group.
    "insert_deduplicate": 0,
    # The next statement may need what this one changes on every replica.
    "alter_sync": 2,
    "mutations_sync": 2,
    # Replicas may not take the time for themselves: they would delete different rows.
    "mutations_execute_nondeterministic_on_initiator": 1,
}
"""Of each statement on a cluster, beside those of any store."""

SERVED: Final = """
SELECT
    (SELECT arraySort(groupUniqArray(cluster)) FROM system.clusters),
    (SELECT groupUniqArray(macro) FROM system.macros),
    (SELECT count() FROM system.tables WHERE database = 'system' AND name = 'zookeeper')
"""
"""What `Cluster.check` reads."""

_DOCS: Final = "docs/clickhouse-cluster.md"
_LOCAL: Final = "_local"
_PATH: Final = "/clickhouse/tables/tracejury/{database}/{table}/{shard}"
"""Of a table in Keeper. Not by its UUID: a migration that is repeated must give the same."""

COMMENT: Final = re.compile(r"^\s*--.*\n?", re.MULTILINE)
"""A line of a migration that is none of a statement."""

_TABLE: Final = r"`?(?P<table>[a-z_]+)`?"
_CREATE: Final = re.compile(
    rf"CREATE TABLE IF NOT EXISTS {_TABLE}\s*(?P<columns>\(.*\))\s*"
    r"ENGINE = (?P<engine>\w*MergeTree)(?:\((?P<version>[\w, ]+)\))?(?P<rest>\s.*)",
    re.DOTALL,
)
_VIEW: Final = re.compile(r"(?P<made>CREATE VIEW IF NOT EXISTS [a-z_]+)(?P<rest> AS\s.*)", re.DOTALL)
_DROP: Final = re.compile(rf"DROP (?P<kind>TABLE|VIEW) IF EXISTS {_TABLE}")
_WHOLE: Final = re.compile(rf"(?P<verb>TRUNCATE|OPTIMIZE) TABLE {_TABLE}(?P<rest>(?: FINAL)?)")
_DELETE: Final = re.compile(rf"DELETE FROM {_TABLE} WHERE (?!.*\bSELECT\b)(?P<where>.*)", re.DOTALL)
_ALTER: Final = re.compile(rf"ALTER TABLE {_TABLE}\s+(?P<commands>.*)", re.DOTALL)
_INSERT: Final = re.compile(rf"INSERT INTO {_TABLE}\s")
_OF_COLUMNS: Final = re.compile(r"(?:ADD COLUMN IF NOT|DROP COLUMN IF) EXISTS ")
_OF_STORED: Final = re.compile(
    r"ADD INDEX IF NOT EXISTS |MODIFY SETTING |MODIFY TTL |REMOVE TTL$|DELETE WHERE |APPLY DELETED MASK"
)
_PIECE: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|`[^`]*`|[(),]|[^'`(),]+")


@dataclass(frozen=True, slots=True)
class Cluster:
    """A cluster as its servers' `remote_servers` name it, and our database on it."""

    name: str
    database: str

    @property
    def clause(self) -> str:
        """The clause that has a statement carried out on all servers."""
        return f"ON CLUSTER `{self.name}`"

    def every(self, table: str) -> str:
        """A system table, of all servers."""
        return f"clusterAllReplicas('{self.name}', {table})"

    def check(self, served: Sequence[Any], shown: str) -> None:
        """Check what the server `shown` has (the row of `SERVED`). Raises ConfigError where it lacks what is needed."""
        clusters, macros, keeper = served
        if self.name not in clusters:
            raise ConfigError(
                f"the store {shown} knows no cluster {self.name!r} (it knows: {', '.join(clusters) or 'none'}): "
                "correct store.cluster"
            )
        if missing := sorted({"shard", "replica"} - set(macros)):
            raise ConfigError(
                f"the store {shown} has no macro {' and '.join(missing)}: each server of a cluster names its shard and "
                f"replica ({_DOCS})"
            )
        if not keeper:
            raise ConfigError(f"the store {shown} has no ClickHouse Keeper configured, which clusters need ({_DOCS})")

    def statements(self, sql: str) -> tuple[str, ...]:
        """What is run on the cluster for a statement of one server; all of it can be repeated.

        Raises ValueError for a statement of a kind that is not known (a mistake in our code).
        """
        text = COMMENT.sub("", sql).strip()
        if _INSERT.match(text):
            return (text,)
        for form, rendered in _FORMS.items():
            if found := form.fullmatch(text):
                return tuple(rendered(self, found))
        raise ValueError(f"no form for a cluster is known of the statement: {text[:200]}")


def _create(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    table, versions = found["table"], f", {found['version']}" if found["version"] else ""
    yield (
        f"CREATE TABLE IF NOT EXISTS {local(table)} {on.clause} {found['columns']}\n"
        f"ENGINE = Replicated{found['engine']}('{_PATH}', '{{replica}}'{versions}){found['rest']}"
    )
    yield (
        f"CREATE TABLE IF NOT EXISTS {table} {on.clause} AS {local(table)}\n"
        f"ENGINE = Distributed('{on.name}', '{on.database}', '{local(table)}', {SHARDING[table]})"
    )


def _view(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    yield f"{found['made']} {on.clause}{found['rest']}"


def _drop(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    yield f"DROP {found['kind']} IF EXISTS {found['table']} {on.clause} SYNC"
    if found["kind"] == "TABLE":
        yield f"DROP TABLE IF EXISTS {local(found['table'])} {on.clause} SYNC"


def _whole(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    yield f"{found['verb']} TABLE {local(found['table'])} {on.clause}{found['rest']}"


def _delete(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    yield f"DELETE FROM {local(found['table'])} {on.clause} WHERE {found['where']}"


def _alter(on: Cluster, found: re.Match[str]) -> Iterator[str]:
    commands = list(_commands(found["commands"]))
    columns = [command for command in commands if _OF_COLUMNS.match(command)]
    if not _OF_STORED.match(commands[0]) and not columns:
        raise ValueError(f"no form for a cluster is known of ALTER TABLE … {commands[0][:200]}")
    yield f"ALTER TABLE {local(found['table'])} {on.clause} {found['commands']}"
    if columns:
        yield f"ALTER TABLE {found['table']} {on.clause} {', '.join(columns)}"


_FORMS: Final[Mapping[re.Pattern[str], Callable[[Cluster, re.Match[str]], Iterator[str]]]] = {
    _CREATE: _create,
    _VIEW: _view,
    _DROP: _drop,
    _WHOLE: _whole,
    _DELETE: _delete,
    _ALTER: _alter,
}


def local(table: str) -> str:
    """The table that holds a server's own rows of `table`."""
    return table + _LOCAL


def of_all(table: str) -> str:
    """The table over all servers of one that `local` names; the same where there is no cluster."""
    return table.removesuffix(_LOCAL)


def _commands(text: str) -> Iterator[str]:
    """The commands of an ALTER TABLE; also what commas part within MODIFY SETTING."""
    depth, command = 0, ""
    for piece in _PIECE.findall(text):
        depth += {"(": 1, ")": -1}.get(piece, 0)
        if piece == "," and not depth:
            yield command.strip()
            command = ""
        else:
            command += piece
    yield command.strip()
