"""Two versions of the judges on the same labelled traces: what changes before one switches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import comb
from typing import Final, NamedTuple, TypeVar

from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.bootstrap import Interval, intervals

from .dimension_labels import JUDGES
from .matching import Basis, Catches, Level, Match, catches, credited

ALL: Final = "all"

Item = TypeVar("Item", Annotated, Predicted)


@dataclass(frozen=True, slots=True)
class Delta:
    """One figure of both versions; `delta` is b - a. None where a version has nothing to measure it on.

    `interval`: 95% of the delta, from a bootstrap over traces that draws the same traces for both.
    """

    a: float | None
    b: float | None
    delta: float | None
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class Paired:
    """The same errors before both versions: localised by both, by one only, by neither.

    `p`: McNemar's exact test, two-sided: how often chance alone would part the versions as far, were errors
    independent (those of one trace are not: the delta's interval allows for that, this does not). None where no
    error parts them.
    """

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def p(self) -> float | None:
        """Probability, in (0, 1]."""
        return mcnemar(self.only_a, self.only_b)


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One judge (by dimension; ALL: any judge, all errors) in both versions.

    Its figures: "localised" and "caught", shares of the errors mapped to it; "span_precision", "span_recall",
    "span_f1" over distinct spans that its findings name and that errors mapped to it are annotated at;
    "findings_per_trace".
    """

    dimension: str
    judge: str
    errors: int
    figures: Mapping[str, Delta]
    localised: Paired


@dataclass(frozen=True, slots=True)
class VersionComparison:
    """`basis_a`, `basis_b`: who decided what is caught in each version; compare "caught" only where they are alike."""

    traces: int
    errors: int
    basis_a: Basis
    basis_b: Basis
    rows: tuple[ComparisonRow, ...]

    @property
    def row(self) -> ComparisonRow:
        """All judges and errors together."""
        return self.rows[0]


def compare(
    traces: Sequence[str],
    annotated: Sequence[Annotated],
    a: Sequence[Predicted],
    b: Sequence[Predicted],
    *,
    matches_a: Iterable[Match] | None = None,
    matches_b: Iterable[Match] | None = None,
) -> VersionComparison:
    """Compare what versions a and b found in `traces` (ids that both judged; all else is ignored).

    `matches_a`, `matches_b`: as in `catches`, indices into `annotated` and into `a` or `b`.

    Raises:
        IndexError, ValueError: see `catches`.
    """
    sides = (
        _Side(annotated, a, catches(annotated, a, matches_a)),
        _Side(annotated, b, catches(annotated, b, matches_b)),
    )
    judges = dict.fromkeys((ALL, *sides[0].made.judges, *sides[1].made.judges))
    rows = tuple(_row(judge, traces, *sides) for judge in judges)
    return VersionComparison(len(traces), rows[0].errors, sides[0].made.basis, sides[1].made.basis, rows)


def mcnemar(only_a: int, only_b: int) -> float | None:
    """Two-sided exact p of a split of discordant pairs: twice the smaller binomial tail at 1/2, at most 1.

    McNemar, "Note on the sampling error of the difference between correlated proportions", 1947; exact form.
    """
    n = only_a + only_b
    if not n:
        return None
    tail: int = sum(comb(n, k) for k in range(min(only_a, only_b) + 1))
    return float(min(1.0, 2 * tail / 2**n))


@dataclass(frozen=True, slots=True)
class _Side:
    annotated: Sequence[Annotated]
    found: Sequence[Predicted]
    made: Catches

    def level(self, error: int, judge: str) -> Level:
        return (self.made.together(error) if judge == ALL else self.made.of(error, judge)).level


class _Counts(NamedTuple):
    """Of one trace, one judge and one version."""

    errors: int
    caught: int
    localised: int
    findings: int
    named: int
    marked: int
    common: int


Unit = tuple[_Counts, _Counts]


def _row(judge: str, traces: Sequence[str], side_a: _Side, side_b: _Side) -> ComparisonRow:
    mapped = _grouped(side_a.annotated, lambda e: judge == ALL or judge in e.dimensions)
    counted = [_per_trace(judge, traces, mapped, side) for side in (side_a, side_b)]
    units: list[Unit] = list(zip(*counted, strict=True))
    figures_a, figures_b = (_figures(side) for side in counted)
    drawn = intervals(units, _deltas)
    names = dict.fromkeys((*figures_a, *figures_b))
    errors = [i for t in traces for i in mapped.get(t, ())]
    levels = [[side.level(i, judge) is Level.LOCALISED for i in errors] for side in (side_a, side_b)]
    return ComparisonRow(
        dimension=judge,
        judge=JUDGES.get(judge, judge),
        errors=len(errors),
        figures={name: _delta(figures_a.get(name), figures_b.get(name), drawn.get(name)) for name in names},
        localised=_paired(*levels),
    )


def _per_trace(judge: str, traces: Sequence[str], mapped: Mapping[str, Sequence[int]], side: _Side) -> list[_Counts]:
    found = _grouped(side.found, lambda p: judge == ALL or judge in credited(p))
    return [_counts(judge, mapped.get(t, ()), found.get(t, ()), side) for t in traces]


def _counts(judge: str, errors: Sequence[int], findings: Sequence[int], side: _Side) -> _Counts:
    levels = [side.level(i, judge) for i in errors]
    named = {side.found[i].span_id for i in findings}
    marked = {side.annotated[i].span_id for i in errors}
    return _Counts(
        errors=len(errors),
        caught=sum(level >= Level.CAUGHT for level in levels),
        localised=sum(level is Level.LOCALISED for level in levels),
        findings=len(findings),
        named=len(named),
        marked=len(marked),
        common=len(named & marked),
    )


def _figures(traces: Sequence[_Counts]) -> dict[str, float]:
    """The defined figures, pooled over traces."""
    if not traces:
        return {}
    errors, caught, localised, findings, named, marked, common = map(sum, zip(*traces, strict=True))
    shares = {
        "localised": (localised, errors),
        "caught": (caught, errors),
        "span_precision": (common, named),
        "span_recall": (common, marked),
        "span_f1": (2 * common, named + marked),
        "findings_per_trace": (findings, len(traces)),
    }
    return {name: part / whole for name, (part, whole) in shares.items() if whole}


def _deltas(units: Sequence[Unit]) -> dict[str, float]:
    a, b = _figures([u for u, _ in units]), _figures([u for _, u in units])
    return {name: b[name] - a[name] for name in a if name in b}


def _delta(a: float | None, b: float | None, interval: Interval | None) -> Delta:
    if a is None or b is None:
        return Delta(a, b, None, None)
    return Delta(a, b, b - a, interval)


def _paired(a: Sequence[bool], b: Sequence[bool]) -> Paired:
    pairs = list(zip(a, b, strict=True))
    return Paired(*(pairs.count(kind) for kind in ((True, True), (True, False), (False, True), (False, False))))


def _grouped(items: Sequence[Item], wanted: Callable[[Item], bool]) -> dict[str, list[int]]:
    grouped: defaultdict[str, list[int]] = defaultdict(list)
    for index, item in enumerate(items):
        if wanted(item):
            grouped[item.trace_id].append(index)
    return grouped
