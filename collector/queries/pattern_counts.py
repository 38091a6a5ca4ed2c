"""Counts of patterns by version and period. Pure functions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.collector.store.patterns import PatternCell
from tracejury.judges.patterns.change_points import Counted
from tracejury.judges.patterns.states import History
from tracejury.schemas.queries.patterns import PERIODS, WINDOW
from tracejury.schemas.rates import Population
from tracejury.schemas.taxonomy import Severity

_FIRST: Final = PERIODS - WINDOW
"""The first period of the time that was asked for."""


@dataclass(frozen=True, slots=True)
class PatternCounts:
    """A pattern's counts, and what its errors have in common.

    `by_version`, `periods`: effective numbers, the former in the order in which versions first arrived. `hits` of
    `units` runs in the time asked for, as far as `population` judged them. `versions`: those with errors.
    """

    id: str
    service: str
    by_version: Mapping[str, Counted]
    periods: Sequence[Counted]
    hits: int
    units: int
    population: Population
    severity: Severity
    agents: Sequence[str]
    tools: Sequence[str]
    versions: Sequence[str]
    ended: int

    @property
    def history(self) -> History:
        """The periods, of which the last are looked at."""
        return History(self.periods, WINDOW)


def count_patterns(cells: Iterable[PatternCell]) -> list[PatternCounts]:
    """The counts of each pattern, by id."""
    services: defaultdict[str, list[PatternCell]] = defaultdict(list)
    patterns: defaultdict[str, list[PatternCell]] = defaultdict(list)
    for cell in sorted(cells, key=lambda cell: cell.period):  # sums do not depend on the order of reading
        (patterns[cell.pattern] if cell.pattern else services[cell.service]).append(cell)
    runs = {service: (_Judged.by_detectors(own), _Judged.by_judges(own)) for service, own in services.items()}
    return [_count(own, *runs[own[0].service]) for _, own in sorted(patterns.items())]


@dataclass(frozen=True, slots=True)
class _Judged:
    """The runs of a service that a population judged. `cells`: their weight and effective number by version and period.

    `by_version`, in order of first arrival, and `periods`: effective numbers. `units`: how many in the time asked for.
    """

    cells: Mapping[tuple[str, int], tuple[float, float]]
    by_version: Mapping[str, float]
    periods: Sequence[float]
    units: int

    @classmethod
    def by_detectors(cls, cells: Sequence[PatternCell]) -> _Judged:
        """The population of detectors."""
        units = sum(cell.by_detectors for cell in cells if cell.period >= _FIRST)
        return cls._of(cells, lambda cell: (cell.detectors, cell.detectors_squares), units)

    @classmethod
    def by_judges(cls, cells: Sequence[PatternCell]) -> _Judged:
        """The population of LLM judges."""
        units = sum(cell.by_judges for cell in cells if cell.period >= _FIRST)
        return cls._of(cells, lambda cell: (cell.judges, cell.judges_squares), units)

    @classmethod
    def _of(
        cls,
        cells: Sequence[PatternCell],
        weights: Callable[[PatternCell], tuple[Sequence[float], Sequence[float]]],
        units: int,
    ) -> _Judged:
        began = dict[str, int]()
        found = dict[tuple[str, int], tuple[float, float]]()
        by_version, periods = dict[str, float](), [0.0] * PERIODS
        for cell in cells:
            for version, weight, squares, first in zip(cell.versions, *weights(cell), cell.began, strict=True):
                effective = _kish(weight, squares)
                found[version, cell.period] = weight, effective
                began[version] = min(began.get(version, first), first)
                by_version[version] = by_version.get(version, 0.0) + effective
                periods[min(cell.period, PERIODS - 1)] += effective
        ordered = {version: by_version[version] for version in sorted(began, key=lambda one: (began[one], one))}
        return cls(found, ordered, periods, units)


def _kish(weights: float, squares: float) -> float:
    """Runs of equal weight that tell as much (Kish, "Survey sampling", 1965)."""
    return weights * weights / squares if squares else 0.0


def _count(cells: Sequence[PatternCell], by_detectors: _Judged, by_judges: _Judged) -> PatternCounts:
    """A pattern that detectors see is counted in what detectors judged, another in what LLM judges looked at."""
    of_detectors = any(cell.by_detectors for cell in cells)
    judged = by_detectors if of_detectors else by_judges
    by_version, periods = dict.fromkeys(judged.by_version, 0.0), [0.0] * PERIODS
    for cell in cells:
        for version, weight in zip(cell.versions, cell.detectors if of_detectors else cell.judges, strict=True):
            whole, effective = judged.cells[version, cell.period]
            seen = min(weight / whole, 1.0) * effective if whole else 0.0
            by_version[version] += seen
            periods[min(cell.period, PERIODS - 1)] += seen
    asked = [cell for cell in cells if cell.period >= _FIRST]
    return PatternCounts(
        cells[0].pattern,
        cells[0].service,
        {version: Counted(units, by_version[version]) for version, units in judged.by_version.items()},
        [Counted(units, hits) for units, hits in zip(judged.periods, periods, strict=True)],
        sum(cell.by_detectors if of_detectors else cell.by_judges for cell in asked),
        judged.units,
        Population.DETECTORS if of_detectors else Population.JUDGES,
        list(Severity)[max(max(cell.severity for cell in cells) - 1, 0)],
        sorted(set().union(*(cell.agents for cell in cells))),
        sorted(set().union(*(cell.tools for cell in cells))),
        [version for version, hits in by_version.items() if version and hits],
        max(cell.ended for cell in cells),
    )
