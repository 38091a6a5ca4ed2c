"""One POST to an endpoint that may be hostile: bounded in time and answer, never redirected, its address checked."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Final, Self
from urllib.parse import urlsplit

import httpcore

from tracejury import __version__

from .urls import is_refused

MOST_READ: Final = 16 * 1024
"""Bytes of an answer that are read, so that the connection can be used again; of a longer one it is closed."""


class DeliveryError(Exception):
    """Nobody answered; `reason` is a short word for metrics, without any text of the other side's."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class PostAnswer:
    """An answer of the endpoint; `retry_after`: the header's text, "" without."""

    status: int
    retry_after: str = ""


async def checked_addresses(host: str, port: int, pool: Executor, *, any_address: bool) -> Sequence[str]:
    """The addresses of a host, looked up in `pool`.

    Raises:
        DeliveryError: the host is unknown, or one of its addresses is refused.
    """
    try:
        ask = partial(socket.getaddrinfo, host, port, type=socket.SOCK_STREAM)
        found = await asyncio.get_running_loop().run_in_executor(pool, ask)
    except (OSError, UnicodeError):
        raise DeliveryError("unknown-host") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not any_address and any(map(is_refused, addresses)):
        raise DeliveryError("refused-address")
    return addresses


class CheckedNetwork(httpcore.AsyncNetworkBackend):
    """Connects to the very address that was checked: a name that resolves otherwise a moment later gains nothing.

    `patience`: seconds for all addresses of a host together. Names are looked up in threads of its own, as a look-up
    cannot be given up: other work must not wait for theirs.
    """

    def __init__(self, *, any_address: bool, patience: float, threads: int) -> None:
        self._any, self._patience = any_address, patience
        self._inner = httpcore.AnyIOBackend()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="webhook names")

    def close(self) -> None:
        """Look up nothing more."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109  httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[httpcore.SOCKET_OPTION] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        """Connect to the first address of `host` that answers, each with its share of the time.

        Raises:
            DeliveryError: the host is unknown, or one of its addresses is refused.
        """
        addresses = await checked_addresses(host, port, self._pool, any_address=self._any)
        share = self._patience / len(addresses)
        for address in addresses[:-1]:
            try:
                return await self._inner.connect_tcp(address, port, share, local_address, socket_options)
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._inner.connect_tcp(addresses[-1], port, timeout, local_address, socket_options)

    async def sleep(self, seconds: float) -> None:
        """See `httpcore.AsyncNetworkBackend`."""
        await self._inner.sleep(seconds)


class Poster:
    """Posts JSON to one URL over a few kept connections; an async context manager. No proxy is used."""

    def __init__(self, url: str, *, timeout: float, connections: int, any_address: bool, tls: ssl.SSLContext) -> None:
        self._url, self._timeout = url, timeout
        self._host = urlsplit(url).netloc  # httpcore's own leaves the brackets of an IPv6 address out
        self._network = CheckedNetwork(any_address=any_address, patience=timeout, threads=connections)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls, max_connections=connections, keepalive_expiry=30.0, network_backend=self._network
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        self._network.close()
        await self._pool.aclose()

    async def post(self, headers: Mapping[str, str], body: bytes) -> PostAnswer:
        """POST `body`; the answer's own body is not looked at, and whether all of it comes is of no interest.

        Raises:
            DeliveryError: there is none in time.
        """
        answers: list[PostAnswer] = []
        try:
            await self._send(headers, body, answers.append)
        except DeliveryError:
            if not answers:
                raise
        return answers[0]

    async def _send(self, headers: Mapping[str, str], body: bytes, heard: Callable[[PostAnswer], None]) -> None:
        sent = {
            "host": self._host,
            "content-type": "application/json",
            "content-length": str(len(body)),
            "user-agent": f"tracejury/{__version__}",
            **headers,
        }
        try:
            async with asyncio.timeout(self._timeout):
                await self._exchange([*sent.items()], body, heard)
        except TimeoutError:
            raise DeliveryError("timeout") from None
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            is_tls = any(isinstance(cause, ssl.SSLError) for cause in error.args)  # it has no other trace of it
            raise DeliveryError("tls" if is_tls else "no-connection") from None
        except (httpcore.ProtocolError, httpcore.NetworkError, httpcore.TimeoutException, OSError):
            # One word: whether what is no HTTP is read, or the connection is found closed, is a matter of chance.
            raise DeliveryError("no-answer") from None

    async def _exchange(self, headers: list[tuple[str, str]], body: bytes, heard: Callable[[PostAnswer], None]) -> None:
        async with self._pool.stream("POST", self._url, headers=headers, content=body) as response:
            said = {name.lower(): value for name, value in response.headers}
            heard(PostAnswer(response.status, said.get(b"retry-after", b"").decode("latin-1")))
            read = 0
            async for piece in response.aiter_stream():
                read += len(piece)
                if read > MOST_READ:
                    break
