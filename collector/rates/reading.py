"""Reads the sums that a question needs: of everything, and of the groups that are shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import Scope
from tracejury.schemas.queries.points import shown_groups
from tracejury.schemas.rates import Population, Sums, Unit

from . import sql
from .question import Question

_UNITS: Final = ("n", "units", "w", "w2", "wt", "w2t2")
"""The sums that are of units alone."""

Place = tuple[int, str]
"""Point in time and group."""


@dataclass(frozen=True, slots=True)
class Read:
    """`rows`: of the groups that show, worst first, by point in time; `left`: how many groups do not."""

    total: Sums
    rows: Mapping[Place, Sums]
    unjudged: Mapping[str, int]
    left: int


class Reading:
    """Reads the facts of one store. Blocks; methods raise RetryableError, StoreError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def any_judged(self, question: Question) -> bool:
        """Whether the population judged anything that the question is about."""
        return bool(self._rows(question, sql.any_judged(question)))

    def read(self, question: Question, limit: int) -> Read:
        """At most `limit` groups, and at most `MOST` groups at points in time."""
        q, whole, most = question, question.whole(), shown_groups(limit, question.since, question.until, question.step)
        everything = q.ungrouped()
        units = {at: sums for (at, _), sums in self._sums(everything, sql.by_runs(everything)).items()}
        total = sum(units.values(), Sums())
        if q.step and q.unit is Unit.SESSION:  # one may be judged at several points in time
            total = self._sums(whole.ungrouped(), sql.by_runs(whole.ungrouped())).get((0, ""), Sums())
        if q.by is None:
            shown, count = ({"": total} if total.n else {}), int(total.n > 0)
        elif q.of_judges:
            groups = self._by_judge(whole, {0: total})
            keys = sorted(groups, key=lambda place: (-_share(groups[place]), -groups[place].hits, place))
            shown, count = {key: groups[0, key] for _, key in keys[:most]}, len(keys)
        else:
            rows = self._rows(whole, sql.worst(whole), limit=most)
            shown, count = {row[1]: _row(row) for row in rows}, rows[0][-1] if rows else 0
            if q.of_findings:
                shown = {key: _with_units(sums, total) for key, sums in shown.items()} if total.n else {}
                count = count if shown else 0
        found = {(q.since, key): sums for key, sums in shown.items()}
        if q.step:
            found = self._stepped(q, list(shown), units)
        reasons = {row[0]: row[1] for row in self._rows(q, sql.unjudged(q))}
        return Read(total, found, reasons, count - len(shown))

    def _stepped(self, q: Question, keys: Sequence[str], units: Mapping[int, Sums]) -> dict[Place, Sums]:
        """The sums of these groups at each point in time at which units were judged, group by group."""
        if not keys or q.by is None:
            return {(at, key): units[at] for key in keys for at in sorted(units)}
        if q.of_judges:
            found = self._by_judge(q, units, keys)
        elif q.of_findings:
            found = _among(units, self._sums(q, sql.by_errors(q, keyed=True), keys), keys)
        else:
            found = self._sums(q, sql.by_runs(q, keyed=True), keys)
        order = {key: number for number, key in enumerate(keys)}
        own = ((place, sums) for place, sums in found.items() if place[1] in order)
        return dict(sorted(own, key=lambda one: (order[one[0][1]], one[0][0])))

    def _by_judge(self, q: Question, units: Mapping[int, Sums], keys: Iterable[str] = ()) -> dict[Place, Sums]:
        """Of LLM judges among the units that each scored; of rules among all but those at which each failed.

        `units`: all, by time; `keys`: rules that show whether they have errors in any of these times or not.
        """
        judges: dict[Place, Sums] = {}
        if q.population is not Population.DETECTORS:
            judges = self._sums(q, sql.by_llm_judges(q))
        if q.population is Population.JUDGES:
            return judges
        found, missed = self._sums(q, sql.by_errors(q)), self._sums(q, sql.missed(q))
        rules = {*keys, *(key for _, key in found)} - {key for _, key in judges}
        own: dict[Place, Sums] = {}
        for (at, key), sums in _among(units, found, sorted(rules)).items():
            failed = missed.get((at, key), Sums())
            left = {name: getattr(sums, name) - getattr(failed, name) for name in _UNITS}
            if left["n"]:
                own[at, key] = _with_units(sums, Sums(**left))
        return judges | own

    def _sums(self, q: Question, statement: str, keys: Sequence[str] = ()) -> dict[Place, Sums]:
        return {(row[0], row[1]): _row(row) for row in self._rows(q, statement, keys) if row[2]}

    def _rows(self, q: Question, statement: str, keys: Sequence[str] = (), **more: Any) -> list[Sequence[Any]]:
        return Scope(self._store, q.tenant).select(statement, **sql.parameters(q, keys), **more)


def _among(units: Mapping[int, Sums], found: Mapping[Place, Sums], keys: Sequence[str]) -> dict[Place, Sums]:
    """The errors of each of these groups among all units of their time."""
    return {(at, key): _with_units(found.get((at, key), Sums()), sums) for at, sums in units.items() for key in keys}


def _row(row: Sequence[Any]) -> Sums:
    """The sums of a row: `at`, `key`, then the terms."""
    return Sums(**dict(zip(sql.TERMS, row[2 : 2 + len(sql.TERMS)], strict=True)))


def _with_units(errors: Sums, units: Sums) -> Sums:
    """The errors of the one among the units of the other."""
    return Sums(**{f.name: getattr(units if f.name in _UNITS else errors, f.name) for f in fields(Sums)})


def _share(sums: Sums) -> float:
    return sums.wb / sums.wt if sums.wt else 0.0
