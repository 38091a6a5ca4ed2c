"""Human labels over memory: what the store must do, said without SQL."""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tracejury.judges.measures.quality import LabelledRun, quality_of
from tracejury.schemas.annotations import Annotation, HumanScore, Review
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import JudgeQuality, Labelled, LabelQuery, Purpose, QueueItem, QueueQuery, Stratum

Label = TypeVar("Label", Annotation, HumanScore, Review)


@dataclass(frozen=True)
class MemoryRun:
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
class MemoryLabels:
    """Labels by identity, the latest change of each; the runs and disputes that the queue knows are put in."""

    runs: list[MemoryRun] = field(default_factory=list)
    found: dict[str, Finding] = field(default_factory=dict)
    disputes: list[QueueItem] = field(default_factory=list)
    labelled_runs: list[LabelledRun] = field(default_factory=list)
    kept_annotations: dict[tuple[str, str, str], Annotation] = field(default_factory=dict)
    kept_scores: dict[tuple[str, str, str], HumanScore] = field(default_factory=dict)
    kept_reviews: dict[tuple[str, str, str], Review] = field(default_factory=dict)

    def clear(self) -> None:
        """Forget everything."""
        for kept in (self.runs, self.disputes, self.labelled_runs):
            kept.clear()
        for told in (self.found, self.kept_annotations, self.kept_scores, self.kept_reviews):
            told.clear()

    def save(self, labelled: Labelled) -> None:
        """The latest change of each stays."""
        _keep(self.kept_annotations, labelled.annotations, lambda a: a.id)
        _keep(self.kept_scores, labelled.scores, lambda s: s.place)
        _keep(self.kept_reviews, labelled.reviews, lambda r: r.place)

    def of_traces(self, trace_ids: Sequence[str]) -> Mapping[str, Labelled]:
        """What stands."""
        found = {
            trace_id: Labelled(
                tuple(sorted(_of(self.kept_annotations, trace_id), key=lambda a: (a.span_id, a.id))),
                tuple(sorted(_of(self.kept_scores, trace_id), key=lambda s: s.place)),
                tuple(sorted(_of(self.kept_reviews, trace_id), key=lambda r: r.place)),
            )
            for trace_id in trace_ids
        }
        return {i: said for i, said in found.items() if said != Labelled()}

    def annotations_of(self, trace_ids: Sequence[str]) -> Sequence[Annotation]:
        """Those that stand."""
        return [a for said in self.of_traces(trace_ids).values() for a in said.annotations]

    def annotations(self, query: LabelQuery) -> Sequence[Annotation]:
        """Latest change first."""
        names = ("id", "span_id", "agent_run_id", "annotator", "finding_id", "judge", "category", "opinion")
        return self._find(self.kept_annotations.values(), query, names, lambda a: a.place)

    def scores(self, query: LabelQuery) -> Sequence[HumanScore]:
        """Latest change first."""
        return self._find(self.kept_scores.values(), query, ("agent_run_id", "annotator"), lambda s: s.place)

    def reviews(self, query: LabelQuery) -> Sequence[Review]:
        """Latest change first."""
        return self._find(self.kept_reviews.values(), query, ("agent_run_id", "annotator"), lambda r: r.place)

    def delete(self, query: LabelQuery) -> int:
        """By what it names."""
        everywhere: list[dict[Any, Any]] = [self.kept_annotations, self.kept_scores, self.kept_reviews]
        named = ("trace_id", "id", "agent_run_id", "annotator")
        wanted = {name: getattr(query, name) for name in named if getattr(query, name)}
        gone = 0
        for kept in everywhere:
            for key, label in list(kept.items()):
                if all(getattr(label, n, None) == v for n, v in wanted.items()):
                    del kept[key]
                    gone += 1
        return gone

    def finding(self, finding_id: str) -> Finding | None:
        """As it was put here."""
        return self.found.get(finding_id)

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """By random number times the root of the stratum's size; disputes in the order in which they were put in."""
        reviews = [r for r in self.kept_reviews.values() if not r.withdrawn]
        mine = {(r.trace_id, r.agent_run_id) for r in reviews if r.annotator == query.annotator}
        if query.purpose is Purpose.LEARNING:
            return [d for d in self.disputes if (d.trace_id, d.agent_run_id) not in mine][: query.limit]
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

    def quality(
        self,
        since: int,  # noqa: ARG002  the protocol's signature
        until: int,  # noqa: ARG002  the protocol's signature
        service: str = "",  # noqa: ARG002  the protocol's signature
        strata: Sequence[Stratum] | None = None,  # noqa: ARG002  the protocol's signature
    ) -> Sequence[JudgeQuality]:
        """Of the runs that were put here."""
        return quality_of(self.labelled_runs)

    def _arrived(self, since: int, until: int, service: str) -> list[MemoryRun]:
        return [r for r in self.runs if since <= r.arrived < until and service in ("", r.service)]

    def _find(
        self, labels: Iterable[Label], query: LabelQuery, names: Sequence[str], place: Callable[[Label], str]
    ) -> list[Label]:
        before = (query.before.time, query.before.id) if query.before else (2**64, "")
        after = (query.after.time, query.after.id) if query.after else (-1, "")
        services = {r.trace_id for r in self.runs if r.service == query.service}
        kept = [
            label
            for label in labels
            if query.trace_id in ("", label.trace_id)
            and (not query.service or label.trace_id in services)
            and all(getattr(query, name) in ("", None, getattr(label, name)) for name in names)
            and (query.withdrawn or not label.withdrawn)
            and label.changed_at >= query.since
            and after < (label.changed_at, place(label)) < before
        ]
        return sorted(kept, key=lambda label: (label.changed_at, place(label)), reverse=not query.after)[: query.limit]


def _probability(reached: float, size: int) -> float:
    below = min(1.0, reached / math.sqrt(size))
    return below + (1 - below) ** size / size


def _keep(kept: dict[tuple[str, str, str], Label], labels: Iterable[Label], place: Callable[[Label], str]) -> None:
    for label in labels:
        key = (label.tenant, label.trace_id, place(label))
        if key not in kept or kept[key].changed_at <= label.changed_at:
            kept[key] = label


def _of(kept: Mapping[tuple[str, str, str], Label], trace_id: str) -> list[Label]:
    return [label for (_, i, _), label in kept.items() if i == trace_id and not label.withdrawn]
