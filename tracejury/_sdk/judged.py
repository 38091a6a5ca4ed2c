"""An agent's own tests: run it, rebuild what it did, and demand that no error is found, in this process.

This part needs the whole of tracejury (`pip install tracejury`), not a running collector; it is imported at first use.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExporter, SpanExportResult

from .tap import listening

if TYPE_CHECKING:
    from tracejury.collector.judging.in_process import InProcessResult
    from tracejury.schemas.agent_errors import AgentError
    from tracejury.schemas.findings import Finding
    from tracejury.schemas.trajectory import Trace

MOST_SPANS: Final = 100_000
"""Spans that are kept of one run; what comes later makes every demand on it fail, with a word why."""

PROFILE: Final = "balanced"


class JudgedRun(SpanExporter):
    """A span exporter that keeps what it gets and, when asked, rebuilds the traces and runs all detectors on them.

    `profile`: how sure a finding must be (strict, balanced, recall, or a number from 0 to 1). What was judged is judged
    again once more spans have come.
    """

    def __init__(self, profile: str = PROFILE) -> None:
        self.profile = profile
        self.dropped = 0
        self._spans: list[ReadableSpan] = []
        self._lock = threading.Lock()
        self._judged: tuple[int, InProcessResult] | None = None
        _in_process()

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        """Keep the spans."""
        with self._lock:
            room = MOST_SPANS - len(self._spans)
            self._spans += spans[:room]
            self.dropped += max(len(spans) - room, 0)
        return SpanExportResult.SUCCESS

    @property
    def traces(self) -> tuple[Trace, ...]:
        """All traces, rebuilt, in order of start."""
        return self._outcome().traces

    @property
    def trace(self) -> Trace:
        """The trace with the most agent runs, the first of these.

        Raises:
            AssertionError: no span came.
        """
        traces = self.traces
        if not traces:
            raise AssertionError(_NO_SPANS)
        return max(traces, key=lambda t: len(t.runs))

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings that the profile shows, in the order of traces and spans."""
        return self._outcome().shown(self.profile)

    @property
    def errors(self) -> tuple[AgentError, ...]:
        """The errors that the profile shows, with all their findings, in the order of traces and spans."""
        return self._outcome().errors(self.profile)

    def assert_no_errors(self, severity: str = "LOW", profile: str = "") -> None:
        """Demand that an agent was at work and that none of its errors is of `severity` (or worse) and sure enough.

        Raises:
            AssertionError: there are such errors (its text says where, what and why), nothing was there to be judged,
                or a detector failed.
            ConfigError: there is no such severity or profile.
        """
        __tracebackhide__ = True  # pytest shows the test's line, not ours
        if not self._spans:
            raise AssertionError(_NO_SPANS)
        if self.dropped:
            raise AssertionError(f"{self.dropped} spans came after the first {MOST_SPANS} and were not judged")
        complaint = self._outcome().complaint(severity, profile or self.profile)
        if complaint:
            raise AssertionError(complaint)

    def _outcome(self) -> InProcessResult:
        with self._lock:
            spans = tuple(self._spans)
        if self._judged is None or self._judged[0] != len(spans):
            self._judged = (len(spans), _in_process()(spans))
        return self._judged[1]


_NO_SPANS: Final = (
    "nothing was judged: no span ended. Is the instrumentation on, and its tracer provider the global one?"
)


@contextmanager
def judged(provider: TracerProvider | None = None, *, profile: str = PROFILE) -> Iterator[JudgedRun]:
    """Judge what agents do in this block.

    That is spans that end in it: of the global tracer provider, of `provider`, and of each that is made in it.

    Raises:
        ImportError: tracejury is not installed.
        ConfigError: there is no such profile.
    """
    run = JudgedRun(profile)

    def keep(span: ReadableSpan) -> None:
        run.export((span,))

    with listening(keep, provider):
        yield run


def _in_process() -> Callable[[Sequence[ReadableSpan]], InProcessResult]:
    """The installed `judge`. An entry point, so that this package imports nothing of tracejury."""
    for point in entry_points(group="tracejury.in_process", name="judge"):
        judge: Callable[[Sequence[ReadableSpan]], InProcessResult] = point.load()
        return judge
    raise ImportError("judged() needs the detectors: pip install tracejury")
