"""Patterns of errors, computed for each question: their shares, states, and since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Final

from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.patterns import HitCell, StoredPatterns, UnitCell
from tracejury.collector.store.scope import Scope
from tracejury.judges.measures.wilson import wilson_of
from tracejury.judges.patterns.change_points import ChangePoint, Counted, change_point
from tracejury.judges.patterns.states import History, Judged, is_back, judge_states
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import PatternLabel, PatternMark
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.patterns import (
    PERIODS,
    WINDOW,
    PatternAnswer,
    PatternQuery,
    PatternRow,
    PatternState,
    Since,
)
from tracejury.schemas.rates import Estimate
from tracejury.schemas.taxonomy import Severity

EXAMPLES: Final = 3
MOST_LABELS: Final = 10_000

_TREND: Final = {
    PatternState.MORE_FREQUENT: 2.0,
    PatternState.NEW: 1.5,
    PatternState.BACK: 1.5,
    PatternState.RARER: 0.5,
}
"""How much the state adds to the harm, beside severity and share."""
_NOTHING: Final = Counted(0.0, 0.0)
_VERSION_AHEAD: Final = 4.0
"""A time explains a change better than a version only by so much more of the test statistic: with a new version come
new days, too."""


class Patterns:
    """Patterns of one tenant. `clock` gives unix nanos. Every method blocks, and raises RetryableError, StoreError."""

    def __init__(self, scope: Scope, labels: Labels, clock: Callable[[], int]) -> None:
        self._stored = StoredPatterns(scope.store, scope.tenant)
        self._labels, self._clock = labels, clock

    def ask(self, query: PatternQuery) -> PatternAnswer:
        """The patterns of a query, the most harmful first. Their tests account for all of them, shown or not."""
        units = _Units.of(self._stored.units(query))
        by_pattern: defaultdict[str, list[HitCell]] = defaultdict(list)
        for cell in self._stored.hits(query):
            by_pattern[cell.pattern].append(cell)
        counts = [_count(cells, units) for _, cells in sorted(by_pattern.items())]
        states = judge_states([one.history for one in counts])
        labels = self._labelled()
        rows = [
            _row(one, judged, units, labels.get(one.id, ()), query, self._clock())
            for one, judged in zip(counts, states, strict=True)
            if query.pattern in ("", one.id)
        ]
        shown = [row for row in rows if _asked(row, query.state)]
        shown.sort(key=lambda row: (-_harm(row), row.id))
        kept = shown[: query.limit]
        errors = self._stored.errors([row.id for row in kept])
        kept = [_with_examples(row, errors.get(row.id, ())) for row in kept]
        hidden = sum(not _asked(row, "") for row in rows) if not query.state else 0
        return PatternAnswer(query.since, query.until, kept, len(shown) - len(kept), len(counts), hidden)

    def _labelled(self) -> Mapping[str, Sequence[PatternLabel]]:
        """What people say of patterns, the latest first."""
        found: defaultdict[str, list[PatternLabel]] = defaultdict(list)
        for label in self._labels.find(PatternLabel, LabelQuery(MOST_LABELS)):
            found[label.pattern].append(label)
        return found


@dataclass(frozen=True, slots=True)
class _Cell:
    """Runs of one version and period: those that count for detectors and for LLM judges, as effective numbers."""

    detectors: float
    judges: float
    weights: tuple[float, float]
    runs: int


@dataclass(frozen=True, slots=True)
class _Units:
    """All runs, by service, then version, then period; `versions`: by service, in the order of their first arrival."""

    cells: Mapping[str, Mapping[str, Mapping[int, _Cell]]]
    versions: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, cells: Iterable[UnitCell]) -> _Units:
        found: defaultdict[str, defaultdict[str, dict[int, _Cell]]] = defaultdict(lambda: defaultdict(dict))
        began: defaultdict[str, dict[str, int]] = defaultdict(dict)
        for one in cells:
            found[one.service][one.version][one.period] = _Cell(
                _kish(one.detectors, one.detectors_squares),
                _kish(one.judges, one.judges_squares),
                (one.detectors, one.judges),
                one.runs,
            )
            first = began[one.service]
            first[one.version] = min(first.get(one.version, one.began), one.began)
        return cls(found, {service: sorted(own, key=lambda v: (own[v], v)) for service, own in began.items()})


@dataclass(slots=True)
class _PatternCounts:
    """A pattern's counts by version and period (effective numbers), and what its errors have in common."""

    id: str
    service: str
    by_version: Mapping[str, Counted]
    periods: Sequence[Counted]
    history: History
    runs: int
    severity: Severity
    agents: Sequence[str]
    tools: Sequence[str]
    versions: Sequence[str]
    ended: int
    series: Sequence[float] = field(default_factory=list)


def _kish(weights: float, squares: float) -> float:
    """Runs of equal weight that tell as much (Kish, "Survey sampling", 1965)."""
    return weights * weights / squares if squares else 0.0


def _count(cells: Sequence[HitCell], units: _Units) -> _PatternCounts:
    service = cells[0].service
    of_detectors = any(cell.detectors for cell in cells)
    hits = {(cell.version, cell.period): cell.detectors if of_detectors else cell.judges for cell in cells}
    periods, by_version = [_NOTHING] * PERIODS, dict[str, Counted]()
    for version in units.versions.get(service, ()):
        for period, cell in units.cells[service][version].items():
            seen, weight = (cell.detectors, cell.weights[0]) if of_detectors else (cell.judges, cell.weights[1])
            share = min(hits.get((version, period), 0.0) / weight, 1.0) if weight else 0.0
            counted = Counted(seen, share * seen)
            by_version[version] = by_version.get(version, _NOTHING) + counted
            if period < PERIODS:
                periods[period] += counted
    return _PatternCounts(
        cells[0].pattern,
        service,
        by_version,
        periods,
        History(periods, WINDOW),
        sum(cell.runs for cell in cells if cell.period >= PERIODS - WINDOW),
        list(Severity)[max(max(cell.severity for cell in cells) - 1, 0)],
        sorted({agent for cell in cells for agent in cell.agents if agent}),
        sorted({tool for cell in cells for tool in cell.tools}),
        [v for v in units.versions.get(service, ()) if v and any(c.version == v for c in cells)],
        max(cell.ended for cell in cells),
        [period.hits / period.units if period.units else 0.0 for period in periods],
    )


def _row(
    one: _PatternCounts,
    judged: Judged,
    units: _Units,
    labels: Sequence[PatternLabel],
    query: PatternQuery,
    now: int,
) -> PatternRow:
    label = labels[0] if labels else None
    return PatternRow(
        id=one.id,
        service=one.service,
        state=_state(one, judged, label, units, query, now),
        severity=one.severity,
        hits=one.runs,
        units=round(one.history.now.units),
        share=_share(one.history.now),
        before=None if one.history.new else _share(one.history.before),
        p_value=judged.p_value,
        quiet=round(judged.quiet),
        needed=judged.needed,
        since=_since(one, units, query),
        series=one.series,
        versions=one.versions,
        agents=one.agents,
        tools=one.tools,
        last_seen=one.ended,
        label=label,
        labels=labels,
    )


def _share(counted: Counted) -> Estimate | None:
    if counted.units <= 0:
        return None
    share = min(counted.hits / counted.units, 1.0)
    return Estimate(share, *wilson_of(share, counted.units))


def _state(
    one: _PatternCounts, judged: Judged, label: PatternLabel | None, units: _Units, query: PatternQuery, now: int
) -> str:
    """What people say, unless the counts contradict it: what was resolved is back where it comes beyond chance."""
    if label is None or (label.mark is PatternMark.ACKNOWLEDGED and judged.state is not PatternState.ONGOING):
        return judged.state.value
    if label.mark is PatternMark.IGNORED:
        return label.mark.value if not label.until or now < label.until else judged.state.value
    if label.mark is PatternMark.RESOLVED:
        old, fixed = _around(one, label, units, query)
        return PatternState.BACK.value if is_back(old, fixed) else label.mark.value
    return label.mark.value


def _around(one: _PatternCounts, label: PatternLabel, units: _Units, query: PatternQuery) -> tuple[Counted, Counted]:
    """The counts before and since a pattern was resolved: by version in order of first arrival, else by period."""
    versions = units.versions.get(one.service, ())
    if label.version:
        first = versions.index(label.version) if label.version in versions else len(versions)
        parts = [one.by_version[version] for version in versions]
        return sum(parts[:first], _NOTHING), sum(parts[first:], _NOTHING)
    first = min(max((label.changed_at - query.first) // query.step + 1, 0), PERIODS)
    return sum(one.periods[:first], _NOTHING), sum(one.periods[first:], _NOTHING)


def _since(one: _PatternCounts, units: _Units, query: PatternQuery) -> Since | None:
    named = [version for version in units.versions.get(one.service, ()) if version]
    by_version = change_point([one.by_version[version] for version in named])
    by_time = change_point(one.periods)
    if by_version and (by_time is None or by_time.statistic <= by_version.statistic + _VERSION_AHEAD):
        at = by_version
        return Since(named[at.at], 0, named[at.first], named[at.last])
    return _time(by_time, query) if by_time else None


def _time(found: ChangePoint, query: PatternQuery) -> Since:
    first, at, last = (query.first + period * query.step for period in (found.first, found.at, found.last))
    return Since("", at, first, last)


def _asked(row: PatternRow, state: str) -> bool:
    if state == "all":
        return True
    if state:
        return state in (row.state, row.marked.value if row.marked else "")
    return row.state not in (PatternMark.IGNORED, PatternMark.RESOLVED)


def _harm(row: PatternRow) -> float:
    """Severity times share, more where it grows; what is gone or seen to comes last."""
    share = row.share.value if row.share else 0.0
    weight = 4.0**row.severity.rank * share
    return weight * next((factor for state, factor in _TREND.items() if state.value == row.state), 1.0)


def _with_examples(row: PatternRow, errors: Sequence[ErrorSummary]) -> PatternRow:
    """The row with up to three of its errors, the latest ones, as far as there are with different quotes."""
    chosen = list[ErrorSummary]()
    by_quote = [next(own) for _, own in groupby(sorted(errors, key=_quote), key=_quote)]
    for error in (*sorted(by_quote, key=lambda error: (-error.first_seen, error.id)), *errors):
        if len(chosen) < EXAMPLES and error not in chosen:
            chosen.append(error)
    return replace(row, examples=chosen)


def _quote(error: ErrorSummary) -> str:
    return error.evidence[:200]
