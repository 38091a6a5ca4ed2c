"""How long rows are kept: by project in the engine, by service with a sweep.

Only spans and traces name a service, and rows of derived tables follow their traces. So a table's TTL is the longest
time of any service of the project, and what is to be kept for less is deleted trace by trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tracejury.processors.assemble import SECOND

from .client import Store
from .config import ANY, MAX_RETENTION_DAYS, RetentionRule, StoreConfig
from .dead_letter import DeadLetterFolder

DAY: Final = 86_400
"""Seconds."""

_ARRIVED: Final = "SELECT tenant, ServiceName, toUnixTimestamp64Nano(min(ReceivedAt)) FROM {} GROUP BY ALL"


@dataclass(frozen=True, slots=True)
class Retention:
    """The rules of a configuration. Times are in seconds; None: for good."""

    config: StoreConfig

    def of(self, project: str, service: str) -> int | None:
        """The time for which traces of a service are kept: by the rule that names most, a service before a project."""
        rules = [r for r in self.config.retention if r.project in (ANY, project) and r.service in (ANY, service)]
        days = max(rules, key=_names).days if rules else self.config.retention_days
        return _seconds(days)

    def longest(self, project: str) -> int | None:
        """The time after which nothing of a project is kept."""
        rules = (rule for rule in self.config.retention if rule.project in (ANY, project))
        services = {rule.service for rule in rules}
        times = [self.of(project, service) for service in (*services, ANY)]
        return None if None in times else max(filter(None, times))

    def shortest(self) -> int | None:
        """The time after which parts may be gone, as all of their rows were of one project."""
        times = map(self.longest, {rule.project for rule in self.config.retention} | {ANY})
        return min((time for time in times if time is not None), default=None)

    def ttl(self, least: int = 0) -> str:
        """The TTL of a table as the engine shows it; "" where all rows are kept. `least`: seconds for all rows."""
        named = sorted({rule.project for rule in self.config.retention} - {ANY})
        other = self.longest(ANY)
        if other is None and all(self.longest(project) is None for project in named):
            return ""
        seconds = str(_at_least(other, least))
        if named:
            cases = (f"tenant = '{project}', {_at_least(self.longest(project), least)}" for project in named)
            seconds = f"multiIf({', '.join(cases)}, {seconds})"
        return f"toDateTime(ReceivedAt) + toIntervalSecond({seconds})"


def expire_dead_letters(letters: DeadLetterFolder, retention: Retention, now: int) -> None:
    """Delete the dead letters that are kept no longer; `now`: unix nanos. Raises OSError."""
    for project in letters.projects():
        kept = retention.longest(project)
        if kept is not None:
            letters.expire(project, now - kept * SECOND)


@dataclass(frozen=True, slots=True)
class Expired:
    """Traces of a service that are kept no longer: those that arrived before then (unix nanos)."""

    project: str
    service: str
    before: int


def expired(store: Store, retention: Retention, now: int) -> Iterator[Expired]:
    """What the engine keeps for longer than the rules say. Raises RetryableError, StoreError."""
    if not retention.config.retention:
        return
    first: dict[tuple[str, str], int] = {}
    for table in ("traces", "spans"):  # traces get their row when they are judged, or have waited for it
        for project, service, arrived in store.rows(_ARRIVED.format(table)):
            first[project, service] = min(arrived, first.get((project, service), arrived))
    for (project, service), arrived in sorted(first.items()):
        kept = retention.of(project, service)
        if kept is not None and kept != retention.longest(project) and arrived < (before := now - kept * SECOND):
            yield Expired(project, service, before)


def _names(rule: RetentionRule) -> tuple[bool, bool]:
    return rule.service != ANY, rule.project != ANY


def _seconds(days: float | None) -> int | None:
    return None if days is None else max(round(days * DAY), 1)


def _at_least(seconds: int | None, least: int) -> int:
    return MAX_RETENTION_DAYS * DAY if seconds is None else max(seconds, least)
