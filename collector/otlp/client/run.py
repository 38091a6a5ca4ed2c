"""A whole replay: files, perhaps under new ids, in batches, to an endpoint."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from ....schemas.errors import ConfigError, RetryableError
from ...worker.retry import RetryPolicy
from ..codec.groups import Request
from ..files import BrokenFileError, find, read_file
from .batches import batches
from .fresh_ids import FreshIds
from .sending import DEFAULT_RETRY, Replayed, Sender, send_all

PROTOCOLS: Final = {"grpc": "http://127.0.0.1:4317", "http": "http://127.0.0.1:4318", "json": "http://127.0.0.1:4318"}
"""What can be spoken, each with the endpoint that it has by default; `http` is protobuf over HTTP."""

Progress = Callable[[int, int, Replayed], None]
"""Called with files read, files in all, and the counts so far."""


def connect(endpoint: str, protocol: str) -> Sender:
    """A sender to an endpoint: "host:port", "http://host:port" or, with TLS, "https://host:port".

    Raises:
        ConfigError: no such protocol, or not an endpoint.
    """
    secure, host, port = _address(endpoint, protocol)
    if protocol == "grpc":
        from .grpc_sender import GrpcSender

        return GrpcSender(f"{host}:{port}", secure=secure)
    from .http_sender import HttpSender

    return HttpSender(f"{'https' if secure else 'http'}://{host}:{port}", json=protocol == "json")


async def replay(
    requests: Iterable[Request],
    endpoint: str,
    protocol: str,
    *,
    in_flight: int = 16,
    retry: RetryPolicy = DEFAULT_RETRY,
    result: Replayed | None = None,
) -> Replayed:
    """Send requests to an endpoint in batches; see `send_all` for what it raises.

    Raises:
        ConfigError: see `connect`.
        RetryableError: nothing listens there.
    """
    sender = connect(endpoint, protocol)
    try:
        await _knock(endpoint, protocol)
        parts = (part for request in requests for part in batches(request))
        return await send_all(parts, sender, retry=retry, in_flight=in_flight, result=result)
    finally:
        await sender.close()


def replay_files(
    paths: Sequence[Path],
    endpoint: str = "",
    protocol: str = "grpc",
    *,
    fresh_ids: bool = False,
    in_flight: int = 16,
    progress: Progress = lambda _done, _total, _counts: None,
) -> Replayed:
    """Send files and folders of stored traces; runs its own event loop.

    A file of a folder that cannot be read is passed over and told in `Replayed.broken`.

    Raises:
        BrokenFileError: a file that was named outright cannot be read; what was read before has been sent.
        ConfigError, RetryableError: see `replay`.
    """
    files = find(paths)
    counts = Replayed()
    fresh = FreshIds() if fresh_ids else None

    def requests() -> Iterator[Request]:
        for done, file in enumerate(files):
            progress(done, len(files), counts)
            try:
                for source in read_file(file):
                    yield fresh.rewrite(source.request) if fresh else source.request
            except BrokenFileError as error:
                if file.named:
                    raise
                counts.broken.append(str(error))
        progress(len(files), len(files), counts)

    return asyncio.run(replay(requests(), endpoint, protocol, in_flight=in_flight, result=counts))


def _address(endpoint: str, protocol: str) -> tuple[bool, str, int]:
    default = PROTOCOLS.get(protocol)
    if default is None:
        raise ConfigError(f"unknown protocol {protocol[:20]!r}: use one of {', '.join(PROTOCOLS)}")
    endpoint = endpoint or default
    try:
        parts = urlsplit(endpoint if "://" in endpoint else f"http://{endpoint}")
        host, port = parts.hostname, parts.port or urlsplit(default).port
    except ValueError:
        host, port = None, None
    if not host or not port or parts.scheme not in {"http", "https"}:
        raise ConfigError(f"not an endpoint: {endpoint[:100]!r} (expected host:port or http://host:port)")
    return parts.scheme == "https", f"[{host}]" if ":" in host else host, port


async def _knock(endpoint: str, protocol: str) -> None:
    """Fail at once, with a line that helps, where nobody is at home."""
    _, host, port = _address(endpoint, protocol)
    try:
        _, writer = await asyncio.open_connection(host.strip("[]"), port)
    except OSError as error:
        raise RetryableError(
            f"nothing listens at {host}:{port}: start it with `tracejury serve`, or name another --endpoint"
        ) from error
    writer.close()
    await writer.wait_closed()
