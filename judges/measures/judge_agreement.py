"""Judges against annotators over annotated errors, as "What is your agent's GPA?" counts (confusion, coverage).

The unit is an annotated error. For judge J it is a true positive where it is mapped to J's dimension and J caught it, a
false negative where it is mapped and missed, a false positive where J caught what is mapped to others only, else a
true negative. So a precision here is about the division of labour between judges; findings that speak of no annotated
error are not in it at all: read `finding_precision` beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.bootstrap import Interval, intervals
from tracejury.schemas.taxonomy import Severity

from .confusion import Confusion
from .dimension_labels import JUDGES, DimensionCount, dimension_counts
from .matching import Basis, Catches, Level, Match, catches

ALL: Final = "all"
IMPACTS: Final = (ALL, *(s.value for s in reversed(Severity)))
"""Rows of the tables: all errors, then those of each impact."""


@dataclass(frozen=True, slots=True)
class JudgeConfusion:
    """One judge on the errors of one impact: caught (levels 1 and 2) and localised (level 2) apart.

    `dimension`: the judge's (or its name, for a judge without one). `intervals`: 95% over traces, by "caught_recall",
    "localised_f1" …, for the rows over all impacts.
    """

    dimension: str
    judge: str
    impact: str
    mapped: int
    caught: Confusion
    localised: Confusion
    intervals: Mapping[str, Interval] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class CoverageRow:
    """Errors of one impact, by what any judge made of them; shares are None without errors.

    `nearby`: a finding that caught it (where nobody adjudicated: any finding) names the annotated span, as its own or
    among the spans where the error showed or is relayed. `intervals`: 95% over traces, by "caught", "localised",
    "nearby".
    """

    impact: str
    errors: int
    caught: int
    localised: int
    nearby: int
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def caught_share(self) -> float | None:
        """Share caught by any judge."""
        return self.caught / self.errors if self.errors else None

    @property
    def localised_share(self) -> float | None:
        """Share localised by any judge."""
        return self.localised / self.errors if self.errors else None

    @property
    def nearby_share(self) -> float | None:
        """Share whose span a finding names anywhere."""
        return self.nearby / self.errors if self.errors else None


@dataclass(frozen=True, slots=True)
class JudgeAgreement:
    """Judges against annotators. `note`: how "caught" was decided; `pairs`: how many a matcher looked at."""

    basis: Basis
    note: str
    pairs: int
    errors: int
    dimensions: tuple[DimensionCount, ...]
    judges: tuple[JudgeConfusion, ...]
    coverage: tuple[CoverageRow, ...]


def judge_agreement(
    annotated: Sequence[Annotated], predicted: Sequence[Predicted], matches: Iterable[Match] | None = None
) -> JudgeAgreement:
    """Confusion by judge and impact, and coverage by impact; `matches` as in `catches`.

    Intervals resample the traces that have annotated errors (errors of one trace stand or fall together).

    Raises:
        IndexError, ValueError: see `catches`.
    """
    made = catches(annotated, predicted, matches)
    units = _units(annotated)
    judges = tuple(row for judge in made.judges for row in _judge_rows(judge, annotated, made, units))
    coverage = tuple(_coverage(i, annotated, made, units) for i in IMPACTS)
    return JudgeAgreement(
        basis=made.basis,
        note=made.basis.note,
        pairs=made.pairs,
        errors=len(annotated),
        dimensions=dimension_counts(annotated),
        judges=judges,
        coverage=coverage,
    )


Units = tuple[tuple[int, ...], ...]
"""Indices of errors, a tuple a trace."""


def _units(annotated: Sequence[Annotated]) -> Units:
    grouped: defaultdict[str, list[int]] = defaultdict(list)
    for index, error in enumerate(annotated):
        grouped[error.trace_id].append(index)
    return tuple(tuple(indices) for indices in grouped.values())


def _judge_rows(judge: str, annotated: Sequence[Annotated], made: Catches, units: Units) -> Iterator[JudgeConfusion]:
    for impact in IMPACTS:
        caught = [_confusion(judge, impact, annotated, made, unit, Level.CAUGHT) for unit in units]
        localised = [_confusion(judge, impact, annotated, made, unit, Level.LOCALISED) for unit in units]
        total = sum(caught, Confusion())
        yield JudgeConfusion(
            dimension=judge,
            judge=JUDGES.get(judge, judge),
            impact=impact,
            mapped=total.tp + total.fn,
            caught=total,
            localised=sum(localised, Confusion()),
            intervals=intervals(tuple(zip(caught, localised, strict=True)), _both) if impact == ALL else {},
        )


def _confusion(
    judge: str, impact: str, annotated: Sequence[Annotated], made: Catches, indices: Iterable[int], level: Level
) -> Confusion:
    chosen = (i for i in indices if _has(annotated[i], impact))
    return Confusion.of((judge in annotated[i].dimensions, made.of(i, judge).level >= level) for i in chosen)


def _both(pairs: Sequence[tuple[Confusion, Confusion]]) -> dict[str, float]:
    caught = sum((c for c, _ in pairs), Confusion()).figures()
    localised = sum((c for _, c in pairs), Confusion()).figures()
    return {f"caught_{k}": v for k, v in caught.items()} | {f"localised_{k}": v for k, v in localised.items()}


Counts = tuple[int, int, int, int]
"""Errors, caught, localised, nearby."""


def _coverage(impact: str, annotated: Sequence[Annotated], made: Catches, units: Units) -> CoverageRow:
    per_trace = [_counts([i for i in unit if _has(annotated[i], impact)], made) for unit in units]
    total = _summed(per_trace)
    return CoverageRow(impact, *total, intervals(per_trace, _shares))


def _counts(indices: Sequence[int], made: Catches) -> Counts:
    seen = [made.together(i) for i in indices]
    return (
        len(seen),
        sum(c.level >= Level.CAUGHT for c in seen),
        sum(c.level is Level.LOCALISED for c in seen),
        sum(c.nearby for c in seen),
    )


def _summed(rows: Sequence[Counts]) -> Counts:
    errors, caught, localised, nearby = (sum(column) for column in zip(*rows, strict=True)) if rows else (0, 0, 0, 0)
    return errors, caught, localised, nearby


def _shares(rows: Sequence[Counts]) -> dict[str, float]:
    errors, *counts = _summed(rows)
    names = ("caught", "localised", "nearby")
    return {name: count / errors for name, count in zip(names, counts, strict=True)} if errors else {}


def _has(error: Annotated, impact: str) -> bool:
    return impact in {ALL, error.impact}
