"""The span processor for an agent's process: it announces spans when they start."""

from __future__ import annotations

import atexit
import os
import weakref
from collections.abc import Callable
from typing import Final

from opentelemetry.context import Context
from opentelemetry.sdk.trace import ReadableSpan, Span, SpanProcessor
from opentelemetry.sdk.trace.export import SpanExporter

from .children import EXIT_FLUSH
from .kinds import kind_of
from .outbox import Counts, Outbox, QueuedSpan
from .stamp import SpanIdentities
from .trouble import harmless

QUEUE: Final = 4096
INTERVAL: Final = 1.0
PACE: Final = 0.05


class LiveProcessor(SpanProcessor):
    """Announces each span when it starts, says whose it is, and sends what has ended; never blocks or raises.

    Takes the place of a BatchSpanProcessor. A copy of a span marked `tracejury.pending` goes out when it starts (and
    again when it has more to say), so that its trace has a tree before the first span ends and a killed program keeps
    its manager. Agents, tools and roots are sent as soon as they begin or end, all else within `interval` seconds,
    no more often than every `pace` seconds. `queue`: spans that may wait; `exit_flush`: seconds that the program's
    exit may wait for the last ones. `counts` says what became of the spans.

    Safe with threads, asyncio and fork: hand in a function that makes the exporter, and a forked child makes one of its
    own (connections can't be shared).
    """

    def __init__(
        self,
        exporter: SpanExporter | Callable[[], SpanExporter],
        *,
        queue: int = QUEUE,
        interval: float = INTERVAL,
        pace: float = PACE,
        exit_flush: float = EXIT_FLUSH,
    ) -> None:
        self._exit_flush = exit_flush
        make = (lambda: exporter) if isinstance(exporter, SpanExporter) else exporter
        self._outbox = Outbox(make, limit=queue, interval=interval, pace=pace)
        self._stamps = SpanIdentities()
        _after_fork(self._outbox)
        atexit.register(self._at_exit)

    @property
    def counts(self) -> Counts:
        """Counts of the spans of this process, by outcome."""
        return self._outbox.counts

    @harmless(None)
    def on_start(self, span: Span, parent_context: Context | None = None) -> None:
        """Say whose the span is, and announce it."""
        if _sampled(span):
            identity = self._stamps.give(span, parent_context)
            self._outbox.put(QueuedSpan(span, identity, False, True))  # noqa: FBT003 - by name takes three times as long

    @harmless(None)
    def on_end(self, span: ReadableSpan) -> None:
        """Send the span; at once where it was a tool's, an agent's or the root."""
        if _sampled(span):
            self._outbox.put(QueuedSpan(span, self._stamps.take(span), True, _hurries(span)))  # noqa: FBT003

    @harmless(False)  # noqa: FBT003 - the answer of a flush that failed
    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        """Wait until all that has ended by now is sent; whether it was, within the time."""
        return self._outbox.flush(timeout_millis / 1e3)

    @harmless(None)
    def shutdown(self) -> None:
        """Send what is left, within the exit's time, and close the exporter. Idempotent."""
        if self._outbox.closed:
            return
        atexit.unregister(self._at_exit)
        self._outbox.stop(self._exit_flush)

    @harmless(None)
    def _at_exit(self) -> None:
        # Not a shutdown: exit handlers that run later may still end spans, and the provider's own shuts us down.
        if not self._outbox.flush(self._exit_flush):
            self._exit_flush = 0.0


def _sampled(span: ReadableSpan) -> bool:
    found = span.context
    return found is not None and found.trace_flags.sampled


def _hurries(span: ReadableSpan) -> bool:
    """A tool's or an agent's span, and one that ends what this process does for a trace."""
    return span.parent is None or span.parent.is_remote or bool(kind_of(span.attributes))


def _after_fork(outbox: Outbox) -> None:
    known = weakref.ref(outbox)  # the handler can't be taken back: it must not keep a processor alive

    def in_child() -> None:
        if (mine := known()) is not None:
            mine.after_fork()

    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=in_child)
