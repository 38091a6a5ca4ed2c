"""New findings counted by project, service, category and severity, with bounded labels."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from cachetools import LRUCache

from tracejury.collector.telemetry import Telemetry, of_project
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.text.naming import shortened
from tracejury.schemas.verdicts import JudgedSubject, JudgedTrace

from .rates import OTHER, UNNAMED

SERVICES, CATEGORIES, TRACES = 50, 40, 10_000


class BoundedLabel:
    """A label with bounded values: the first ones, each shortened; all others share one name."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: set[str] = set()

    def __call__(self, value: str) -> str:
        """The shortened value, or OTHER."""
        value = shortened(value)
        if value in self._known:
            return value
        if len(self._known) >= self._most:
            return OTHER
        self._known.add(value)
        return value


class FindingCounts:
    """A listener to judging that counts each fingerprint when it is first seen, whichever judge saw it.

    What users do not see in the profile they start with is not counted.
    """

    def __init__(self, telemetry: Telemetry) -> None:
        self._counter = telemetry.meter.create_counter(
            "tracejury_findings", description="Findings seen for the first time, by service, category and severity"
        )
        self._least = threshold(DEFAULT_PROFILE)
        self._service, self._category = BoundedLabel(SERVICES), BoundedLabel(CATEGORIES)
        self._lock = threading.Lock()
        self._services: LRUCache[tuple[str, str], str] = LRUCache(
            TRACES
        )  # of traces judged lately: LLM judges come later

    def traces_judged(self, traces: Sequence[JudgedTrace]) -> None:
        """See `Listener`."""
        for one in traces:
            with self._lock:
                self._services[one.trace.tenant, one.trace.trace_id] = shortened(one.trace.service)
            self._count(one.changed, one.judgement.judged_at)

    def subjects_judged(self, subjects: Sequence[JudgedSubject]) -> None:
        """See `Listener`."""
        for subject in subjects:
            self._count(subject.changed, max((j.judged_at for j in subject.judgements), default=0))

    def _count(self, changed: Sequence[Finding], judged_at: int) -> None:
        # Counted apart, a fingerprint of which two findings are new at once would be two.
        new = (f for f in changed if f.first_seen >= judged_at and f.confidence >= self._least)
        for finding in {f.fingerprint: f for f in new}.values():
            with self._lock:
                service = self._service(self._services.get((finding.tenant, finding.trace_id), "") or UNNAMED)
                category = self._category(finding.category)
            labels = {
                "service": service,
                "category": category,
                "severity": finding.severity.value,
                **of_project(finding.tenant),
            }
            self._counter.add(1, labels)
