"""Answers to questions about error rates."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import cache
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.rederiving import require_derived
from tracejury.collector.store.lists import TraceLists
from tracejury.collector.store.lists.stated import stated
from tracejury.judges.measures.rates import effective, mean, mean_difference, share, share_difference
from tracejury.judges.packs.loader import pack_names
from tracejury.judges.registry import default_suite
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.rates import (
    Estimate,
    Population,
    Rate,
    RateAnswer,
    RateComparison,
    RateQuery,
    RateRow,
    Sums,
    ToolRates,
    Unit,
    Unjudged,
)

from .calibration import Calibration
from .calls import CallSums, calls_by_tool
from .question import Question, exact
from .reading import Read, Reading
from .sql import NEAR

Calibrate = Callable[[Question], Calibration]
"""The calibration of a question by human labels."""

NOT_YET: Final = "traces not judged yet"
"""Why traces count in no rate that no judging has seen: whose runs they have is not known."""


class StoredRates:
    """Error rates of one tenant. Any thread; blocks.

    `rules`, `packs`: names of all, by default of those installed.
    """

    def __init__(
        self,
        store: Store,
        *,
        rules: Collection[str] | None = None,
        packs: Collection[str] | None = None,
        calibrate: Calibrate | None = None,
        tenant: str = "",
    ) -> None:
        self.calibrate = calibrate
        self._store, self._reading, self._rules, self._packs = store, Reading(store), rules, packs
        self._tenant = tenant

    def ask(self, query: RateQuery) -> RateAnswer:
        """Rates as they stand now.

        Raises:
            ConfigError: the query means nothing.
            RetryableError: facts are still being made of what an earlier version stored, or the store cannot just now.
            StoreError: the store failed.
        """
        require_derived(self._store, self._tenant)
        return self._answer(query, *self._resolved(query))

    def calls(self, query: RateQuery) -> ToolRates:
        """Of each tool the share of its own calls with a finding, in traces that were judged. Raises as `ask`."""
        require_derived(self._store, self._tenant)
        population, found = self._calls(query)
        rows = tuple(RateRow(one.tool, query.since, _rate(one.sums)) for one in found)
        return ToolRates(population, rows, found[0].tools - len(found) if found else 0)

    def compare(self, a: RateQuery, b: RateQuery) -> RateComparison:
        """Whether `b` differs from `a`; of the same population where neither names one. Raises as `ask`."""
        require_derived(self._store, self._tenant)
        (pa, ra), (pb, rb) = self._both(a, b)
        shares, means = share_difference(ra.total, rb.total), mean_difference(ra.total, rb.total)
        return RateComparison(
            a=self._answer(a, pa, ra),
            b=self._answer(b, pb, rb),
            difference=shares[0] if shares else None,
            p_value=shares[1] if shares else None,
            mean_difference=means[0] if means else None,
            mean_p_value=means[1] if means else None,
        )

    def _both(self, a: RateQuery, b: RateQuery) -> tuple[tuple[Population, Read], tuple[Population, Read]]:
        first, second = self._resolved(a), self._resolved(b)
        if a.population is None and b.population is None and first[0] is not second[0]:
            common = replace(a, population=Population.DETECTORS), replace(b, population=Population.DETECTORS)
            first, second = self._resolved(common[0]), self._resolved(common[1])
        return first, second

    def _calls(self, query: RateQuery) -> tuple[Population, list[CallSums]]:
        of_traces = replace(query, by=None, unit=Unit.TRACE)
        population, _ = self._resolved(of_traces)
        return population, calls_by_tool(self._store, self._exact(of_traces, population), query.limit)

    def _resolved(self, query: RateQuery) -> tuple[Population, Read]:
        asked = self._exact(query, query.population or Population.BOTH)
        population = query.population or _told(asked)
        if population is None:
            if self._reading.any_judged(asked) and (read := self._reading.read(asked, query.limit)).total.n:
                return Population.BOTH, read
            population = Population.DETECTORS
        return population, self._reading.read(replace(asked, population=population), query.limit)

    def _exact(self, query: RateQuery, population: Population) -> Question:
        rules = _installed() if self._rules is None else self._rules
        question = exact(query, population, rules, _packs() if self._packs is None else self._packs, self._tenant)
        return replace(question, stated=stated(query, self._store, NEAR))

    def _answer(self, query: RateQuery, population: Population, read: Read) -> RateAnswer:
        labels = Calibration()
        if query.calibrated and self.calibrate is not None:
            labels = self.calibrate(self._exact(query, population))
        unjudged = dict(read.unjudged)
        traces = TraceLists(self._store, self._tenant).count_by_judging(
            query.since, query.until, query.service, simulated=query.simulated
        )
        if waiting := traces.get(NotJudged.WAITING):
            unjudged[NOT_YET] = waiting
        return RateAnswer(
            population=population,
            total=_rate(read.total, labels.of_total(read.total)),
            rows=tuple(
                RateRow(key, at, _rate(sums, labels.of_group((at, key), sums))) for (at, key), sums in read.rows.items()
            ),
            unjudged=Unjudged({why: unjudged[why] for why in sorted(unjudged)}),
            left=read.left,
            uncalibrated=labels.refused,
            traces=traces,
        )


def _rate(sums: Sums, calibrated: Estimate | None = None) -> Rate:
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


def _told(q: Question) -> Population | None:
    """The population that a question about one judge or pack is of."""
    if q.judge is None:
        return Population.JUDGES if q.pack else None
    return Population.DETECTORS if q.judge.rule else Population.JUDGES


@cache
def _installed() -> frozenset[str]:
    return frozenset(detector.name for detector in default_suite().detectors)


@cache
def _packs() -> frozenset[str]:
    return pack_names()
