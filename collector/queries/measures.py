"""Measures of packs over sessions: means with intervals, by group and over time, the worst sessions, differences."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.measured_behaviours import BEHAVIOUR, oracle_outcomes, session_behaviours
from tracejury.collector.store.measures import measured_sessions, waiting_sessions
from tracejury.collector.store.scope import Scope
from tracejury.judges.checks.aggregate import CountSpread, SessionScore, average, difference, measure_of, spread
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.packs.rut.figures import BehaviourFigures, by_behaviour, task_result
from tracejury.judges.packs.rut.measures import ORACLE
from tracejury.judges.packs.sources import STATES
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.measures import MeasuredPack, MeasuredSession, MeasureQuery, PackMeasure
from tracejury.schemas.rates import Estimate

WORST: Final = 20
"""Sessions of the lowest average that are named."""


@dataclass(frozen=True, slots=True)
class MeasureFigure:
    """One measure over sessions. `n`: where it is defined, as counted; `raw`: ungrounded items taken as failed.

    `not_applicable` and `unscored`: sessions without a value; `ungrounded`: items of sessions or their exchanges.
    """

    measure: PackMeasure
    estimate: Estimate | None
    raw: Estimate | None
    n: int
    not_applicable: int
    unscored: int
    ungrounded: int

    @property
    def value(self) -> float | None:
        """The estimate without its interval."""
        return self.estimate.value if self.estimate else None


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """The measures of one group ("" for all, or without a name) from `at` on, unix nanos.

    `sessions`: that count, which is all but those asked for by hand. `average`: plain mean of the defined measures.
    """

    key: str
    at: int
    sessions: int
    figures: Sequence[MeasureFigure]
    average: float | None
    exchanges: CountSpread | None
    states: CountSpread | None


@dataclass(frozen=True, slots=True)
class SessionValues:
    """The values of one session, in order of the pack's measures; None: not applicable or unscored."""

    service: str
    session_id: str
    at: int
    values: Sequence[float | None]
    average: float | None


@dataclass(frozen=True, slots=True)
class MeasureAnswer:
    """The measures of one pack. `rows`: by group, the lowest average first, and point in time, ascending.

    `worst`: sessions with the lowest average, also those judged by hand; `left`: groups beyond the limit; `unread`:
    sessions beyond those that one answer reads. `tasks`: figures of oracles by behaviour of the user, where asked for.
    `waiting`: sessions that are open or queued, None where that is not known.
    """

    pack: MeasuredPack
    total: MeasureGroup
    rows: Sequence[MeasureGroup]
    worst: Sequence[SessionValues]
    left: int = 0
    unread: int = 0
    waiting: int | None = None
    tasks: Mapping[str, BehaviourFigures] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ComparedMeasures:
    """The measures of other sessions, and by letter those of the answer less these; None where one is undefined."""

    query: MeasureQuery
    total: MeasureGroup
    differences: Mapping[str, Estimate | None]


@cache
def installed_packs() -> tuple[MeasuredPack, ...]:
    """All packs of the installation, whether they are switched on or not."""
    packs, _ = known_packs()
    return tuple(map(_pack, packs))


def _pack(pack: Pack) -> MeasuredPack:
    states = next((check.name for check in pack.checks if check.items is STATES), "")
    measures = (PackMeasure(check.measure, check.name, check.title, check.definition) for check in pack.checks)
    return MeasuredPack(pack.name, pack.title, tuple(measures), states)


class StoredMeasures:
    """Measures of one tenant's sessions. `packs`: all that there are; `task_keys`: attributes that name a task.

    Every method blocks.
    """

    def __init__(
        self,
        store: Store,
        packs: Callable[[], Sequence[MeasuredPack]],
        task_keys: Sequence[str],
        tenant: str = "",
    ) -> None:
        self._scope, self._packs, self._task_keys = Scope(store, tenant), packs, task_keys

    @property
    def packs(self) -> Sequence[MeasuredPack]:
        """The packs that there are."""
        return self._packs()

    def ask(self, query: MeasureQuery) -> list[MeasureAnswer]:
        """One answer a pack. Raises ConfigError for an unknown pack, RetryableError, StoreError."""
        return [
            replace(self._answer(pack, query), waiting=waiting_sessions(self._scope, query, _judges(pack)))
            for pack in self._asked(query.pack)
        ]

    def compare(self, answer: MeasureAnswer, to: MeasureQuery) -> ComparedMeasures:
        """How the sessions of an answer differ from others. Raises as `ask`."""
        other = self._answer(answer.pack, to).total
        pairs = zip(other.figures, answer.total.figures, strict=True)
        return ComparedMeasures(to, other, {b.measure.letter: difference(a.estimate, b.estimate) for a, b in pairs})

    def _asked(self, name: str) -> Sequence[MeasuredPack]:
        packs = self.packs
        found = [pack for pack in packs if name in ("", pack.name)]
        if name and not found:
            known = ", ".join(pack.name for pack in packs)
            raise ConfigError(f"no pack {name[:40]!r}: {f'use one of {known}' if known else 'none is installed'}")
        return found

    def _answer(self, pack: MeasuredPack, query: MeasureQuery) -> MeasureAnswer:
        judges = _judges(pack)
        sessions, unread = measured_sessions(self._scope, query, judges, self._task_keys)
        if query.by != BEHAVIOUR or not sessions:
            return replace(answer_of(pack, query, sessions), unread=unread)
        behaviours = session_behaviours(self._scope, query, judges)
        sessions = [replace(one, keys=behaviours.get(_place(one)) or ("",)) for one in sessions]
        return replace(answer_of(pack, query, sessions), unread=unread, tasks=self._tasks(query, judges, sessions))

    def _tasks(
        self, query: MeasureQuery, judges: Collection[str], sessions: Sequence[MeasuredSession]
    ) -> Mapping[str, BehaviourFigures]:
        """Of the sessions whose task has an oracle, but for those judged by hand."""
        outcomes = oracle_outcomes(self._scope, query, judges) if ORACLE in judges else {}
        known = [(one, outcomes[_place(one)]) for one in sessions if one.weight and _place(one) in outcomes]
        return by_behaviour(task_result(key, outcome) for one, outcome in known for key in one.keys)


def _judges(pack: MeasuredPack) -> set[str]:
    return {measure.judge for measure in pack.measures}


def _place(session: MeasuredSession) -> tuple[str, str]:
    return session.service, session.session_id


def answer_of(pack: MeasuredPack, query: MeasureQuery, sessions: Sequence[MeasuredSession]) -> MeasureAnswer:
    """The measures of these sessions."""

    def group(key: str, at: int, members: Sequence[MeasuredSession]) -> MeasureGroup:
        return _group(pack, key, at, members, pooled=query.pooled)

    by_key: defaultdict[str, list[MeasuredSession]] = defaultdict(list)
    for session in sessions if query.by or query.step else ():
        for key in session.keys:
            by_key[key].append(session)
    groups = (group(key, query.since, members) for key, members in by_key.items())
    whole = sorted(groups, key=lambda one: (one.average is None, one.average or 0.0, one.key))
    rows = whole[: query.limit]
    if query.step:
        rows = [one for row in rows for one in _over_time(query.step, row.key, by_key[row.key], group)]
    defined = [one for one in (_values(pack, one) for one in sessions) if one.average is not None]
    worst = sorted(defined, key=lambda one: (one.average, -one.at, one.service, one.session_id))[:WORST]
    return MeasureAnswer(pack, group("", query.since, sessions), rows, worst, max(0, len(whole) - query.limit))


def _over_time(
    step: int,
    key: str,
    members: Sequence[MeasuredSession],
    group: Callable[[str, int, Sequence[MeasuredSession]], MeasureGroup],
) -> list[MeasureGroup]:
    by_time: defaultdict[int, list[MeasuredSession]] = defaultdict(list)
    for session in members:
        by_time[session.at // step * step].append(session)
    return [group(key, at, by_time[at]) for at in sorted(by_time)]


def _group(pack: MeasuredPack, key: str, at: int, members: Sequence[MeasuredSession], *, pooled: bool) -> MeasureGroup:
    figures = [_figure(measure, members, pooled=pooled) for measure in pack.measures]
    counted = [one for one in members if one.weight]
    exchanges = ((one.weight, max(map(len, one.items.values()), default=0)) for one in counted)
    return MeasureGroup(
        key,
        at,
        len(counted),
        figures,
        average(figure.value for figure in figures),
        spread((weight, count) for weight, count in exchanges if count),
        spread((one.weight, count) for one in counted for count in one.items.get(pack.states, ())),
    )


def _figure(measure: PackMeasure, members: Sequence[MeasuredSession], *, pooled: bool) -> MeasureFigure:
    said = [one for session in members if (one := session.measures.get(measure.judge)) and one.weight]
    scores = [SessionScore(one.value, one.numerator, one.denominator, one.weight) for one in said]
    raw = [SessionScore(one.raw, weight=one.weight) for one in said]
    without = Counter(one.unscored for one in said if one.value is None)
    return MeasureFigure(
        measure,
        measure_of(scores, pooled=pooled),
        measure_of(raw),
        sum(one.value is not None for one in said),
        without[False],
        without[True],
        sum(session.ungrounded.get(measure.judge, 0) for session in members if session.weight),
    )


def _values(pack: MeasuredPack, session: MeasuredSession) -> SessionValues:
    found = (session.measures.get(measure.judge) for measure in pack.measures)
    values = [one.value if one else None for one in found]
    return SessionValues(session.service, session.session_id, session.at, values, average(values))
