"""Measures of packs over sessions, or agent runs: means with intervals, by group and over time, the worst, differences.

What is said of sessions holds for the agent runs of a pack whose unit is the run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import fsum
from types import MappingProxyType
from typing import Final

from tracejury.collector.store.client import Store
from tracejury.collector.store.graded_runs import graded_runs, waiting_runs
from tracejury.collector.store.measured_behaviours import BEHAVIOUR, session_items
from tracejury.collector.store.measures import measured_sessions, waiting_sessions
from tracejury.collector.store.scope import Scope
from tracejury.judges.checks.aggregate import CountSpread, SessionScore, average, difference, measure_of, spread
from tracejury.judges.measures.trials import Figures, TaskMean, Trial, TrialRule, by_task, over_tasks, paired
from tracejury.judges.packs.cards.task_cards import TaskCard
from tracejury.judges.packs.grades import grades_pack
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.measures import (
    Cells,
    MeasuredPack,
    MeasuredSession,
    MeasureQuery,
    OwnFigure,
    PackMeasure,
    SessionMeasure,
)
from tracejury.schemas.rates import Estimate

from .measure_groups import by_cards, by_verdicts, place, put

WORST: Final = 20
"""Sessions of the lowest average that are named."""


@dataclass(frozen=True, slots=True)
class MeasureFigure:
    """One measure over sessions. `n`: where it is defined, as counted; `raw`: ungrounded items taken as failed.

    `not_applicable` and `unscored`: sessions without a value; `ungrounded`: items of sessions or their exchanges, or
    grades of 0 without a standing finding. `sampled`: the share of sessions that the judge was asked about, None where
    it was asked about none. `shares`: those of grades of 0 and of 1, of a pack with grades.
    """

    measure: PackMeasure
    estimate: Estimate | None
    raw: Estimate | None
    n: int
    not_applicable: int
    unscored: int
    ungrounded: int
    sampled: float | None = None
    shares: Mapping[str, Estimate | None] = field(default_factory=dict)

    @property
    def value(self) -> float | None:
        """The estimate without its interval."""
        return self.estimate.value if self.estimate else None


@dataclass(frozen=True, slots=True)
class TaskTrials:
    """The trials of several tasks: how many, and the figures by task and over all tasks."""

    trials: int
    by_task: Mapping[str, Figures]
    figures: Sequence[TaskMean]

    @property
    def tasks(self) -> int:
        """How many there are."""
        return len(self.by_task)


@dataclass(frozen=True, slots=True)
class MeasureGroup:
    """The measures of one group from `at` on, unix nanos. `keys`: its value by each name, none of all together.

    `sessions`: that count, which is all but `invalid` ones and those asked for by hand. `average`: plain mean of the
    defined measures that are averaged. Where they are asked for, `trials`, and `own`: the pack's own figures of them.
    """

    keys: tuple[str, ...]
    at: int
    sessions: int
    figures: Sequence[MeasureFigure]
    average: float | None
    exchanges: CountSpread | None
    states: CountSpread | None
    invalid: int = 0
    trials: TaskTrials | None = None
    own: Mapping[str, OwnFigure] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The keys in one line, "" without a name."""
        return self.keys[0] if len(self.keys) == 1 else ", ".join(key or "-" for key in self.keys)


@dataclass(frozen=True, slots=True)
class SessionValues:
    """The values of one session, in order of the pack's measures; None: not applicable or unscored.

    `trace_id` and `run_id` of an agent run.
    """

    service: str
    session_id: str
    at: int
    values: Sequence[float | None]
    average: float | None
    trace_id: str = ""
    run_id: str = ""


@dataclass(frozen=True, slots=True)
class MeasureAnswer:
    """The measures of one pack. `rows`: by group, the lowest average first, and point in time, ascending.

    `worst`: sessions with the lowest average, also those judged by hand; `left`: groups beyond the limit; `unread`:
    sessions beyond those that one answer reads. `waiting`: sessions that are open or queued, None where that is not
    known.
    """

    pack: MeasuredPack
    total: MeasureGroup
    rows: Sequence[MeasureGroup]
    worst: Sequence[SessionValues]
    left: int = 0
    unread: int = 0
    waiting: int | None = None


@dataclass(frozen=True, slots=True)
class ComparedMeasures:
    """The measures of other sessions, and by letter those of the answer less these; None where one is undefined.

    `trials`: the same of the figures of trials, over the tasks that both have.
    """

    query: MeasureQuery
    total: MeasureGroup
    differences: Mapping[str, Estimate | None]
    trials: Sequence[TaskMean] = ()


class StoredMeasures:
    """Measures of one tenant's sessions. `packs`: all that there are; `task_keys`: attributes that name a task.

    `cards`: the cards of tasks, by id. Every method blocks.
    """

    def __init__(
        self,
        store: Store,
        packs: Callable[[], Sequence[MeasuredPack]],
        task_keys: Sequence[str],
        tenant: str = "",
        cards: Callable[[], Mapping[str, TaskCard]] = dict,
    ) -> None:
        self._scope, self._packs, self.task_keys, self._cards = Scope(store, tenant), packs, task_keys, cards

    @property
    def packs(self) -> Sequence[MeasuredPack]:
        """The packs that there are."""
        return self._packs()

    def ask(self, query: MeasureQuery) -> list[MeasureAnswer]:
        """One answer a pack. Raises ConfigError for an unknown pack, RetryableError, StoreError."""
        return [
            replace(
                self.of(pack, query),
                waiting=waiting_runs(self._scope, query)
                if pack.unit == "run"
                else waiting_sessions(self._scope, query, _judges(pack)),
            )
            for pack in self._asked(query)
        ]

    def grades(self, query: MeasureQuery) -> MeasureAnswer:
        """The grades of the GPA judges. Raises RetryableError, StoreError."""
        return self.of(grades_pack(), query)

    def compare(self, answer: MeasureAnswer, to: MeasureQuery) -> ComparedMeasures:
        """How the sessions of an answer differ from others. Raises as `ask`."""
        other = self.of(answer.pack, to).total
        pairs = zip(other.figures, answer.total.figures, strict=True)
        differences = {b.measure.letter: difference(a.estimate, b.estimate) for a, b in pairs}
        trials = answer.total.trials, other.trials
        if not (trials[0] and trials[1]):
            return ComparedMeasures(to, other, differences)
        figures = [one.figure for one in trials[0].figures]
        return ComparedMeasures(to, other, differences, paired(figures, trials[1].by_task, trials[0].by_task))

    def _asked(self, query: MeasureQuery) -> Sequence[MeasuredPack]:
        name = query.pack
        packs = self.packs
        found = [pack for pack in packs if name in ("", pack.name)]
        if name and not found:
            known = ", ".join(pack.name for pack in packs)
            raise ConfigError(f"no pack {name[:40]!r}: {f'use one of {known}' if known else 'none is installed'}")
        if name and found[0].unit == "run" and (query.trials or query.pooled):
            asked = "trials" if query.trials else "pooled"
            raise ConfigError(f"{asked}: only of packs that measure sessions; {name} measures agent runs")
        return found

    def of(self, pack: MeasuredPack, query: MeasureQuery) -> MeasureAnswer:
        """The measures of one pack, without what waits. Raises RetryableError, StoreError."""
        sessions, outcomes, unread = self.sessions(pack, query)
        trials = query.trials and pack.unit == "session"
        return replace(answer_of(pack, replace(query, trials=trials), sessions, outcomes), unread=unread)

    def sessions(
        self, pack: MeasuredPack, query: MeasureQuery
    ) -> tuple[Sequence[MeasuredSession], Mapping[tuple[str, str], Sequence[ItemAnswer]], int]:
        """The sessions, or runs, of one pack; for its own figures the items of their success; how many are unread."""
        judges = _judges(pack)
        if pack.unit == "run":
            runs, unread = graded_runs(self._scope, query, self.task_keys)
            return by_cards(self._cards, query, runs), {}, unread
        validators = {one.judge for each in self.packs for one in each.measures if one.validates}
        sessions, unread = measured_sessions(self._scope, query, judges, validators, self.task_keys)
        checks = {one.judge for each in self.packs if each.unit == "session" for one in each.measures}
        sessions = by_verdicts(self._scope, query, judges, checks, sessions)
        sessions = by_cards(self._cards, query, sessions)
        outcomes: Mapping[tuple[str, str], Sequence[ItemAnswer]] = {}
        if query.trials and pack.success and sessions:
            outcomes = session_items(self._scope, query, judges, pack.success.judge)
        return sessions, outcomes, unread


def _judges(pack: MeasuredPack) -> set[str]:
    return {measure.judge for measure in pack.measures}


def answer_of(
    pack: MeasuredPack,
    query: MeasureQuery,
    sessions: Sequence[MeasuredSession],
    outcomes: Mapping[tuple[str, str], Sequence[ItemAnswer]] = MappingProxyType({}),
) -> MeasureAnswer:
    """The measures of these sessions. `outcomes`: the items about the success of each, for the pack's own figures."""

    def group(keys: tuple[str, ...], at: int, members: Sequence[MeasuredSession]) -> MeasureGroup:
        return _group(pack, keys, at, members, query)

    def own(
        groups: Mapping[tuple[str, ...], Sequence[MeasuredSession]],
    ) -> Mapping[tuple[str, ...], Mapping[str, OwnFigure]]:
        """Of groups that differ in their behaviour alone: ideal users are those of the same model."""
        if pack.figures is None or not outcomes:
            return {}
        at = query.by.index(BEHAVIOUR) if BEHAVIOUR in query.by else 0
        beside: defaultdict[tuple[str, ...], dict[tuple[str, ...], Cells]] = defaultdict(dict)
        for keys, members in groups.items():
            if cells := _cells(members, outcomes):
                beside[put(keys, at, "")][keys] = cells
        found: dict[tuple[str, ...], Mapping[str, OwnFigure]] = {}
        for items in beside.values():
            names = {keys: keys[at] if keys else "" for keys in items}
            figures = pack.figures({names[keys]: said for keys, said in items.items()})
            found |= {keys: figures[name] for keys, name in names.items()}
        return found

    by_key: defaultdict[tuple[str, ...], list[MeasuredSession]] = defaultdict(list)
    for session in sessions if query.by or query.step else ():
        for key in session.keys:
            by_key[key].append(session)
    own_figures = own(by_key)
    groups = (replace(group(key, query.since, own), own=own_figures.get(key, {})) for key, own in by_key.items())
    whole = sorted(groups, key=lambda one: (one.average is None, one.average or 0.0, one.keys))
    rows = whole[: query.limit]
    if query.step:
        rows = [one for row in rows for one in _over_time(query.step, row.keys, by_key[row.keys], group)]
    defined = [one for one in (_values(pack, one) for one in sessions if not one.invalid) if one.average is not None]
    worst = sorted(defined, key=lambda one: (one.average, -one.at, one.service, one.session_id, one.trace_id))[:WORST]
    total = replace(group((), query.since, sessions), own=own({(): sessions}).get((), {}))
    return MeasureAnswer(pack, total, rows, worst, max(0, len(whole) - query.limit))


def _cells(members: Sequence[MeasuredSession], outcomes: Mapping[tuple[str, str], Sequence[ItemAnswer]]) -> Cells:
    found: defaultdict[tuple[str, ...], list[Sequence[ItemAnswer]]] = defaultdict(list)
    for one in members:
        if one.weight and not one.invalid and place(one) in outcomes:
            found[one.cell].append(outcomes[place(one)])
    return found


def _over_time(
    step: int,
    keys: tuple[str, ...],
    members: Sequence[MeasuredSession],
    group: Callable[[tuple[str, ...], int, Sequence[MeasuredSession]], MeasureGroup],
) -> list[MeasureGroup]:
    by_time: defaultdict[int, list[MeasuredSession]] = defaultdict(list)
    for session in members:
        by_time[session.at // step * step].append(session)
    return [group(keys, at, by_time[at]) for at in sorted(by_time)]


def _group(
    pack: MeasuredPack, keys: tuple[str, ...], at: int, members: Sequence[MeasuredSession], query: MeasureQuery
) -> MeasureGroup:
    counted = [one for one in members if one.weight and not one.invalid]
    figures = [_figure(measure, counted, pack.best, pooled=query.pooled) for measure in pack.measures]
    exchanges = ((one.weight, max(map(len, one.items.values()), default=0)) for one in counted)
    return MeasureGroup(
        keys,
        at,
        len(counted),
        figures,
        average(figure.value for figure in figures if figure.measure.averaged),
        spread((weight, count) for weight, count in exchanges if count),
        spread((one.weight, count) for one in counted for count in one.items.get(pack.states, ())),
        sum(one.weight > 0 and one.invalid for one in members),
        _trials(pack, counted, query) if query.trials else None,
    )


def _trials(pack: MeasuredPack, counted: Sequence[MeasuredSession], query: MeasureQuery) -> TaskTrials:
    """The trials among these sessions, each counted once, however it was sampled. All of them are valid."""
    rule = TrialRule(query.k, pack.success.letter if pack.success else "", query.threshold)
    letters = {measure.judge: measure.letter for measure in pack.measures if not measure.validates}
    trials = []
    for one in counted:
        task, *cell = one.cell
        if task:
            known = ((letters.get(judge), found.value) for judge, found in one.measures.items() if found.weight)
            values = {letter: value for letter, value in known if letter and value is not None}
            trials.append(Trial(task, cell, values))
    tasks = by_task(trials, rule)
    return TaskTrials(len(trials), tasks, over_tasks(rule.figures(letters.values()), tasks.values()))


def _figure(measure: PackMeasure, members: Sequence[MeasuredSession], best: int, *, pooled: bool) -> MeasureFigure:
    said = [(one, session) for session in members if (one := session.measures.get(measure.judge)) and one.weight]

    def mean(value: Callable[[SessionMeasure], float | None]) -> Estimate | None:
        return measure_of(SessionScore(value(one), weight=one.weight, cluster=of.trace_id) for one, of in said)

    scores = (SessionScore(one.value, one.numerator, one.denominator, one.weight, of.trace_id) for one, of in said)
    estimate = _scaled(measure_of(scores, pooled=pooled), best)
    shares = {str(n): mean(partial(_is_grade, n / best)) for n in range(2)} if best > 1 and not measure.of else {}
    without = Counter(one.unscored for one, _ in said if one.value is None)
    return MeasureFigure(
        measure,
        estimate,
        estimate if best > 1 else mean(lambda one: one.raw),
        sum(one.value is not None for one, _ in said),
        without[False],
        without[True],
        sum(session.ungrounded.get(measure.judge, 0) for session in members),
        len(said) / total if (total := fsum(one.weight for one, _ in said)) else None,
        shares,
    )


def _is_grade(grade: float, measure: SessionMeasure) -> float | None:
    return None if measure.value is None else float(measure.value == grade)


def _scaled(found: Estimate | None, best: int) -> Estimate | None:
    return found and Estimate(best * found.value, best * found.low, best * found.high)


def _values(pack: MeasuredPack, session: MeasuredSession) -> SessionValues:
    found = (session.measures.get(measure.judge) for measure in pack.measures)
    values = [pack.best * one.value if one and one.value is not None else None for one in found]
    averaged = (value for measure, value in zip(pack.measures, values, strict=True) if measure.averaged)
    place = session.service, session.session_id, session.at
    return SessionValues(*place, values, average(averaged), session.trace_id, session.run_id)
