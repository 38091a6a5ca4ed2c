"""Patterns of errors, computed for each question: their shares, states, and since when."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.patterns import StoredPatterns
from tracejury.collector.store.scope import Scope
from tracejury.judges.measures.wilson import wilson_of
from tracejury.judges.patterns.change_points import ChangePoint, Counted, change_point
from tracejury.judges.patterns.states import Judged, is_back, judge_states
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import PatternLabel, PatternMark
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.patterns import (
    PERIODS,
    PatternAnswer,
    PatternQuery,
    PatternRow,
    PatternState,
    Since,
)
from tracejury.schemas.rates import Estimate

from .pattern_cells import PatternCells
from .pattern_counts import PatternCounts, count_patterns

EXAMPLES: Final = 3
MOST_LABELS: Final = 10_000

_TREND: Final = {
    PatternState.MORE_FREQUENT: 2.0,
    PatternState.NEW: 1.5,
    PatternState.BACK: 1.5,
    PatternState.RARER: 0.5,
}
"""How much the state adds to the harm, beside severity and share."""
_VERSION_AHEAD: Final = 4.0
"""A time explains a change better than a version only by so much more of the test statistic: with a new version come
new days, too."""


CalibratePattern = Callable[[PatternQuery, PatternRow], PatternRow]
"""The pattern with its share calibrated by labels, or why it is not."""


class Patterns:
    """Patterns of one tenant. `clock` gives unix nanos. Every method blocks, and raises RetryableError, StoreError."""

    def __init__(
        self, scope: Scope, labels: Labels, clock: Callable[[], int], calibrate: CalibratePattern | None = None
    ) -> None:
        self._calibrate = calibrate
        self._cells = PatternCells(StoredPatterns(scope.store, scope.tenant))
        self._labels, self._clock = labels, clock

    def ask(self, query: PatternQuery) -> PatternAnswer:
        """The patterns of a query, the most harmful first. Their tests account for all of them, shown or not."""
        query = query.in_whole_hours()
        counts = count_patterns(self._cells.read(query))
        states = judge_states([one.history for one in counts])
        labels, now = self._labelled(), self._clock()
        rows = [
            _row(one, judged, labels.get(one.id, ()), query, now)
            for one, judged in zip(counts, states, strict=True)
            if query.pattern in ("", one.id)
        ]
        shown = [row for row in rows if _asked(row, query.state)]
        shown.sort(key=lambda row: (-_harm(row), row.id))
        kept = shown[: query.limit]
        errors = self._cells.examples(query, [row.id for row in kept])
        kept = [_with_examples(row, errors[row.id]) for row in kept]
        hidden = sum(not _asked(row, "") for row in rows) if not query.state else 0
        return PatternAnswer(query.since, query.until, kept, len(shown) - len(kept), len(counts), hidden)

    def one(self, query: PatternQuery) -> tuple[PatternRow, int] | None:
        """The pattern of that id with its share calibrated by labels, and how many were looked at; None: there is none.

        It takes a look at all runs of its time, so lists go without.
        """
        answer = self.ask(query)
        if not answer.rows:
            return None
        row = answer.rows[0]
        return self._calibrate(query.in_whole_hours(), row) if self._calibrate else row, answer.looked_at

    def _labelled(self) -> Mapping[str, Sequence[PatternLabel]]:
        """What people say of patterns, the latest first."""
        found: defaultdict[str, list[PatternLabel]] = defaultdict(list)
        for label in self._labels.find(PatternLabel, LabelQuery(MOST_LABELS)):
            found[label.pattern].append(label)
        return found


def _row(
    one: PatternCounts, judged: Judged, labels: Sequence[PatternLabel], query: PatternQuery, now: int
) -> PatternRow:
    label, history = labels[0] if labels else None, one.history
    return PatternRow(
        id=one.id,
        service=one.service,
        state=_state(one, judged, label, query, now),
        severity=one.severity,
        hits=one.hits,
        units=one.units,
        population=one.population,
        share=_share(history.now),
        before=None if history.new else _share(history.before),
        p_value=judged.p_value,
        quiet=round(judged.quiet),
        needed=judged.needed,
        since=_since(one, judged.dispersion, query),
        series=[period.hits / period.units if period.units else 0.0 for period in one.periods],
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


def _state(one: PatternCounts, judged: Judged, label: PatternLabel | None, query: PatternQuery, now: int) -> str:
    """What people say, unless the counts contradict it: what was resolved is back where it comes beyond chance."""
    if label is None or (label.mark is PatternMark.ACKNOWLEDGED and judged.state is not PatternState.ONGOING):
        return judged.state.value
    if label.mark is PatternMark.IGNORED:
        return label.mark.value if not label.until or now < label.until else judged.state.value
    if label.mark is PatternMark.RESOLVED:
        return (
            PatternState.BACK.value
            if is_back(*(part / judged.dispersion for part in _around(one, label, query)))
            else label.mark.value
        )
    return label.mark.value


def _around(one: PatternCounts, label: PatternLabel, query: PatternQuery) -> tuple[Counted, Counted]:
    """The counts before and since a pattern was resolved: by version in order of first arrival, else by period."""
    if label.version:
        versions, parts = list(one.by_version), list(one.by_version.values())
        first = versions.index(label.version) if label.version in versions else len(versions)
    else:
        parts = list(one.periods)
        first = min(max((label.changed_at - query.first) // query.step + 1, 0), PERIODS)
    return Counted.of(parts[:first]), Counted.of(parts[first:])


def _since(one: PatternCounts, dispersion: float, query: PatternQuery) -> Since | None:
    named = [version for version in one.by_version if version]
    by_version = change_point([one.by_version[version] / dispersion for version in named])
    by_time = change_point([period / dispersion for period in one.periods])
    if by_version and (by_time is None or by_time.statistic <= by_version.statistic + _VERSION_AHEAD):
        return Since(named[by_version.at], 0, named[by_version.first], named[by_version.last])
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
