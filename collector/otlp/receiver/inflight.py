"""The bound on requests in flight: those being read, decoded or committed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ....schemas.errors import OverloadedError


class InFlight:
    """Counts requests and their bytes; one for all receivers of a process, used from the event loop only."""

    def __init__(self, max_requests: int, max_bytes: int) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self.requests = 0
        self.bytes = 0

    @contextmanager
    def request(self, size: int = 0) -> Iterator[InFlightRequest]:
        """Hold one request of `size` bytes for the length of the block.

        Raises:
            OverloadedError: a bound is reached.
        """
        if self.requests >= self._max_requests:
            raise OverloadedError(f"{self._max_requests} requests are being taken already: try again")
        self.requests += 1
        held = InFlightRequest(self)
        try:
            held.grow(size)
            yield held
        finally:
            self.requests -= 1
            self.bytes -= held.size

    def add_bytes(self, count: int) -> None:
        """Count bytes in. Raises OverloadedError where the bound is reached."""
        if self.bytes + count > self._max_bytes:
            raise OverloadedError(f"requests of {self._max_bytes} bytes are being taken already: try again")
        self.bytes += count


class InFlightRequest:
    """A request in flight, whose size may still grow."""

    __slots__ = ("_inflight", "size")

    def __init__(self, inflight: InFlight) -> None:
        self._inflight = inflight
        self.size = 0

    def grow(self, count: int) -> None:
        """Count `count` more bytes. Raises OverloadedError where the bound is reached."""
        self._inflight.add_bytes(count)
        self.size += count
