"""What patterns of errors are counted from: facts of runs, by service, period and version. All of it blocks.

Like rates, they are read from the facts that stand, so they equal a scan whatever was re-sent, deleted or judged again.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.filters import SIMULATED_TRACES
from tracejury.schemas.judged_rows import ERROR_SELECT, error_from_row
from tracejury.schemas.queries.patterns import PERIODS, PatternQuery
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.rates import Unit

from .derived.facts import HOUR, fact_unit
from .lists.findings import HOLDS, sure, thresholds
from .lists.latest import ERRORS
from .scope import TENANT, TenantRows

MOST_NAMES: Final = 20
"""Agents and tools of a pattern and period that are named."""

PER_PATTERN: Final = 12
"""Errors of a pattern of which examples are chosen, the latest."""

_WHOLE: Final = "SETTINGS do_not_merge_across_partitions_select_final = 1"
_PERIOD: Final = "toUInt32(intDiv(At - {first:UInt64}, {step:UInt64}))"
_OF_HOURS: Final = f"{TENANT} AND Unit = {{unit:String}} AND Hour >= {{hour:UInt32}} AND Hour <= {{until_hour:UInt32}}"
_FACTS: Final = f"{_OF_HOURS} AND At >= {{first:UInt64}} AND At < {{until:UInt64}}"
# A fact that is written again has another version, and one that is deleted leaves the sum: equal marks, equal facts. By
# hour, as that is what the row has that takes a fact away.
_MARKS: Final = f"""
SELECT Hour, count(), sum(sipHash64(FoldedAt)) FROM run_facts WHERE {_OF_HOURS} GROUP BY Hour ORDER BY Hour
"""
# The pattern '' is that of all runs. A run counts once in a pattern, whichever of its errors are of it, and as each
# population sees them: `nth` counts its errors of the same pattern that the population has, or has not.
_CELLS: Final = f"""
SELECT pattern, Service, period, groupArray(Version), groupArray(detectors), groupArray(detectors_squares),
    groupArray(judges), groupArray(judges_squares), groupArray(began), sum(by_detectors), sum(by_judges),
    max(severity), arraySort(groupUniqArrayArray({MOST_NAMES})(agents)),
    arraySort(groupUniqArrayArray({MOST_NAMES})(tools)), max(ended), sum(mark)
FROM
(
    SELECT pattern, Service, Version, {_PERIOD} AS period,
        sumIf(Detectors, of_detectors) AS detectors, sumIf(Detectors * Detectors, of_detectors) AS detectors_squares,
        sumIf(Judges, of_judges) AS judges, sumIf(Judges * Judges, of_judges) AS judges_squares,
        countIf(of_detectors AND Detectors > 0) AS by_detectors, countIf(of_judges AND Judges > 0) AS by_judges,
        max(rank) AS severity, groupUniqArrayIf({MOST_NAMES})(Agent, Agent != '') AS agents,
        groupUniqArrayIf({MOST_NAMES})(tool, tool != '') AS tools, min(At) AS began, max(At) AS ended,
        sum(sipHash64(FoldedAt)) AS mark
    FROM
    (
        SELECT Service, Version, At, Agent, Detectors, Judges, FoldedAt, pattern, tool, rank,
            bitTest(scope, 0) AND detectors_nth = 1 AS of_detectors, bitTest(scope, 1) AND judges_nth = 1 AS of_judges
        FROM
        (
            SELECT *, if(Known, {{recognised:Float64}}, {{unrecognised:Float64}}) AS least,
                arrayPushFront(`Errors.Pattern`, '') AS patterns, arrayPushFront(`Errors.Tool`, '') AS own_tools,
                arrayPushFront(arrayMap((p, f) -> if(f >= least, p, 0), `Errors.Scopes`, `Errors.Low`), 3) AS scopes,
                arrayPushFront(arrayMap((m, h) -> multiIf(h >= least, 3, m >= least, 2, 1), `Errors.Medium`,
                    `Errors.High`), 0) AS ranks,
                arrayEnumerateUniq(patterns, arrayMap(p -> bitTest(p, 0), scopes)) AS detectors_nths,
                arrayEnumerateUniq(patterns, arrayMap(p -> bitTest(p, 1), scopes)) AS judges_nths
            FROM run_facts FINAL WHERE {_FACTS} AND {_PERIOD} IN {{periods:Array(UInt32)}} {{narrowed}}
        )
        ARRAY JOIN patterns AS pattern, own_tools AS tool, scopes AS scope, ranks AS rank,
            detectors_nths AS detectors_nth, judges_nths AS judges_nth
        WHERE scope > 0 AND (pattern != '' OR rank = 0)
    )
    GROUP BY pattern, Service, Version, period
)
GROUP BY pattern, Service, period {_WHOLE}
"""
# The inner look without texts finds the few that may be meant; the outer one reads these alone.
_LATEST: Final = f"""
(TraceId, Id) IN (
    SELECT TraceId, Id FROM errors WHERE {TENANT} AND Pattern IN {{patterns:Array(String)}} AND NOT Removed
    AND {{counted}}
    AND ReceivedAt >= fromUnixTimestamp64Nano({{first:Int64}}) AND ReceivedAt < fromUnixTimestamp64Nano({{until:Int64}})
    ORDER BY FirstSeen DESC, Id LIMIT {PER_PATTERN} BY Pattern)
"""
_EXAMPLES: Final = f"""
SELECT {ERROR_SELECT} FROM {ERRORS.newest(_LATEST)} WHERE {HOLDS} AND {ERRORS.holds} AND {{counted}}
ORDER BY FirstSeen DESC, Id
"""
_THEIRS: Final = f"TraceId IN (SELECT TraceId FROM errors WHERE {TENANT} AND Pattern IN {{patterns:Array(String)}})"


@dataclass(frozen=True, slots=True)
class PatternCell:
    """Runs of one service that arrived in one period and have an error of `pattern`; of "", all runs.

    Parallel by version: `versions`; `detectors`, `judges`: sums of the weights with which they count in what detectors
    judged, and LLM judges, with those of the squares; `began`: the first arrival, unix nanos. `by_detectors`,
    `by_judges`: how many count there. `severity`: the highest rank; `ended`: the last arrival. `mark`: cells with the
    same one are of the same facts.
    """

    pattern: str
    service: str
    period: int
    versions: Sequence[str]
    detectors: Sequence[float]
    detectors_squares: Sequence[float]
    judges: Sequence[float]
    judges_squares: Sequence[float]
    began: Sequence[int]
    by_detectors: int
    by_judges: int
    severity: int
    agents: Sequence[str]
    tools: Sequence[str]
    ended: int
    mark: int


class StoredPatterns(TenantRows):
    """The rows of one tenant. Methods raise RetryableError for what may pass, StoreError for the rest."""

    def marks(self, query: PatternQuery) -> dict[int, list[tuple[int, int, int]]]:
        """By period whose hours have facts: what is another once any of them was written or deleted."""
        found = defaultdict[int, list[tuple[int, int, int]]](list)
        for hour, rows, versions in self._scope.select(_MARKS, **_values(query)):
            first, last = ((at - query.first) // query.step for at in (hour * HOUR, (hour + 1) * HOUR - 1))
            for period in range(max(first, 0), min(last, PERIODS) + 1):
                found[period].append((hour, rows, versions))
        return dict(found)

    def cells(self, query: PatternQuery, periods: Collection[int]) -> list[PatternCell]:
        """All runs of these periods, and those with errors by pattern."""
        if not periods:
            return []
        sql = _CELLS.replace("{narrowed}", "AND Service = {service:String}" if query.service else "")
        first, last = query.first + min(periods) * query.step, query.first + (max(periods) + 1) * query.step
        values = _values(query) | {"hour": first // HOUR, "until_hour": min(last, query.until) // HOUR}
        return [_cell(*row) for row in self._scope.select(sql, **values, periods=sorted(periods))]

    def errors(self, query: PatternQuery, patterns: Collection[str]) -> Mapping[str, Sequence[ErrorSummary]]:
        """The latest errors of these patterns that arrived in its time and that it counts, by pattern."""
        found: dict[str, list[ErrorSummary]] = {pattern: [] for pattern in patterns}
        confidence = Confidence.of(query.profile)
        counted = f"{sure(confidence, _THEIRS)} AND Whole {'IN' if query.simulated else 'NOT IN'} ({SIMULATED_TRACES})"
        sql = _EXAMPLES.replace("{counted}", counted)
        values = {"patterns": sorted(patterns), "first": query.first, "until": query.until, **thresholds(confidence)}
        for row in self._scope.select(sql, **values) if patterns else ():
            error = error_from_row(row)
            if error.pattern in found:  # an error that has become one of another pattern since is there, too
                found[error.pattern].append(error)
        return found


def _cell(pattern: str, service: str, period: int, *more: Any) -> PatternCell:
    """Versions by name: sums of their weights do not depend on the order in which the store has them."""
    by_version, rest = zip(*sorted(zip(*more[:6], strict=True)), strict=True), more[6:]
    return PatternCell(pattern, service, period, *by_version, *rest)  # type: ignore[arg-type]  # columns of a row


def _values(query: PatternQuery) -> dict[str, Any]:
    values = {"unit": fact_unit(Unit.RUN, simulated=query.simulated), "first": query.first, "until": query.until}
    values |= {"hour": query.first // HOUR, "until_hour": (query.until - 1) // HOUR, "step": query.step}
    return values | thresholds(Confidence.of(query.profile)) | {"service": query.service}
