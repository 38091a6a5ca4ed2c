"""What patterns of errors are counted from: facts of runs, by service, version and period. All of it blocks.

Like rates, they are read from the facts that stand, so they equal a scan whatever was re-sent, deleted or judged again.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.judged_rows import ERROR_SELECT, error_from_row
from tracejury.schemas.queries.patterns import PatternQuery
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.rates import Unit

from .derived.facts import HOUR, ErrorScope, fact_unit
from .lists.findings import HOLDS
from .scope import TENANT, TenantRows

MOST_NAMES: Final = 20
"""Agents and tools of a pattern that are named."""

PER_PATTERN: Final = 12
"""Errors of a pattern of which examples are chosen, the latest."""

_WHOLE: Final = "SETTINGS do_not_merge_across_partitions_select_final = 1"
_PERIOD: Final = "toUInt32(intDiv(At - {first:UInt64}, {step:UInt64}))"
_FACTS: Final = (
    f"{TENANT} AND Unit = {{unit:String}} AND Hour >= {{hour:UInt32}} AND Hour <= {{until_hour:UInt32}} "
    "AND At >= {first:UInt64} AND At < {until:UInt64}"
)
_UNITS: Final = f"""
SELECT Service, Version, {_PERIOD} AS period, count(), sum(Detectors), sum(Detectors * Detectors), sum(Judges),
    sum(Judges * Judges), min(At)
FROM run_facts FINAL WHERE {_FACTS} {{narrowed}} GROUP BY Service, Version, period {_WHOLE}
"""
# A run counts once in a pattern, whichever of its errors are of it, and as each population sees them.
_LEAST: Final = "if(Known, {recognised:Float64}, {unrecognised:Float64})"
_SURE: Final = f"f >= {_LEAST}"
_ITS: Final = f"n = pattern AND {_SURE}"
_LISTS: Final = "`Errors.Pattern`, `Errors.Low`"
_HITS: Final = f"""
SELECT pattern, Service, Version, {_PERIOD} AS period, count(),
    sumIf(Detectors, arrayExists((n, f, p) -> {_ITS} AND bitAnd(p, {ErrorScope.DETECTORS:d}) > 0, {_LISTS}, Scopes)),
    sumIf(Judges, arrayExists((n, f, p) -> {_ITS} AND bitAnd(p, {ErrorScope.JUDGES:d}) > 0, {_LISTS}, Scopes)),
    max(arrayMax(arrayMap((n, f, m, h) -> multiIf(NOT ({_ITS}), 0, h >= {_LEAST}, 3, m >= {_LEAST}, 2, 1),
        {_LISTS}, `Errors.Medium`, `Errors.High`))) AS severity,
    groupUniqArray({MOST_NAMES})(Agent),
    groupUniqArrayArray({MOST_NAMES})(arrayFilter((o, n) -> n = pattern AND o != '', `Errors.Tool`, `Errors.Pattern`)),
    max(At)
FROM
(
    SELECT *, `Errors.Scopes` AS Scopes,
        arrayJoin(arrayDistinct(arrayFilter((n, f) -> n != '' AND {_SURE}, {_LISTS}))) AS pattern
    FROM run_facts FINAL WHERE {_FACTS} {{narrowed}}
)
GROUP BY pattern, Service, Version, period {_WHOLE}
"""
_EXAMPLES: Final = f"""
SELECT {ERROR_SELECT} FROM errors FINAL
WHERE {TENANT} AND {HOLDS} AND Pattern IN {{patterns:Array(String)}} AND NOT Removed
ORDER BY FirstSeen DESC, Id LIMIT {PER_PATTERN} BY Pattern
"""


@dataclass(frozen=True, slots=True)
class UnitCell:
    """Runs of one version of a service that arrived in one period: their number, and sums of weights and squares.

    `detectors`, `judges`: of the runs that these have judged; `began`: the first arrival, unix nanos.
    """

    service: str
    version: str
    period: int
    runs: int
    detectors: float
    detectors_squares: float
    judges: float
    judges_squares: float
    began: int


@dataclass(frozen=True, slots=True)
class HitCell:
    """Those of them with an error of one pattern. `severity`: the highest rank; `ended`: the last arrival."""

    pattern: str
    service: str
    version: str
    period: int
    runs: int
    detectors: float
    judges: float
    severity: int
    agents: Sequence[str]
    tools: Sequence[str]
    ended: int


class StoredPatterns(TenantRows):
    """The rows of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def units(self, query: PatternQuery) -> list[UnitCell]:
        """The runs of all periods."""
        return [UnitCell(*row) for row in self._scope.select(_narrowed(_UNITS, query), **_values(query))]

    def hits(self, query: PatternQuery) -> list[HitCell]:
        """Those with errors, by pattern."""
        return [HitCell(*row) for row in self._scope.select(_narrowed(_HITS, query), **_values(query))]

    def errors(self, patterns: Collection[str]) -> dict[str, list[ErrorSummary]]:
        """The latest errors of these patterns, by pattern."""
        found: dict[str, list[ErrorSummary]] = {}
        for row in self._scope.select(_EXAMPLES, patterns=sorted(patterns)) if patterns else ():
            error = error_from_row(row)
            found.setdefault(error.pattern, []).append(error)
        return found


def _narrowed(sql: str, query: PatternQuery) -> str:
    return sql.replace("{narrowed}", "AND Service = {service:String}" if query.service else "")


def _values(query: PatternQuery) -> dict[str, Any]:
    least = Confidence.of(query.profile)
    values = {"unit": fact_unit(Unit.RUN, simulated=query.simulated), "first": query.first, "until": query.until}
    values |= {"hour": query.first // HOUR, "until_hour": (query.until - 1) // HOUR, "step": query.step}
    values |= {"recognised": least.recognised, "unrecognised": least.unrecognised}
    return values | {"service": query.service}
