"""Sums as they come from the store, and how they add up to those of groups."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Final

from tracejury.schemas.rates import Sums

UNITS: Final = ("n", "units", "w", "w2", "wt", "w2t2")
"""Sums over judged units."""

ERRORS: Final = ("hits", "errors", "wb", "w2b2", "w2bt", "wy", "w2y", "w2yt", "w2y2")
"""Sums over errors."""

TERMS: Final = {
    "n": "count()",
    "units": "sum(t)",
    "w": "sum(W)",
    "w2": "sum(W * W)",
    "wt": "sum(W * t)",
    "w2t2": "sum(W * W * t * t)",
    "hits": "sum(b)",
    "errors": "sum(y)",
    "wb": "sum(W * b)",
    "w2b2": "sum(W * W * b * b)",
    "w2bt": "sum(W * W * b * t)",
    "wy": "sum(W * y)",
    "w2y": "sum(W * W * y)",
    "w2yt": "sum(W * W * y * t)",
    "w2y2": "sum(W * W * y * y)",
}
"""The sums over clusters of weight W with t units, b of them with an error, y errors."""

JUDGED, FOUND, MISSED, UNJUDGED = "judged", "found", "missed", "unjudged"
"""Kinds of rows of sums: units (of one judge where it is named), errors, units that a rule failed at, why not."""

Place = tuple[int, str]
"""Point in time and group."""


def units_of(row: Sequence[Any], sign: int = 1) -> Sums:
    """`row` in the order of UNITS."""
    return Sums(**dict(zip(UNITS, (sign * value for value in row), strict=True)))


def errors_of(row: Sequence[Any]) -> Sums:
    """`row` in the order of ERRORS."""
    return Sums(**dict(zip(ERRORS, row, strict=True)))


@dataclass(slots=True)
class Tally:
    """Rows of sums, added up.

    `judged`: units by place; `of_judge`: those that one LLM judge scored, by time and judge; `missed`: those at which a
    rule failed; `found`: errors by place and value of a finding's attribute ("": all that were asked for); `rows`: how
    many were added.
    """

    judged: dict[Place, Sums] = field(default_factory=lambda: defaultdict(Sums))
    of_judge: dict[Place, Sums] = field(default_factory=lambda: defaultdict(Sums))
    missed: dict[Place, Sums] = field(default_factory=lambda: defaultdict(Sums))
    found: dict[tuple[int, str, str], Sums] = field(default_factory=lambda: defaultdict(Sums))
    unjudged: Counter[str] = field(default_factory=Counter)
    rows: int = 0

    def add(self, row: Sequence[Any]) -> None:
        """A row: point in time, group, what it is about, value, then all sums in the order of TERMS."""
        self.rows += 1
        at, key, about, value = row[:4]
        units, errors = row[4 : 4 + len(UNITS)], row[4 + len(UNITS) :]
        if about == UNJUDGED:
            self.unjudged[value] += units[0]
        elif about == MISSED:
            self.missed[at, value] += units_of(units)
        elif about == FOUND:
            self.found[at, key, value] += errors_of(errors)
        elif value:
            self.of_judge[at, value] += units_of(units)
        else:
            self.judged[at, key] += units_of(units)

    def groups(self, *, of_findings: bool, shown: Collection[str] = ()) -> dict[Place, Sums]:
        """Sums by place; where groups are told apart by findings, of every value at every time that has units.

        `shown`: values that count as found, even where none of these times has them.
        """
        if not of_findings:
            judged = ((place, units) for place, units in self.judged.items() if units.n)
            return {place: units + self.found.get((*place, ""), _NONE) for place, units in judged}
        groups = {
            place: units + self.found.get((place[0], "", place[1]), _NONE) for place, units in self.of_judge.items()
        }
        judges = {judge for _, judge in self.of_judge}
        values = {*shown, *(value for _, _, value in self.found if value)} - judges
        for (at, _), units in self.judged.items():
            for value in values:
                less = self.missed.get((at, value), _NONE)
                own = units + _minus(less) if less.n else units
                if own.n:
                    groups[at, value] = own + self.found.get((at, "", value), _NONE)
        return groups

    def total(self) -> Sums:
        """The sums of everything."""
        total = sum(self.judged.values(), Sums())
        return sum((sums for (_, _, value), sums in self.found.items() if not value), total)


_NONE: Final = Sums()


def _minus(sums: Sums) -> Sums:
    return Sums(*(-getattr(sums, f.name) for f in fields(sums)))
