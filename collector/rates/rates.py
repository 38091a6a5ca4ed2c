"""Rates as people ask for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, TypeVar

from ...judges.measures.rates import effective, mean, mean_difference, share, share_difference
from ...judges.registry import default_suite
from ...schemas.rates import (
    Comparison,
    Estimate,
    Population,
    Rate,
    RateAnswer,
    RateQuery,
    RateRow,
    Sums,
    Unit,
    Unjudged,
)
from ..store.client import Store
from .buckets import marks, plan
from .calibration import Calibration
from .cells import Cells, kept
from .facts import HOUR
from .folding import Folding
from .question import Judged, Question, exact
from .scan import Scan
from .tally import Place, Tally

Calibrate = Callable[[Question], Calibration]
"""What human labels tell of a question."""

Answer = TypeVar("Answer")

AT_ONCE: Final = 50_000
"""Groups at points in time that are read in one go; of more only those groups that show."""


@dataclass(frozen=True, slots=True)
class _Read:
    total: Sums
    groups: Mapping[str, Sums]
    rows: Mapping[Place, Sums]
    unjudged: Mapping[str, int]
    left: int
    from_rollups: bool


class StoredRates:
    """Error rates of one store. Any thread; blocks. `rules`: names of all detectors, by default those installed."""

    def __init__(
        self,
        store: Store,
        clock: Callable[[], int] = time.time_ns,
        *,
        rules: Collection[str] | None = None,
        calibrate: Calibrate | None = None,
    ) -> None:
        self.folding = Folding(store, clock)
        self.calibrate = calibrate
        self._store, self._cells, self._scan, self._rules = store, Cells(store), Scan(store), rules

    def ask(self, query: RateQuery) -> RateAnswer:
        """Rates as they stand now.

        Raises:
            ConfigError: the query means nothing.
            RetryableError: facts are still being made of what was stored before, or the store cannot just now.
            StoreError: the store failed.
        """
        population, read = self._settled(lambda: self._resolved(query))
        return self._answer(query, population, read)

    def compare(self, a: RateQuery, b: RateQuery) -> Comparison:
        """Whether `b` differs from `a`; of the same population where neither names one. Raises as `ask`."""
        (pa, ra), (pb, rb) = self._settled(lambda: self._both(a, b))
        shares, means = share_difference(ra.total, rb.total), mean_difference(ra.total, rb.total)
        return Comparison(
            a=self._answer(a, pa, ra),
            b=self._answer(b, pb, rb),
            difference=shares[0] if shares else None,
            p_value=shares[1] if shares else None,
            mean_difference=means[0] if means else None,
            mean_p_value=means[1] if means else None,
        )

    def _settled(self, read: Callable[[], Answer]) -> Answer:
        """What `read` gives once everything is folded; again where facts were written meanwhile."""
        with self.folding.lock:
            self.folding.settle()
            writes = self.folding.writes
        found = read()
        if self.folding.writes == writes:
            return found
        with self.folding.lock:
            self.folding.settle()
            return read()

    def _both(self, a: RateQuery, b: RateQuery) -> tuple[tuple[Population, _Read], tuple[Population, _Read]]:
        first, second = self._resolved(a), self._resolved(b)
        if a.population is None and b.population is None and first[0] is not second[0]:
            common = replace(a, population=Population.DETECTORS), replace(b, population=Population.DETECTORS)
            first, second = self._resolved(common[0]), self._resolved(common[1])
        return first, second

    def _resolved(self, query: RateQuery) -> tuple[Population, _Read]:
        asked = self._exact(query, query.population or Population.BOTH)
        population = query.population or _told(asked.judge)
        if population is None:
            read = self._read(asked, query.limit)
            if read.total.n:
                return Population.BOTH, read
            population = Population.DETECTORS
        return population, self._read(replace(asked, population=population), query.limit)

    def _exact(self, query: RateQuery, population: Population) -> Question:
        return exact(query, population, _installed() if self._rules is None else self._rules)

    def _read(self, question: Question, limit: int) -> _Read:
        whole = self._tally(question.whole())
        total = whole.total()
        if question.unit is Unit.SESSION and question.by is not None:  # one session may be in several groups
            total = self._tally(question.ungrouped()).total()
        groups = {key: sums for (_, key), sums in whole.groups(of_findings=question.of_findings).items()}
        shown = sorted(groups, key=lambda key: (-_share(groups[key]), -groups[key].hits, key))[:limit]
        if question.step and shown:
            keys = shown if question.by is not None else None
            stepped = self._tally(question, keys).groups(of_findings=question.of_findings)
            order = {key: place for place, key in enumerate(shown)}
            rows = {place: sums for place, sums in stepped.items() if place[1] in order}
            rows = dict(sorted(rows.items(), key=lambda row: (order[row[0][1]], row[0][0])))
        else:
            rows = {(question.since, key): groups[key] for key in shown}
        return _Read(total, groups, rows, dict(whole.unjudged), len(groups) - len(shown), from_rollups=kept(question))

    def _tally(self, question: Question, keys: list[str] | None = None) -> Tally:
        tally = Tally()
        found = marks(self._store, question.tenant, question.since // HOUR, (question.until - 1) // HOUR)
        if kept(question):
            todo = plan(question, found)
            self._cells.add(tally, question, todo.generations, keys)
            self._scan.add(tally, question, todo.hours, keys)
        else:
            self._scan.add(tally, question, list(found.hours), keys)
        return tally

    def _answer(self, query: RateQuery, population: Population, read: _Read) -> RateAnswer:
        labels = Calibration()
        if query.calibrated and self.calibrate is not None:
            labels = self.calibrate(self._exact(query, population))

        def rated(sums: Sums, calibrated: Estimate | None) -> Rate:
            return Rate(
                judged=sums.units,
                hits=sums.hits,
                errors=sums.errors,
                effective=effective(sums),
                sampled=abs(sums.w - sums.n) > 1e-9 * sums.n,
                share=share(sums),
                mean=mean(sums),
                calibrated=calibrated,
            )

        return RateAnswer(
            population=population,
            total=rated(read.total, labels.of_total(read.total)),
            rows=tuple(
                RateRow(key, at, rated(sums, labels.of_group((at, key), sums))) for (at, key), sums in read.rows.items()
            ),
            unjudged=Unjudged({why: read.unjudged[why] for why in sorted(read.unjudged)}),
            left=read.left,
            from_rollups=read.from_rollups,
            uncalibrated=labels.refused,
        )


def _told(judge: Judged | None) -> Population | None:
    """The population that a question about one judge is of."""
    if judge is None:
        return None
    return Population.DETECTORS if judge.rule else Population.JUDGES


def _share(sums: Sums) -> float:
    return sums.wb / sums.wt if sums.wt else 0.0


@cache
def _installed() -> frozenset[str]:
    return frozenset(detector.name for detector in default_suite().detectors)
