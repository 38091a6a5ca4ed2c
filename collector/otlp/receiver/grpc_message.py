"""The one message of a gRPC call, read within bounds."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias

from tracejury.schemas.errors import OverloadedError, PermanentError, RetryableError

from .inflight import InFlight, InFlightRequest

if TYPE_CHECKING:
    import grpc

Context: TypeAlias = "grpc.aio.ServicerContext[bytes, bytes]"

QUICK: Final = 0.5
"""Seconds that a message may take to arrive before its memory is reserved."""


@dataclass(frozen=True, slots=True)
class MessageReader:
    """Reads messages of up to `largest` bytes; `seconds`: the longest that one may take to arrive.

    grpcio's core stores what has arrived of a message and does not tell how much that is. One that is not complete
    after `QUICK` seconds therefore counts as large as it may become, so that few are read that slowly at a time.
    """

    inflight: InFlight
    largest: int
    seconds: float

    async def read(self, context: Context) -> bytes:
        """The message.

        Raises:
            RetryableError: it took too long, or had to give way to others.
            PermanentError: the call ended without one.
        """
        deadline = asyncio.timeout(self.seconds)
        with self.inflight.reading(host_of(context.peer()), lambda: deadline.reschedule(0)) as held:
            reserving = asyncio.get_running_loop().call_later(QUICK, self._reserve, held)
            try:
                async with deadline:
                    message = await context.read()
            except TimeoutError:
                held.check()
                raise RetryableError(f"the request did not arrive within {self.seconds:g} seconds") from None
            finally:
                reserving.cancel()
        if not isinstance(message, bytes):
            raise PermanentError("the call has no message")
        return message

    def _reserve(self, held: InFlightRequest) -> None:
        try:
            held.grow(self.largest)
        except OverloadedError:
            held.displace()


def host_of(peer: str) -> str:
    """The host in a peer of grpc: "ipv4:127.0.0.1:4711", "ipv6:[::1]:4711"."""
    return peer.partition(":")[2].rpartition(":")[0] or peer
