"""The path of one request in every receiver: admit, decode, redact, hand to the sink, count.

A large body must not keep a small one waiting, nor one client all others: requests are decoded in lanes of threads.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakValueDictionary

from cachetools import LRUCache
from pydantic import Field

from tracejury.collector.auth.keyring import Keyring
from tracejury.collector.otlp.codec.decode import Decoded, decode, with_events
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import SCHEMAS, Encoding, Signal
from tracejury.collector.otlp.redaction.stage import RedactionStage, note_of
from tracejury.collector.worker.log_throttle import LogThrottle
from tracejury.schemas.batch import Sink
from tracejury.schemas.config_base import MIB, Section
from tracejury.schemas.errors import PermanentError, RetryableError, TracejuryError

from .inflight import InFlight
from .metrics import ACCEPTED, CUT_VALUES, FAILED, ITEMS, REFUSED, REFUSED_REQUESTS, ReceiverMetrics
from .project_quotas import ProjectQuota, ProjectQuotas

log = logging.getLogger(__name__)

TRIES: Final = 3
"""After so many unforeseen failures a body is set aside."""

PRESSED_REQUESTS: Final = 2
"""More requests than one insert takes at a time wait for their answer: what nobody waits for should step back."""

DeadLetter = Callable[[Signal, Encoding, bytes, str], None]
"""Stores a body of a project that cannot be handled; may block, may raise."""

T = TypeVar("T")

INLINE_BYTES: Final = 16 * 1024
"""Bodies up to this size are decoded on the event loop (below 1 ms as a rule): a change of threads gains nothing."""
LANES: Final = {"small": 512 * 1024, "large": 4 * MIB, "huge": 2**63}
"""The largest body of each lane, in bytes."""


class IntakeConfig(Section):
    """Bounds on what all receivers together hold in memory."""

    inflight_requests: int = Field(default=1024, ge=1)
    """Requests being decoded or committed; beyond it they are refused retryably."""
    inflight_bytes: int = Field(default=256 * MIB, ge=MIB)
    """Bytes of their decompressed bodies; beyond it they are refused retryably."""
    client_share: float = Field(default=0.5, gt=0, le=1)
    """The share of both that requests of one address may have while their bodies arrive; beyond it the one that has
    been read longest is refused retryably. Over gRPC one that takes longer than half a second counts as the largest."""
    per_project: dict[str, ProjectQuota] = Field(default={})
    """Bytes that a project may send (docs/keys.md); `*` is each project that is not named."""


class Intake:
    """Takes requests from all receivers of a process to the sink.

    `keyring` tells who may send, by default everybody; `clock` gives unix nanos; `dead_letter` keeps bodies on which
    our own code failed `TRIES` times. With `redaction` the sink gets what it leaves; of a body that failed only a note
    is kept: nothing in it was redacted.
    """

    def __init__(
        self,
        sink: Sink,
        config: IntakeConfig | None = None,
        limits: Limits | None = None,
        *,
        metrics: ReceiverMetrics | None = None,
        clock: Callable[[], int] = time.time_ns,
        dead_letter: DeadLetter | None = None,
        keyring: Keyring | None = None,
        redaction: RedactionStage | None = None,
        left_out: str = "of deleted traces left out",
        events: bool = True,
    ) -> None:
        """`left_out`: why the sink leaves items out; without `events` log records make no spans here."""
        config = config or IntakeConfig()
        self.limits = limits or Limits()
        self.keyring = keyring or Keyring(environment={})
        self.inflight = InFlight(config.inflight_requests, config.inflight_bytes, config.client_share)
        self._quotas = ProjectQuotas(config.per_project)
        self._sink = sink
        self._metrics = metrics or ReceiverMetrics()
        self._clock = clock
        self._dead_letter = dead_letter
        self._redaction, self._left_out, self._events = redaction, left_out, events
        self._failures = RepeatedFailures()
        self._throttle = LogThrottle(clock)
        self._lanes = DecodeLanes()

    async def take(
        self, transport: str, signal: Signal, encoding: Encoding, body: bytes, client: str = "", tenant: str = ""
    ) -> PartialSuccess:
        """Decode and commit one request that is held in `inflight` already; returns after the commit.

        `client` is the connection that it came over; `tenant` the project that it belongs to.

        Raises:
            PermanentError: the request is wrong as a whole.
            RetryableError: it can be tried again.
        """
        decoded, left_out = await self.commit(transport, signal, encoding, body, client, tenant)
        if not left_out:
            return PartialSuccess(decoded.rejected, decoded.message)
        why = f"{left_out} {SCHEMAS[signal].noun} {self._left_out}"
        return PartialSuccess(decoded.rejected + left_out, "; ".join(filter(None, (decoded.message, why))))

    def admit(self, tenant: str, size: int) -> None:
        """Count so many bytes that a project sends. Raises OverloadedError: it may send no more now."""
        self._quotas.admit(tenant, size, self._clock())

    async def commit(
        self, transport: str, signal: Signal, encoding: Encoding, body: bytes, client: str, tenant: str
    ) -> tuple[Decoded, int]:
        """The same, for what is not told of a partial success: the decoded request, and the items left out."""
        self.admit(tenant, len(body))
        decoded = await self._decode(signal, encoding, body, client, tenant)
        # A log event of a deleted trace is left out with the span that it stands for: one item.
        left_out = min(await self._submit(decoded, transport, signal), decoded.items)
        items = ITEMS[signal]
        self._metrics.add(ACCEPTED + items, decoded.items - left_out, transport)
        if decoded.rejected:
            self._metrics.add(FAILED + items, decoded.rejected, transport)
            if self._throttle.due(f"rejected over {transport}"):
                # Most clients keep what a partial success says to themselves.
                log.warning("%s: %s", transport, decoded.message)
        return decoded, left_out

    def pressed(self) -> bool:
        """Whether clients wait for decoding, redaction or the store; from any thread."""
        return self.inflight.requests > PRESSED_REQUESTS

    def refused(self, transport: str, signal: Signal, error: Exception) -> None:
        """Count a request that is answered with an error; one a minute and kind of error is logged."""
        self._metrics.add(REFUSED_REQUESTS, 1, transport)
        if isinstance(error, TracejuryError) and self._throttle.due(f"{type(error).__name__} over {transport}"):
            log.warning("%s: refused a request of %s: %s", transport, signal, error)

    def close(self) -> None:
        """Stop the decoding threads; safe to call twice."""
        self._lanes.close()

    async def _decode(self, signal: Signal, encoding: Encoding, body: bytes, client: str, tenant: str) -> Decoded:
        now, limits, redaction, events = self._clock(), self.limits, self._redaction, self._events

        def work() -> Decoded:
            whole = redaction is None and events
            decoded = decode(signal, encoding, body, received_at=now, limits=limits, tenant=tenant, events=whole)
            if redaction is None:
                return decoded
            redacted = redaction.apply(decoded)
            return with_events(redacted) if events else redacted

        try:
            return await self._lanes.run(len(body), client, work, inline=redaction is None)
        except TracejuryError:
            raise
        except Exception as error:
            # The text of an error may quote the request.
            quoted = None if redaction else error
            log.error(  # noqa: TRY400
                "decoding a %s request of %d bytes failed: %s", signal, len(body), type(error).__name__, exc_info=quoted
            )
            await self._set_aside(signal, encoding, body, tenant)
            raise RetryableError("the request could not be decoded for a reason of ours: try again") from error

    async def _set_aside(self, signal: Signal, encoding: Encoding, body: bytes, tenant: str) -> None:
        """Keep a body that failed too often; only then is its client told to give up."""
        if self._failures.add(body) < TRIES or self._dead_letter is None:
            return
        kept = (encoding, body) if self._redaction is None else (Encoding.JSON, note_of(signal, encoding, body))
        try:
            await asyncio.to_thread(self._dead_letter, signal, *kept, tenant)
        except OSError:
            log.exception("a body of %d bytes could not be set aside", len(body))
            return
        self._failures.clear(body)
        raise PermanentError("the request failed again and again and was set aside in the dead-letter folder")

    async def _submit(self, decoded: Decoded, transport: str, signal: Signal) -> int:
        """The number of its items that were left out, as their traces are deleted."""
        batch = decoded.batch
        if not batch:
            return 0
        try:
            left_out = await self._sink.submit(batch)
        except TracejuryError:
            self._metrics.add(REFUSED + ITEMS[signal], decoded.items, transport)
            raise
        except Exception as error:
            self._metrics.add(REFUSED + ITEMS[signal], decoded.items, transport)
            log.exception("storing a %s request failed", signal)
            raise RetryableError("the request could not be stored for a reason of ours: try again") from error
        cut = sum(span.cut for span in batch.spans) + sum(record.cut for record in batch.logs)
        if cut:
            self._metrics.add(CUT_VALUES, cut, transport)
        return left_out


class DecodeLanes:
    """One thread for each range of sizes; more would share the interpreter's lock, and hold several huge bodies.

    In a lane the clients take turns: the bodies of one client enter it one after the other.
    """

    def __init__(self) -> None:
        self._threads = {lane: ThreadPoolExecutor(1, thread_name_prefix=f"otlp-decode-{lane}") for lane in LANES}
        self._turns: WeakValueDictionary[tuple[str, str], asyncio.Lock] = WeakValueDictionary()

    async def run(self, size: int, client: str, work: Callable[[], T], *, inline: bool = True) -> T:
        """The result of `work`, which decodes a body of `size` bytes from `client` (a connection).

        Small work is done at once on the event loop if it may be done `inline`.
        """
        if inline and size <= INLINE_BYTES:
            return work()
        lane = next(name for name, most in LANES.items() if size <= most)
        turn = self._turns.setdefault((client, lane), asyncio.Lock())
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads[lane], work)

    def close(self) -> None:
        """Stop the threads; safe to call twice."""
        for thread in self._threads.values():
            thread.shutdown(wait=False)


class RepeatedFailures:
    """Failures by body hash. At most `most` bodies are remembered; the least recent one is dropped first."""

    def __init__(self, most: int = 1024) -> None:
        self._counts: LRUCache[bytes, int] = LRUCache(most)

    def add(self, body: bytes) -> int:
        """Count one more failure of `body`; returns how many there were."""
        key = _digest(body)
        self._counts[key] = count = self._counts.get(key, 0) + 1
        return count

    def clear(self, body: bytes) -> None:
        """Count from the start again."""
        self._counts.pop(_digest(body), None)


def _digest(body: bytes) -> bytes:
    return hashlib.blake2b(body, digest_size=16).digest()
