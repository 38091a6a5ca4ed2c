"""Forwarding, built from the configuration: a worker for each backend, and the listener that queues traces for them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Final

from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import JudgedByOthers, Listeners
from tracejury.collector.worker.loop_runner import LoopRunner
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

from .backend_connection import connection_of
from .config import ExportConfig
from .tail_sampler import TailSampler

if TYPE_CHECKING:
    from tracejury.collector.otlp.client.client import OtlpClient
    from tracejury.collector.store.client import Store

    from .forwarder import Forwarder

SECOND: Final = 1_000_000_000


class Forwarding:
    """All backends: a listener to judging. Made in the running loop; safe to stop without start, and twice."""

    def __init__(self, forwarders: Sequence[tuple[str, Forwarder]] = (), clients: Sequence[OtlpClient] = ()) -> None:
        """`forwarders`: each with the project whose traces it sends."""
        self._forwarders, self._clients = forwarders, clients

    def start(self) -> None:
        """Begin with what an earlier process left."""
        for _, forwarder in self._forwarders:
            forwarder.worker.start()

    async def stop(self, deadline: float) -> None:
        """Send what is due, within `deadline` seconds; the rest is sent after the next start."""
        await asyncio.gather(*(forwarder.stop(deadline) for _, forwarder in self._forwarders))
        for client in self._clients:
            await client.close()

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        self._tell([(j.trace.tenant, j.trace.trace_id) for j in traces if j.trace.state is not TraceState.OPEN])

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        said = (j.subject for s in subjects if s.state is not TraceState.OPEN for j in s.judgements)
        self._tell(list(dict.fromkeys((subject.tenant, subject.trace_id) for subject in said)))

    def judged_by_others(self, traces: Sequence[JudgedByOthers]) -> None:
        """Take up, later, what whoever judged these traces did not forward."""
        for project, forwarder in self._forwarders:
            forwarder.take_up([t.key[1] for t in traces if t.is_complete and t.key[0] == project])

    def _tell(self, keys: Sequence[TraceKey]) -> None:
        for project, forwarder in self._forwarders:
            if trace_ids := [trace_id for tenant, trace_id in keys if tenant == project]:
                forwarder.queue.put_keys(trace_ids)


def build_exports(
    store: Store,
    config: ExportConfig,
    telemetry: Telemetry,
    listeners: Listeners,
    secret: bytes,
    pressed: Callable[[], bool],
    clock: Callable[[], int] = time.time_ns,
) -> Forwarding:
    """Forwarding over an open store, in the running event loop.

    `secret`: the installation's; `pressed`: clients wait for the store, or judging lags.

    Raises:
        ConfigError: an environment variable or a file that the configuration names is not there.
    """
    if not config.otlp:  # what is imported otherwise takes time
        return Forwarding()
    from tracejury.collector.otlp.client.connect import client_of
    from tracejury.collector.store.exports import StoredExports

    from .batch import ExportOptions
    from .counts import ExportCounts
    from .delivery import Delivery
    from .evaluation_formats import Installation
    from .forwarder import Forwarder, WaitLimits
    from .metrics import watch_export

    limits = WaitLimits(round(config.judges_wait_seconds * SECOND), round(config.max_age_seconds * SECOND))
    longest = config.retry_longest_seconds
    retry = RetryPolicy(config.retry_first_seconds, longest, 5 * longest)
    forwarders: list[tuple[str, Forwarder]] = []
    clients: list[OtlpClient] = []
    for number, backend in enumerate(config.otlp):
        connection = connection_of(backend, number)
        client = client_of(connection, grpc=backend.protocol == "grpc")
        counts = ExportCounts()
        options = ExportOptions(
            installation=Installation(secret),
            sampler=TailSampler.of(backend.sampling or config.sampling),
            sure=Confidence.of(config.profile),
            annotations=frozenset(backend.annotations),
            logs=backend.logs,
            own_judges=backend.own_judges,
            max_bytes=backend.max_request_bytes,
            ours=partial(is_ours, secret=secret),
        )
        forwarder = Forwarder(
            backend.name,
            StoredExports(store, backend.name, backend.project, clock=clock),
            Delivery(backend.name, client, counts, retry, connection.secrets),
            options,
            limits,
            config.queue_traces,
            retry,
            counts,
            loop=LoopRunner(),
            pressed=pressed,
            clock=clock,
        )
        clients.append(client)
        forwarders.append((backend.project, forwarder))
    watch_export(telemetry, forwarders)
    exports = Forwarding(forwarders, clients)
    listeners.add(exports)
    listeners.add_for_others(exports.judged_by_others)
    return exports
