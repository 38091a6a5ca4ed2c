"""Hours and days with valid sums, and the plan by which a question reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import TENANT, Scope

from .facts import HOUR
from .question import Question

DAY: Final = 24
"""Hours."""

_MARKS: Final = (
    f"SELECT Hours, Bucket, max(Touched), max(Rolled) FROM rate_buckets WHERE {TENANT} AND Hours > 0 "
    "AND Bucket >= {first:UInt32} AND Bucket <= {last:UInt32} GROUP BY Hours, Bucket ORDER BY Hours, Bucket"
)


@dataclass(frozen=True, slots=True)
class Mark:
    """When facts of an hour were last written, and which generation of its sums is the latest; 0: never, none."""

    touched: int
    rolled: int

    @property
    def holds(self) -> bool:
        """Whether its sums are those of its facts."""
        return self.rolled > self.touched


@dataclass(frozen=True, slots=True)
class Marks:
    """All hours that have facts, and all days that have sums, by their first hour since 1970."""

    hours: Mapping[int, Mark]
    days: Mapping[int, Mark]

    def day(self, bucket: int) -> Mark:
        """A day's mark; touched when its latest hour changed."""
        touched = max((self.hours[h].touched for h in self.hours_of(bucket)), default=0)
        return Mark(touched, self.days[bucket].rolled if bucket in self.days else 0)

    def hours_of(self, bucket: int) -> Iterable[int]:
        """The hours of a day that have facts."""
        return (hour for hour in range(bucket, bucket + DAY) if hour in self.hours)


@dataclass(frozen=True, slots=True)
class Plan:
    """A reading plan: `generations` of sums, and `hours` whose facts must be read."""

    generations: tuple[int, ...]
    hours: tuple[int, ...]


def marks(store: Store, tenant: str, first: int, last: int) -> Marks:
    """Marks of all days that contain the hours `first` to `last`. Raises RetryableError, StoreError."""
    first, last = first - first % DAY, last - last % DAY + DAY - 1
    rows = Scope(store, tenant).select(_MARKS, first=first, last=last)
    return Marks(
        {row[1]: Mark(row[2], row[3]) for row in rows if row[0] == 1},
        {row[1]: Mark(0, row[3]) for row in rows if row[0] == DAY},
    )


def plan(question: Question, found: Marks) -> Plan:
    """Sums of days as far as they hold and a point in time takes whole ones, then of hours; else facts."""
    q = question
    generations: list[int] = []
    covered: set[int] = set()
    if q.step % (DAY * HOUR) == 0:
        for bucket in sorted({hour - hour % DAY for hour in found.hours}):
            mark = found.day(bucket)
            if mark.holds and q.since <= bucket * HOUR and (bucket + DAY) * HOUR <= q.until:
                generations.append(mark.rolled)
                covered.update(found.hours_of(bucket))
    scanned: list[int] = []
    for hour, mark in found.hours.items():
        if hour in covered or hour * HOUR >= q.until or (hour + 1) * HOUR <= q.since:
            continue
        inside = q.since <= hour * HOUR and (hour + 1) * HOUR <= q.until
        if mark.holds and inside and q.step % HOUR == 0:
            generations.append(mark.rolled)
        else:
            scanned.append(hour)
    return Plan(tuple(generations), tuple(scanned))
