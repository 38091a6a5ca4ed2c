"""Statistics of the overview other than rates. All of it blocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tracejury.schemas.filters import OF_SERVICE, SIMULATED_TRACES
from tracejury.schemas.findings import Verification
from tracejury.schemas.llm_rows import LATEST
from tracejury.schemas.queries.pipeline_stats import Timeliness, VerifierSeen, VersionSeen
from tracejury.schemas.rates import Sums
from tracejury.schemas.verdicts import DETECTORS, Outcome

from .lists.findings import HOLDS
from .scope import TENANT, TenantRows

MOST_FINDINGS: Final = 500
"""The latest spans with a finding, whose arrival is looked up."""

MOST_VERSIONS: Final = 20

_IN_SIGHT: Final = "FirstSeen >= {since:UInt64} AND FirstSeen < {until:UInt64}"

# A raw look for where the latest begin, twice as many as are needed since some no longer hold: it spares the
# de-duplication of all the others.
_LATEST: Final = f"""
SELECT FirstSeen FROM findings WHERE {TENANT} AND {_IN_SIGHT} AND {{narrowed}}
ORDER BY FirstSeen DESC LIMIT 1 OFFSET {2 * MOST_FINDINGS}
"""

# Not FINAL, which would look for copies everywhere: those of a finding have the same first sight, with few exceptions.
_SEEN: Final = f"""
SELECT TraceId, SpanId, min(FirstSeen) AS Seen FROM
(
    SELECT TraceId, SpanId, State, FirstSeen FROM findings WHERE {TENANT} AND {_IN_SIGHT} AND {{narrowed}}
    ORDER BY JudgedAt DESC LIMIT 1 BY TraceId, SpanId, Id
)
WHERE {HOLDS} GROUP BY TraceId, SpanId ORDER BY Seen DESC LIMIT {{limit:UInt64}}
"""

# The first copy counts: a span that is sent again does not arrive again.
_CAME: Final = f"""
SELECT TraceId, SpanId, min(toUnixTimestamp64Nano(ReceivedAt)) FROM spans
WHERE {TENANT} AND TraceId IN {{trace_ids:Array(String)}} AND SpanId IN {{span_ids:Array(String)}}
GROUP BY TraceId, SpanId
"""

_SINCE: Final = "ReceivedAt >= fromUnixTimestamp64Nano({since:Int64})"
_UNTIL: Final = "ReceivedAt < fromUnixTimestamp64Nano({until:Int64})"

# Without FINAL: a row of a trace that was replaced names its service, too.
_NEW: Final = f"""
SELECT ServiceName FROM traces WHERE {TENANT} AND ServiceName != '' AND {_SINCE}
    AND ServiceName NOT IN (SELECT ServiceName FROM traces WHERE {TENANT} AND NOT ({_SINCE}))
GROUP BY ServiceName ORDER BY min(ReceivedAt) DESC, ServiceName LIMIT {{limit:UInt64}}
"""

# Not FINAL, which would read rows of any time: a later judgement of the same never saw less.
_OUTCOMES: Final = f"""
SELECT Judge, Outcome, count() FROM
(
    SELECT * FROM
    (
        SELECT * FROM judgements
        WHERE {TENANT} AND SubjectKind = 'agent-run' AND Judge != '{DETECTORS}' AND {_SINCE} AND {{narrowed}}
        ORDER BY JudgedAt DESC LIMIT 1 BY TraceId, SubjectId, Judge, Version, InputHash
    )
    WHERE {_UNTIL} {LATEST}
)
WHERE Outcome != '{Outcome.SUPERSEDED}'
GROUP BY Judge, Outcome ORDER BY Judge, Outcome
"""


# Each version by its own last word on a run: a later version takes nothing from it. What was asked by hand counts not,
# and neither does anything at a trace that the run has left: that was taken back, at any time since.
_VERSIONS: Final = f"""
SELECT Version, Model, min(JudgedAt), max(JudgedAt), count(), countIf(Bad), sum(Findings), sum(W), sum(W * W),
    sumIf(W, Bad), sumIf(W * W, Bad), sum(W * Findings), sum(W * W * Findings), sum(W * W * Findings * Findings)
FROM
(
    SELECT Version, Model, JudgedAt, Findings, Outcome, 1 / Probability AS W, Findings > 0 AS Bad FROM judgements FINAL
    WHERE {TENANT} AND SubjectKind = 'agent-run' AND Judge = {{judge:String}} AND {_SINCE} AND {{narrowed}}
        AND (Outcome IN ('done', 'cached') AND Probability > 0 AND {_UNTIL} OR Outcome = '{Outcome.SUPERSEDED}')
    ORDER BY JudgedAt DESC, Outcome = '{Outcome.SUPERSEDED}' LIMIT 1 BY TraceId, SubjectId, Version
)
WHERE Outcome != '{Outcome.SUPERSEDED}'
GROUP BY Version, Model ORDER BY max(JudgedAt) DESC LIMIT {MOST_VERSIONS}
"""


_VERIFIERS: Final = f"""
SELECT VerifiedBy, JudgedBy = '{DETECTORS}' AS OfDetectors, countIf(Verification = '{Verification.VERIFIED}'),
    countIf(Verification = '{Verification.REFUTED}'), countIf(Verification = '{Verification.UNVERIFIED}')
FROM findings FINAL
WHERE {TENANT} AND {HOLDS} AND {_IN_SIGHT} AND Verification != '' AND {{narrowed}}
GROUP BY VerifiedBy, OfDetectors ORDER BY OfDetectors, VerifiedBy LIMIT {MOST_VERSIONS}
"""


class StoredPipelineStats(TenantRows):
    """One tenant's pipeline statistics. Methods raise RetryableError for what may pass, StoreError for the rest.

    `simulated`: of simulated sessions, of real ones (False), or of both (None).
    """

    def timeliness(self, since: int, until: int, service: str = "", *, simulated: bool | None = None) -> Timeliness:
        """From the arrival of a span to the first finding at it; a finding that was there before it counts as 0."""
        sql, values = _narrowed(_LATEST, service, simulated=simulated)
        for row in self._scope.select(sql, since=since, until=until, **values):
            since = row[0]
        sql, values = _narrowed(_SEEN, service, simulated=simulated)
        seen = self._scope.select(sql, since=since, until=until, limit=MOST_FINDINGS, **values)
        ids = {"trace_ids": sorted({row[0] for row in seen}), "span_ids": sorted({row[1] for row in seen})}
        came = {(row[0], row[1]): row[2] for row in self._scope.select(_CAME, **ids)} if seen else {}
        late = sorted(max(0, at - came[trace, span]) for trace, span, at in seen if (trace, span) in came)
        return Timeliness(len(late), _quantile(late, 50), _quantile(late, 95))

    def new_services(self, since: int, limit: int) -> list[str]:
        """Services of which every trace arrived from `since` on."""
        return [row[0] for row in self._scope.select(_NEW, since=since, limit=limit)]

    def outcomes(
        self, since: int, until: int, service: str = "", *, simulated: bool | None = None
    ) -> Mapping[str, Mapping[Outcome, int]]:
        """The last word of each judge on each run, by judge and outcome."""
        sql, values = _narrowed(_OUTCOMES, service, simulated=simulated)
        found: dict[str, dict[Outcome, int]] = {}
        for judge, outcome, count in self._scope.select(sql, since=since, until=until, **values):
            found.setdefault(judge, {})[Outcome(outcome)] = count
        return found

    def verifiers(self, since: int, until: int, service: str = "") -> list[VerifierSeen]:
        """What came of looks at others' findings that were first seen then, by who looked and whose they are."""
        sql, values = _narrowed(_VERIFIERS, service)
        rows = self._scope.select(sql, since=since, until=until, **values)
        return [VerifierSeen(by, bool(detectors), *counts) for by, detectors, *counts in rows]

    def versions(self, judge: str, since: int, until: int, service: str = "") -> list[VersionSeen]:
        """The versions and models of a judge with their findings, the latest first."""
        sql, values = _narrowed(_VERSIONS, service)
        rows = self._scope.select(sql, judge=judge, since=since, until=until, **values)
        return [VersionSeen(row[0], row[1], row[2], row[3], _sums(*row[4:])) for row in rows]


def _sums(n: int, hits: int, errors: int, *weighted: float) -> Sums:
    w, w2, wb, w2b, wy, w2y, w2y2 = weighted
    # One unit a run: what is summed with t is as without it.
    return Sums(n, n, hits, errors, w, w2, w, w2, wb, w2b, w2b, wy, w2y, w2y, w2y2)


def _narrowed(sql: str, service: str, *, simulated: bool | None = None) -> tuple[str, dict[str, Any]]:
    conditions = [OF_SERVICE] if service else []
    if simulated is not None:
        conditions.append(f"TraceId {'IN' if simulated else 'NOT IN'} ({SIMULATED_TRACES})")
    return sql.replace("{narrowed}", " AND ".join(conditions) or "1"), {"service": service} if service else {}


def _quantile(ascending: Sequence[int], percent: int) -> int | None:
    # The nearest rank.
    return ascending[max(0, -(-len(ascending) * percent // 100) - 1)] if ascending else None
