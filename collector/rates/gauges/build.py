"""The gauges: a worker asks the store now and then, and a scrape reads its last answer."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, Generic, TypeVar

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.queries.present_llm import day_start, present_spend
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.client import Store
from tracejury.collector.telemetry import Telemetry, of_project
from tracejury.collector.worker.outage_log import OutageLog
from tracejury.collector.worker.worker import Task, Worker
from tracejury.schemas.queries.ledger import JudgesStatus

from .findings import FindingCounts
from .grades import WINDOW, GradeFigures, grade_figures
from .performance import GAUGES, Sample, performance_samples
from .rates import RateFigures, rate_figures

EVERY: Final = 30.0
"""Seconds between two refreshes."""
GRADES_EVERY: Final = 240.0
"""Seconds between two looks at grades, at least."""
PERFORMANCE_EVERY: Final = 60.0
"""Seconds between two looks at latency, tokens and cost, at least."""
SHARE: Final = 100
"""Such looks take at most one part in so many of the time: those at ten thousand runs of each project take seconds."""
STALE: Final = 300.0
"""Seconds after which the last answer is shown no longer."""


Answer = TypeVar("Answer")


@dataclass(slots=True)
class RareLooks(Generic[Answer]):
    """Looks that take long, at most every so many seconds, or `SHARE` times what the last one took if that is longer.

    `last`: the last answer. Times are seconds of the monotonic clock.
    """

    every: float
    last: Answer
    _due: float = float("-inf")

    def ask(self, look: Callable[[], Answer]) -> Answer:
        """The last answer, or a new one where it is due. Raises what `look` raises."""
        if (began := time.monotonic()) >= self._due:
            self.last = look()
            ended = time.monotonic()
            self._due = ended + max(self.every, SHARE * (ended - began))
        return self.last


@dataclass(frozen=True, slots=True)
class LastAnswer:
    """The store's last answer and its time (seconds of the monotonic clock).

    `rates`, `grades` and `performance` by project, `spent` and `caps` by name of the cap.
    """

    at: float = float("-inf")
    rates: Mapping[str, RateFigures] = field(default_factory=dict)
    grades: Mapping[str, GradeFigures] = field(default_factory=dict)
    spent: Mapping[str, float] = field(default_factory=dict)
    caps: Mapping[str, float] = field(default_factory=dict)
    performance: Mapping[str, Sequence[Sample]] = field(default_factory=dict)


class Gauges:
    """Refreshed by a worker; a scrape does not ask the store."""

    def __init__(
        self,
        store: Store,
        reader_of: Callable[[str], StoredReader],
        judges: Callable[[], JudgesStatus],
        telemetry: Telemetry,
        clock: Callable[[], int] = time.time_ns,
        projects: Callable[[], Iterable[str]] = lambda: ("",),
    ) -> None:
        self.findings = FindingCounts(telemetry)
        self._reader_of, self._judges, self._clock, self._projects = cache(reader_of), judges, clock, projects
        self._last = LastAnswer()
        self._grades_now = RareLooks[Mapping[str, GradeFigures]](GRADES_EVERY, {})
        self._performance_now = RareLooks[Mapping[str, Sequence[Sample]]](PERFORMANCE_EVERY, {})
        outage = OutageLog("error rates for Prometheus", "wait for the store", "are refreshed again", clock)
        self._worker = Worker("gauges", Task(self.refresh), outage, every=EVERY, clock=clock)
        self._declare(telemetry, store)

    def start(self) -> None:
        """Begin to refresh, at once."""
        self._worker.start()

    async def stop(self, deadline: float) -> None:
        """Refresh no longer. Idempotent."""
        await asyncio.to_thread(self._worker.stop, deadline)

    def refresh(self) -> None:
        """Ask the store; blocks.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        now, status = self._clock(), self._judges()
        projects = sorted(self._projects())
        rates = {project: rate_figures(self._reader_of(project).rates, now) for project in projects}
        performance = self._performance_now.ask(
            lambda: {project: performance_samples(self._reader_of(project).performance, now) for project in projects}
        )
        grades: Mapping[str, GradeFigures] = {}
        spent: dict[str, float] = {}
        if status.on:
            grades = self._grades_now.ask(
                lambda: {project: grade_figures(self._reader_of(project).measures, now) for project in projects}
            )
            said = present_spend(self._reader_of("").ledger.spend(day_start(now)), status, now)
            for period, sums in (("hour", said.hour), ("day", said.day)):
                spent[f"usd_per_{period}"] = sums.usd
                spent[f"tokens_per_{period}"] = sums.tokens
                spent[f"unpriced_tokens_per_{period}"] = sums.unpriced
        self._last = LastAnswer(time.monotonic(), rates, grades, spent, status.caps, performance)

    def _declare(self, telemetry: Telemetry, store: Store) -> None:
        def rates(name: str, of: str, description: str) -> None:
            telemetry.meter.create_observable_gauge(name, callbacks=[self._rates(of)], description=description)

        rates("tracejury_judged_runs", "judged", "Agent runs judged in the window, by service; without one: all")
        rates("tracejury_error_rate", "share", "Share of the judged runs with at least one error")
        rates("tracejury_error_rate_low", "low", "Lower end of its 95 % interval")
        rates("tracejury_error_rate_high", "high", "Upper end of its 95 % interval")
        gauge = telemetry.meter.create_observable_gauge
        for name, of, description in (
            (
                "grade",
                "mean",
                "Mean grade, 0 to 3, of agent runs by LLM judges, by service and measure",
            ),
            ("grade_low", "low", "Lower end of its 95 % interval"),
            ("grade_high", "high", "Upper end of its 95 % interval"),
            ("graded_runs", "runs", "Agent runs that it is of"),
            ("grades_without_finding", "ungrounded", "Grades of 0 among them without a standing finding"),
        ):
            gauge(f"tracejury_{name}", callbacks=[self._grades(of)], description=description)
        for name, description in GAUGES.items():
            gauge(name, callbacks=[self._performance(name)], description=description)
        gauge("tracejury_panel_spend", callbacks=[self._caps("spent")], description="Spend that a cap looks at, by cap")
        gauge("tracejury_panel_cap", callbacks=[self._caps("caps")], description="Caps on spend, by name")
        if store.free_bytes() is not None:
            telemetry.gauge(
                "tracejury_store_free_bytes", "Free bytes of the store's disk", lambda: store.free_bytes() or 0, "By"
            )

    def _fresh(self) -> LastAnswer:
        return self._last if time.monotonic() - self._last.at < STALE else LastAnswer()

    def _rates(self, of: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(value, {"service": service, "window": window, **of_project(project)})
                for project, figures in self._fresh().rates.items()
                for (service, window), value in getattr(figures, of).items()
            ]

        return observe

    def _grades(self, of: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(value, {"service": service, "measure": measure, "window": WINDOW, **of_project(project)})
                for project, figures in self._fresh().grades.items()
                for (service, measure), value in figures.of(of).items()
            ]

        return observe

    def _performance(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            return [
                Observation(value, {**labels, **of_project(project)})
                for project, samples in self._fresh().performance.items()
                for gauge, labels, value in samples
                if gauge == name
            ]

        return observe

    def _caps(self, of: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_options: CallbackOptions) -> Iterable[Observation]:
            values: Mapping[str, float] = getattr(self._fresh(), of)
            return [Observation(value, {"cap": name}) for name, value in values.items()]

        return observe
