"""Passing on put together from the configuration: one task a backend, and the listener that tells them what is due."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, Final, TypeVar

from ....schemas.queries.reader import Confidence
from ....schemas.trajectory import TraceState
from ....schemas.verdicts import JudgedSubject, JudgedTrace
from ...otlp.mark import is_ours
from ...telemetry import Telemetry
from ...worker.listeners import Listeners
from ...worker.retry import RetryPolicy
from .backend_connection import connection_of
from .choice import Chooser
from .config import ExportConfig

if TYPE_CHECKING:
    from ...otlp.client.client import OtlpClient
    from ...store.client import Store
    from .forwarder import Forwarder

T = TypeVar("T")
SECOND: Final = 1_000_000_000


class Exports:
    """All backends: a listener to judging. Made in the running loop; safe to stop without start, and twice."""

    def __init__(
        self, forwarders: Sequence[Forwarder], clients: Sequence[OtlpClient], pool: ThreadPoolExecutor
    ) -> None:
        self._forwarders, self._clients, self._pool = forwarders, clients, pool
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        """Begin with what an earlier process left."""
        self._tasks = [asyncio.create_task(f.serve(), name=f"export {f.name}") for f in self._forwarders]

    async def stop(self, deadline: float) -> None:
        """Send what is due, within `deadline` seconds; the rest is sent after the next start."""
        for forwarder in self._forwarders:
            forwarder.drain()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=deadline)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for client in self._clients:
            await client.close()
        self._pool.shutdown(wait=False, cancel_futures=True)

    def judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        self._tell([j.trace.trace_id for j in traces if j.trace.state is not TraceState.OPEN])

    def heard(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        traces = (j.subject.trace_id for s in subjects if s.state is not TraceState.OPEN for j in s.judgements)
        self._tell(list(dict.fromkeys(traces)))

    def _tell(self, trace_ids: Sequence[str]) -> None:
        if trace_ids:
            for forwarder in self._forwarders:
                forwarder.queue.add(trace_ids)


def build_exports(
    store: Store,
    config: ExportConfig,
    telemetry: Telemetry,
    listeners: Listeners,
    secret: bytes,
    pressed: Callable[[], bool],
    clock: Callable[[], int] = time.time_ns,
) -> Exports:
    """Passing on over an open store, in the running event loop.

    `secret`: the installation's; `pressed`: clients wait for the store, or judging lags.

    Raises:
        ConfigError: an environment variable or a file that the configuration names is not there.
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix="export")
    if not config.otlp:  # what is imported otherwise takes time
        return Exports((), (), pool)
    from ...otlp.client.connect import client_of
    from ...store.exports import StoredExports
    from .batch import Manner
    from .delivery import Delivery
    from .forwarder import Forwarder, Patience
    from .metrics import Counts, Watched, watch_export
    from .queue import Queue
    from .written import Sender

    loop = asyncio.get_running_loop()

    async def run(call: Callable[[], T]) -> T:
        return await loop.run_in_executor(pool, call)

    patience = Patience(round(config.judges_wait_seconds * SECOND), round(config.max_age_seconds * SECOND))
    longest = config.retry_longest_seconds
    retry = RetryPolicy(config.retry_first_seconds, longest, 5 * longest)
    forwarders: list[Forwarder] = []
    watched: list[Watched] = []
    clients: list[OtlpClient] = []
    for number, backend in enumerate(config.otlp):
        connection = connection_of(backend, number)
        client = client_of(connection, grpc=backend.protocol == "grpc")
        counts = Counts()
        delivery = Delivery(backend.name, client, counts, retry, connection.secrets)
        manner = Manner(
            sender=Sender(secret),
            chooser=Chooser.of(backend.sampling or config.sampling),
            sure=Confidence.of(config.profile),
            annotations=frozenset(backend.annotations),
            logs=backend.logs,
            own_judges=backend.own_judges,
            max_bytes=backend.max_request_bytes,
            ours=partial(is_ours, secret=secret),
        )
        forwarder = Forwarder(
            backend.name,
            StoredExports(store, backend.name, clock=clock),
            delivery,
            manner,
            patience,
            Queue(config.queue_traces),
            counts,
            run=run,
            pressed=pressed,
            clock=clock,
        )
        clients.append(client)
        forwarders.append(forwarder)
        f = forwarder
        watched.append(Watched(f.name, f.counts, f.queue.__len__, f.lag, f.is_up, delivery.closed))
    watch_export(telemetry, watched)
    exports = Exports(forwarders, clients, pool)
    listeners.add(exports)
    return exports
