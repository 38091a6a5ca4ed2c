"""The settings of HTTP servers: what clients may cost before their requests are complete."""

from __future__ import annotations

import resource

from pydantic import Field

from tracejury.schemas.config_base import Seconds, Section

from .tls_config import TlsConfig

_SHARE_OF_FILES = 4  # three listeners share the process's files with the store


class ConnectionLimits(Section):
    """Bounds on a client whose request is not complete."""

    head_seconds: Seconds = 10.0
    """The longest the head of a request may take to arrive; a connection that sends nothing is closed after as long."""
    read_seconds: Seconds = 10.0
    """The longest a request body may take to arrive."""
    connections: int = Field(default=4096, ge=1)
    """Open connections, at most a quarter of the files that the process may open; beyond it the one that has waited
    longest for a complete request is closed."""


class HttpConfig(ConnectionLimits):
    """Address and time-outs of the OTLP/HTTP receiver."""

    endpoint: str = "127.0.0.1:4318"
    """HOST:PORT; port 0 picks a free one."""
    tls: TlsConfig | None = None
    """The certificate to serve https:// with; null serves http://."""
    read_seconds: Seconds = 60.0
    """The longest a request body may take to arrive."""
    min_bytes_per_second: int = Field(default=1024, ge=1)
    """The least rate at which a request body must arrive, on average; a slower one is refused retryably."""
    slow_seconds: Seconds = 5.0
    """How long a request body may be slower than that at first."""
    idle_seconds: int = Field(default=75, ge=1)
    """How long a connection without requests is kept open."""

    def read_deadline(self, received: int) -> float:
        """Seconds after the head by which a body must be complete, or more than `received` bytes of it be there."""
        return min(self.read_seconds, self.slow_seconds + received / self.min_bytes_per_second)


def bounded_connections(wanted: int) -> int:
    """`wanted`, at most one listener's share of the files that this process may open."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return wanted if files == resource.RLIM_INFINITY else max(min(wanted, files // _SHARE_OF_FILES), 1)


def raise_file_limit(most: int = 65_536) -> None:
    """Let this process open as many files as the system allows, up to `most`: every connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = most if hard == resource.RLIM_INFINITY else min(hard, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
