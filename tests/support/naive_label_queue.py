"""The calibration sample of the label queue, said without SQL."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracejury.schemas.annotations import Review
from tracejury.schemas.queries.labels import Labelled, QueueItem, QueueQuery, Stratum


@dataclass(frozen=True)
class QueuedRun:
    """A judged run: `found` of the balanced profile, `lowest` score of its judges; `arrived` in unix nanos."""

    trace_id: str
    run_id: str
    service: str = "svc"
    agent: str = "agent"
    arrived: int = 0
    found: bool = False
    lowest: int | None = None

    @property
    def stratum(self) -> str:
        """What it is drawn with."""
        return f"{'found' if self.found else 'clean'}/{'-' if self.lowest is None else self.lowest}/{self.service}"

    def number(self, place: int = 0) -> float:
        """Its random numbers."""
        digest = hashlib.sha256(f"label\0{self.trace_id}\0{self.run_id}".encode()).digest()
        return int.from_bytes(digest[8 * place : 8 * place + 8], "little") / 2**64


@dataclass
class NaiveLabelQueue:
    """Runs and the latest review of each by each annotator."""

    runs: list[QueuedRun] = field(default_factory=list)
    kept_reviews: dict[tuple[str, str], Review] = field(default_factory=dict)

    def save(self, labelled: Labelled) -> None:
        """The latest change of each review stays."""
        for review in labelled.reviews:
            key = (review.trace_id, review.place)
            if key not in self.kept_reviews or self.kept_reviews[key].changed_at <= review.changed_at:
                self.kept_reviews[key] = review

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """By random number times the root of the stratum's size."""
        reviews = [r for r in self.kept_reviews.values() if not r.withdrawn]
        drawn = {(r.trace_id, r.agent_run_id, r.annotator) for r in reviews if r.probability > 0}
        anybodys = {(trace_id, run_id) for trace_id, run_id, _ in drawn}
        runs = self._arrived(query.since, query.until, query.service)
        sizes = Counter(r.stratum for r in runs)
        first = {name: min(r.number() for r in runs if r.stratum == name) for name in sizes}
        asked = [
            r
            for r in runs
            if (r.trace_id, r.run_id, query.annotator) not in drawn
            and ((r.trace_id, r.run_id) not in anybodys or (query.annotator != "" and r.number(1) < query.overlap))
        ]
        place = {r: (r.number() > first[r.stratum], r.number() * math.sqrt(sizes[r.stratum])) for r in asked}
        shown = sorted(asked, key=place.__getitem__)[: query.limit]
        later, number = place[shown[-1]] if len(shown) == query.limit else (True, math.inf)
        reached = number if later else 0.0
        return [
            QueueItem(
                r.trace_id, r.run_id, r.service, r.agent, "drawn at random", r.stratum,
                _probability(reached, sizes[r.stratum]),
            )
            for r in shown
        ]  # fmt: skip

    def strata(self, since: int, until: int, service: str = "") -> Sequence[Stratum]:
        """Counted one by one."""
        reviews = [r for r in self.kept_reviews.values() if not r.withdrawn]
        drawn = {(r.trace_id, r.agent_run_id) for r in reviews if r.probability > 0}
        found = []
        runs = self._arrived(since, until, service)
        for name in sorted({r.stratum for r in runs}):
            of_it = [r for r in runs if r.stratum == name]
            numbers = [r.number() for r in of_it if (r.trace_id, r.run_id) in drawn]
            waiting = [r for r in of_it if (r.trace_id, r.run_id) not in drawn and r.number() < max(numbers, default=0)]
            looked = sorted((r.trace_id, r.run_id) for r in of_it if (r.trace_id, r.run_id) in drawn)
            found.append(Stratum(name, len(of_it), len(numbers), len(waiting), tuple(looked)))
        return found

    def _arrived(self, since: int, until: int, service: str) -> list[QueuedRun]:
        return [r for r in self.runs if since <= r.arrived < until and service in ("", r.service)]


def _probability(reached: float, size: int) -> float:
    below = min(1.0, reached / math.sqrt(size))
    return below + (1 - below) ** size / size
