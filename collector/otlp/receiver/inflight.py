"""The bound on requests in flight: those being read, decoded or committed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tracejury.schemas.errors import OverloadedError


class InFlight:
    """Counts complete requests, and the bytes of all; one for all receivers of a process, used from its event loop.

    A request that is being read counts with the bytes that have arrived. Where a client (an address) exceeds its share
    of what may be read, or there is no room, the request that has been read longest gives way: who sends a body at
    once is not kept out by bodies that never end.
    """

    def __init__(self, max_requests: int, max_bytes: int, client_share: float = 0.5) -> None:
        self._max_requests = max_requests
        self._max_bytes = max_bytes
        self._client_share = client_share
        self._reading: dict[InFlightRequest, None] = {}  # the oldest first
        self._clients: dict[str, _Client] = {}
        self.requests = 0
        self.bytes = 0

    @contextmanager
    def request(self, size: int = 0) -> Iterator[InFlightRequest]:
        """Hold one complete request of `size` bytes for the length of the block.

        Raises:
            OverloadedError: a bound is reached.
        """
        with self.reading("", lambda: None) as held:
            held.complete()
            held.grow(size)
            yield held

    @contextmanager
    def reading(self, client: str, give_way: Callable[[], None]) -> Iterator[InFlightRequest]:
        """Hold one request that is to be read; `give_way` is called when it has to end, while it is being read."""
        held = InFlightRequest(self, client, give_way)
        try:
            yield held
        finally:
            self._end_reading(held)
            self.requests -= held.is_complete
            self.bytes -= held.size

    def add_bytes(self, held: InFlightRequest, count: int) -> None:
        """Count bytes in. Raises OverloadedError where a bound is reached."""
        if not held.is_complete:
            self._reading.setdefault(held)
            own = self._clients.setdefault(held.client, _Client())
            own.reading.setdefault(held)
            while len(own.reading) > 1 and self._exceeds_share(own, count):
                self._displace(next(iter(own.reading)), held)
        while self.bytes + count > self._max_bytes:
            oldest = next(iter(self._reading), held)
            self._displace(oldest, held)
        self.bytes += count
        if not held.is_complete:
            self._clients[held.client].bytes += count

    def complete(self, held: InFlightRequest) -> None:
        """Count a request as complete. Raises OverloadedError where the bound is reached."""
        self._end_reading(held)
        if self.requests >= self._max_requests:
            raise OverloadedError(
                f"{self._max_requests} requests are being taken already (intake.inflight_requests): try again"
            )
        self.requests += 1

    def _exceeds_share(self, own: _Client, count: int) -> bool:
        share = self._client_share
        return len(own.reading) > self._max_requests * share or own.bytes + count > self._max_bytes * share

    def _displace(self, oldest: InFlightRequest, asking: InFlightRequest) -> None:
        if oldest is asking:
            raise OverloadedError(
                f"requests of {self._max_bytes} bytes are being taken already (intake.inflight_bytes): try again"
            )
        self._end_reading(oldest)
        self.bytes -= oldest.size
        oldest.displace()

    def _end_reading(self, held: InFlightRequest) -> None:
        if held not in self._reading:
            return
        del self._reading[held]
        own = self._clients[held.client]
        del own.reading[held]
        own.bytes -= held.size
        if not own.reading:
            del self._clients[held.client]


@dataclass(slots=True)
class _Client:
    """What one client has that is being read, the oldest first, and the bytes of it."""

    reading: dict[InFlightRequest, None] = field(default_factory=dict)
    bytes: int = 0


class InFlightRequest:
    """A request in flight, whose size may still grow."""

    __slots__ = ("_give_way", "_inflight", "client", "is_complete", "is_displaced", "size")

    def __init__(self, inflight: InFlight, client: str, give_way: Callable[[], None]) -> None:
        self._inflight = inflight
        self._give_way = give_way
        self.client = client
        self.size = 0
        self.is_complete = False
        self.is_displaced = False

    def grow(self, count: int) -> None:
        """Count `count` more bytes. Raises OverloadedError where a bound is reached."""
        self.check()
        self._inflight.add_bytes(self, count)
        self.size += count

    def complete(self) -> None:
        """Count the request as complete. Raises OverloadedError where the bound is reached."""
        self.check()
        self._inflight.complete(self)
        self.is_complete = True

    def displace(self) -> None:
        """End the reading of the request: its bytes do not count any more."""
        self.size, self.is_displaced = 0, True
        self._give_way()

    def check(self) -> None:
        """Raises OverloadedError where the request had to give way."""
        if self.is_displaced:
            raise OverloadedError(
                "too many requests are being read, and this one for the longest time (intake.inflight_bytes, "
                "intake.client_share): try again"
            )
