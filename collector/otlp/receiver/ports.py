"""Endpoints, and the process that holds a taken port."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tracejury.schemas.errors import ConfigError

_ANOTHER: Final = "choose another port (--grpc, --http, --api; 0 picks a free one)"
_LISTEN: Final = "0A"  # net/tcp_states.h
_TABLES: Final = ("/proc/net/tcp", "/proc/net/tcp6")


def split_endpoint(endpoint: str) -> tuple[str, int]:
    """Host and port of "HOST:PORT" ("[::1]:4317" for IPv6).

    Raises:
        ConfigError: it is not of that form.
    """
    host, colon, port = endpoint.rpartition(":")
    if not colon or not host or not port.isdecimal() or not port.isascii() or int(port) > 65_535:  # noqa: PLR2004
        raise ConfigError(f"{endpoint!r} is not HOST:PORT")
    return host.removeprefix("[").removesuffix("]"), int(port)


def url_of(endpoint: str, port: int, *, secure: bool) -> str:
    """The URL of a listener by its endpoint and its bound port; `secure`: it has a certificate."""
    return f"{'https' if secure else 'http'}://{endpoint.rpartition(':')[0]}:{port}"


def bind(endpoint: str) -> socket.socket:
    """A bound TCP socket.

    Raises:
        ConfigError: the port is taken, or the host is none of this machine's.
    """
    host, port = split_endpoint(endpoint)
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
    except OSError as error:
        raise ConfigError(f"{endpoint} cannot be used: {error.strerror}") from None
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as error:
        listener.close()
        raise ConfigError(unusable(endpoint, error.strerror or "")) from None
    return listener


def unusable(endpoint: str, reason: str) -> str:
    """One line on why an endpoint cannot be bound: the holder of its port, else `reason`."""
    _, port = split_endpoint(endpoint)
    found = holder(port)
    if found:
        return f"{endpoint} is taken by {found}: {_ANOTHER}"
    return f"{endpoint} is taken: {_ANOTHER}" if _is_listening(port) else f"{endpoint} cannot be used: {reason}"


def holder(port: int) -> str | None:
    """The process that listens on a TCP port, as "pid 123 (name)"; None where the system does not tell."""
    wanted = {f"socket:[{inode}]" for inode in _listening_inodes(port)}
    if not wanted:
        return None
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(_target(link) in wanted for link in (process / "fd").iterdir()):
                return f"pid {process.name} ({(process / 'comm').read_text().strip()})"
        except OSError:  # another user's, or gone by now
            continue
    return None


def _target(link: Path) -> str:
    """What a descriptor is of; "" once it is closed, as those of a busy process are while they are read."""
    try:
        return str(link.readlink())
    except OSError:
        return ""


def _is_listening(port: int) -> bool:
    return bool(_listening_inodes(port))


def _listening_inodes(port: int) -> set[str]:
    inodes: set[str] = set()
    for table in _TABLES:
        try:
            rows = Path(table).read_text("ascii").splitlines()[1:]
        except OSError:
            continue
        for row in rows:
            fields = row.split()
            local, state, inode = fields[1], fields[3], fields[9]
            if state == _LISTEN and int(local.rpartition(":")[2], 16) == port:
                inodes.add(inode)
    return inodes


OTLP_GRPC: Final = "OTLP/gRPC"
OTLP_HTTP: Final = "OTLP/HTTP"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a receiver, such as `OTLP/gRPC` at `http://127.0.0.1:4317`."""

    protocol: str
    url: str
