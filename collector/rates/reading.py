"""Reads the sums that a question needs: of everything, and of the groups that are shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.scope import Scope
from tracejury.schemas.rates import Sums

from . import cells, scan, sql
from .buckets import Plan, marks, plan
from .cells import add_sums, has_sums
from .facts import HOUR
from .question import Question
from .scan import add_facts
from .tally import Place, Tally

FEW: Final = 2_000
"""Sums that are read to rank groups here; of more, the store ranks them, and only those that show are read."""
MOST: Final = 20_000
"""Groups at points in time of one answer; where there would be more, fewer groups show."""


@dataclass(frozen=True, slots=True)
class Read:
    """`rows`: of the groups that show, worst first, by point in time; `left`: how many groups do not."""

    total: Sums
    rows: Mapping[Place, Sums]
    unjudged: Mapping[str, int]
    left: int
    from_rollups: bool


@dataclass(frozen=True, slots=True)
class _Groups:
    """Without points in time: `shown` are the worst, of `count` in all."""

    total: Sums
    shown: Mapping[str, Sums]
    unjudged: Mapping[str, int]
    count: int


class Reading:
    """Reads facts and kept sums of one store. Blocks; methods raise RetryableError, StoreError."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def read(self, question: Question, limit: int) -> Read:
        """At most `limit` groups, and at most `MOST` groups at points in time."""
        q = question
        found = self._groups(q.whole(), min(limit, max(1, MOST // q.points)))
        if q.step and found.shown:
            stepped = self._tally(q, list(found.shown) if q.by is not None else None)
            order = {key: place for place, key in enumerate(found.shown)}
            # An error of a session may lie at a time at which nothing of the session was judged.
            groups = stepped.groups(of_findings=q.of_findings, shown=order)
            rows = {at: sums for at, sums in groups.items() if at[1] in order}
            rows = dict(sorted(rows.items(), key=lambda row: (order[row[0][1]], row[0][0])))
        else:
            rows = {(q.since, key): sums for key, sums in found.shown.items()}
        return Read(found.total, rows, found.unjudged, found.count - len(found.shown), from_rollups=has_sums(q))

    def _groups(self, q: Question, limit: int) -> _Groups:
        tally = self._tally(q, most=0 if q.of_judges else FEW)
        if not q.of_judges and tally.rows > FEW:
            return self._of_many(q, limit)
        total = tally.total()
        if q.overlaps:
            total = self._tally(q.ungrouped()).total()
        groups = _by_key(q, tally)
        return _Groups(total, _worst(groups, limit), tally.unjudged, len(groups))

    def _of_many(self, q: Question, limit: int) -> _Groups:
        keys, count = self._ranked(q, limit)
        whole = self._tally(q.ungrouped())
        return _Groups(whole.total(), _worst(_by_key(q, self._tally(q, keys)), limit), whole.unjudged, count)

    def _ranked(self, q: Question, limit: int) -> tuple[list[str], int]:
        """The worst groups, and how many there are."""
        todo = self._plan(q)
        ranks, values = list[str](), dict[str, Any](limit=limit)
        if todo.generations:
            ranks.append(cells.ranks(q))
            values |= {"generations": todo.generations, **cells.values_of(q)}
        if todo.hours:
            ranks.append(scan.ranks(q))
            values |= scan.values_of(q, todo.hours)
        rows = Scope(self._store, q.tenant).select(sql.worst(ranks), **values) if ranks else []
        return [row[0] for row in rows], rows[0][1] if rows else 0

    def _tally(self, q: Question, keys: Sequence[str] | None = None, most: int = 0) -> Tally:
        """`keys`: only of these groups; `most`: of more sums only so many and one are read, no matter which."""
        tally, todo = Tally(), self._plan(q)
        add_sums(self._store, tally, q, todo.generations, keys, most)
        add_facts(self._store, tally, q, todo.hours, keys, most)
        return tally

    def _plan(self, q: Question) -> Plan:
        found = marks(self._store, q.tenant, q.since // HOUR, (q.until - 1) // HOUR)
        return plan(q, found) if has_sums(q) else Plan((), tuple(found.hours))


def _by_key(q: Question, tally: Tally) -> dict[str, Sums]:
    return {key: sums for (_, key), sums in tally.groups(of_findings=q.of_findings).items()}


def _worst(groups: Mapping[str, Sums], limit: int) -> dict[str, Sums]:
    keys = sorted(groups, key=lambda key: (-_share(groups[key]), -groups[key].hits, key))[:limit]
    return {key: groups[key] for key in keys}


def _share(sums: Sums) -> float:
    return sums.wb / sums.wt if sums.wt else 0.0
