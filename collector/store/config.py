"""The configuration sections `store` and `writer`."""

from __future__ import annotations

from pathlib import PurePath
from typing import Annotated, Any, Final, Self
from urllib.parse import quote

from pydantic import Field, model_validator

from tracejury.schemas.config_base import MIB, FilePath, Section

MAX_RETENTION_DAYS: Final = 10_000
"""The engine counts expiry in 32-bit seconds: what would expire after 2106 it drops at once."""


USER_ATTRIBUTES: Final = (
    "user.id",
    "enduser.id",
    "enduser.pseudo.id",
    "langfuse.user.id",
    "langsmith.metadata.user_id",
    "traceloop.association.properties.user_id",
    "ai.telemetry.metadata.userId",
    "metadata.user_id",
    "user_id",
)

_RELATIVE: Final = ("chdb:///./", "chdb:///../")


class StoreFolder(FilePath):
    """Marks a DSN: the folder of an embedded store may be relative."""

    def beside(self, value: Any, folder: PurePath) -> Any:
        """The DSN with an absolute folder."""
        if not isinstance(value, str) or not value.startswith(_RELATIVE):
            return value
        return f"chdb://{quote(str(folder))}{value.removeprefix('chdb://')}"


Days = Annotated[float, Field(gt=0, le=MAX_RETENTION_DAYS)]
ANY: Final = "*"


class RetentionRule(Section):
    """How long traces of a project, of a service, or of a service of a project are kept."""

    project: str = ANY
    """The project; `*` is any, "" that without a name."""
    service: Annotated[str, Field(min_length=1)] = ANY
    """The service; `*` is any."""
    days: Days | None
    """Days after its arrival; null keeps them."""

    @model_validator(mode="after")
    def _of_some(self) -> Self:
        if self.project == ANY and self.service == ANY:
            raise ValueError("name a project or a service; store.retention_days is for all others")
        if "'" in self.project or "\\" in self.project:
            raise ValueError("no project has a name with quotes or backslashes")
        return self


class StoreConfig(Section):
    """Where spans and findings are kept, and for how long."""

    dsn: Annotated[str, StoreFolder()] = "chdb:///./.tracejury/db"
    """`chdb:///folder` (embedded) or `clickhouse[s]://user:password@host:port/database` (ClickHouse's HTTP port)."""
    cluster: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{0,100}$")] = ""
    """Cluster of ClickHouse servers, as their `remote_servers` name it (docs/clickhouse-cluster.md); "": one server."""
    retention_days: Days | None = 30.0
    """Days (at most 10,000) after its arrival at which a span, and what was found in it, is dropped; null keeps all."""
    retention: tuple[RetentionRule, ...] = ()
    """Other times for projects and services. Of several rules the one that names both holds, then one that names the
    service, then one that names the project."""
    tombstone_days: Annotated[float, Field(ge=0, le=MAX_RETENTION_DAYS)] = 30.0
    """Days for which spans of a deleted trace are left out when they are sent again; 0: they begin the trace anew."""
    user_attributes: tuple[str, ...] = USER_ATTRIBUTES
    """Attributes of spans, resources and log records that name a user, for `tracejury delete --user`."""
    fsync: bool = False
    """An acknowledged span also survives power loss, at a cost (docs/storage.md)."""
    migrate: bool = False
    """Run pending migrations of a ClickHouse server at start (an embedded store is always migrated)."""
    backups: Annotated[str, FilePath()] = ""
    """Folder of backups (docs/backup.md); by default `backups` beside the embedded store's folder."""
    keep_backups: Annotated[int, Field(ge=1)] | None = None
    """Backups that stay in it when another one is made, the latest; null keeps all."""
    clients: Annotated[int, Field(ge=1)] = 8
    """Statements that run at once."""
    max_memory_bytes: Annotated[int, Field(ge=256 * MIB)] = 4096 * MIB
    """Memory of the embedded engine; what would exceed it is refused retryably (a server has limits of its own)."""


class WriterConfig(Section):
    """Bounds of the group commit. Bytes are those of decompressed request bodies."""

    max_group_bytes: Annotated[int, Field(ge=1)] = 32 * MIB
    """Bytes of the requests that share one insert."""
    max_group_items: Annotated[int, Field(ge=1)] = 8192
    """Spans and log records that share one insert."""
    max_queue_bytes: Annotated[int, Field(ge=1)] = 256 * MIB
    """Bytes that may wait or be on their way to the store; beyond it requests are refused retryably."""
    max_queue_requests: Annotated[int, Field(ge=1)] = 4096
    """Requests that may wait or be on their way to the store."""
    attempts: Annotated[int, Field(ge=1)] = 3
    """How often a request that fails unexpectedly is tried before it goes to the dead-letter folder."""
    min_free_bytes: Annotated[int, Field(ge=0)] = 1024 * MIB
    """Below this much free disk under an embedded store every request is refused retryably."""
    dead_letter: Annotated[str, FilePath()] = ""
    """Folder for requests that can never be stored; by default `dead-letter` beside the embedded store's folder."""
    max_dead_letter_bytes: Annotated[int, Field(ge=1)] = 256 * MIB
    """Bytes kept there; the oldest files make room."""
