"""The trials of one task: its valid sessions by cell, each with its values, the pack's own figures and its progress."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from tracejury.collector.store.lists import SessionLists
from tracejury.collector.store.measured_behaviours import BEHAVIOUR
from tracejury.collector.store.scope import Scope
from tracejury.judges.packs.loader import progress_checks
from tracejury.schemas import simulation
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import ATTRIBUTE, MeasuredPack, MeasuredSession, MeasureQuery, OwnFigure
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict, session_subject_id

from .measures import MeasureGroup, SessionValues, StoredMeasures, answer_of
from .progress import progress_of

MOST_SHOWN: Final = 20
"""Trials of a cell that are shown, the latest."""
MOST_CELLS: Final = 20
"""Cells that are shown, those with the lowest average first."""
SHOWN: Final = {
    f"{ATTRIBUTE}{simulation.BEHAVIOUR}": "behaviour",
    f"{ATTRIBUTE}{simulation.PERSONA}": "persona",
    f"{ATTRIBUTE}{simulation.USER_MODEL}": "user model",
    f"{ATTRIBUTE}{simulation.FIX}": "fix",
    "version": "version",
}
"""Groups of sessions that tell cells of a task and service apart, with a word for each."""

_Items = Mapping[tuple[str, str], Sequence[ItemAnswer]]


@dataclass(frozen=True, slots=True)
class ShownTrial:
    """One trial. `own`: the pack's own figures of it alone; `after`: progress at the end of each exchange."""

    session: SessionValues
    own: Mapping[str, OwnFigure]
    after: Sequence[float]


@dataclass(frozen=True, slots=True)
class TrialCell:
    """The trials of one cell. `common`: what they have in common, by name; `left`: earlier ones that are not shown."""

    common: Mapping[str, str]
    group: MeasureGroup
    trials: Sequence[ShownTrial]
    left: int


@dataclass(frozen=True, slots=True)
class TrialsOfTask:
    """The cells of one task. `total`: over all trials; `left`: cells that are not shown; `unread`: sessions."""

    cells: Sequence[TrialCell]
    total: MeasureGroup
    left: int
    unread: int

    @property
    def exchanges(self) -> int:
        """Those of the longest trial that is shown."""
        return max((len(one.after) for cell in self.cells for one in cell.trials), default=0)


def task_trials(scope: Scope, measures: StoredMeasures, pack: MeasuredPack, query: MeasureQuery) -> TrialsOfTask:
    """The trials of the task and time of a query. Raises RetryableError, StoreError."""
    query = replace(query, by=tuple(SHOWN), trials=True)
    sessions, outcomes, unread = measures.sessions(pack, query)
    by_cell: defaultdict[tuple[str, ...], list[MeasuredSession]] = defaultdict(list)
    for one in sessions:
        # In place of the hash of the behaviour, itself: a pack may compare cells that differ in it alone.
        key = one.keys[0][0], *one.cell[:1], *one.cell[2:]
        by_cell[key].append(replace(one, keys=(key,)))
    groups = replace(query, by=(BEHAVIOUR,), limit=MOST_CELLS)
    answer = answer_of(pack, groups, [*chain(*by_cell.values())], outcomes)
    counted = {
        row.keys: [one for one in by_cell[row.keys] if one.weight and not one.invalid][:MOST_SHOWN]
        for row in answer.rows
    }
    shown = [*chain(*counted.values())]
    own, progress = _own(pack, shown, outcomes), _progress(scope, pack, shown, outcomes)
    said = {_place(one): one.keys[0] for one in sessions}
    cells = []
    for row in answer.rows:
        if trials := counted[row.keys]:
            common = {"service": trials[0].service} | dict(zip(SHOWN.values(), said[_place(trials[0])], strict=True))
            each = [ShownTrial(_values(pack, t), own.get(_place(t), {}), progress.get(_place(t), ())) for t in trials]
            cells.append(TrialCell(common, row, each, row.sessions - len(trials)))
    return TrialsOfTask(cells, answer.total, answer.left, unread)


def _place(session: MeasuredSession) -> tuple[str, str]:
    return session.service, session.session_id


def _values(pack: MeasuredPack, session: MeasuredSession) -> SessionValues:
    found = (session.measures.get(measure.judge) for measure in pack.measures)
    return SessionValues(*_place(session), session.at, [one.value if one else None for one in found], None)


def _own(
    pack: MeasuredPack, trials: Sequence[MeasuredSession], outcomes: _Items
) -> Mapping[tuple[str, str], Mapping[str, OwnFigure]]:
    """The pack's own figures of each trial, which is a group of its own."""
    if pack.figures is None:
        return {}
    told = [one for one in trials if _place(one) in outcomes]
    figures = pack.figures({str(at): {one.cell: [outcomes[_place(one)]]} for at, one in enumerate(told)})
    return {_place(one): figures[str(at)] for at, one in enumerate(told)}


def _progress(
    scope: Scope, pack: MeasuredPack, trials: Sequence[MeasuredSession], outcomes: _Items
) -> Mapping[tuple[str, str], Sequence[float]]:
    """By trial, of the items of its success the share after each exchange; {} where they do not settle."""
    check = progress_checks().get(pack.success.judge) if pack.success else None
    if check is None:
        return {}
    found: dict[tuple[str, str], Sequence[float]] = {}
    lists = SessionLists(scope.store, scope.tenant)
    for place, exchanges in lists.exchanges_judged([_place(one) for one in trials], check.name).items():
        subject = Subject(SubjectKind.SESSION, session_subject_id(*place), "")
        closing = Verdict(check.name, "", subject, None, items=tuple(outcomes.get(place, ())))
        for progress in progress_of(exchanges, [closing]):
            found[place] = progress.after
    return found
