"""Two traces side by side, and runs that fail beside runs that pass; traces are rebuilt from their stored spans."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.judges.divergence.aligning import align
from tracejury.judges.divergence.failing import failing_step
from tracejury.judges.divergence.steps import TraceStep, steps_of
from tracejury.judges.measures.session_labels import agreed
from tracejury.schemas.annotations import SessionLabel
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.divergence import DivergenceQuery
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.measures import MeasureQuery
from tracejury.schemas.queries.patterns import PatternAnswer, PatternQuery
from tracejury.schemas.queries.reader import Confidence, TraceQuery, TraceRow
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.wire.divergence import ComparedRunsJson, ComparedTracesJson

from .measures import StoredMeasures
from .patterns import MOST_LABELS
from .present_divergence import present_failing, present_traces
from .reader import Labels
from .score_outcomes import ScoreOutcomes
from .trace.stored import StoredTraceQueries

MOST_LISTED: Final = 1_000
"""Traces of which the runs are taken, the latest."""
MOST_RUNS: Final = 100
"""Runs that pass, and as many that fail, that are read: the latest ones."""
AT_ONCE: Final = 25
"""Runs of which the spans are in memory."""
MOST_AGENTS: Final = 5

_OVER: Final = (TraceState.SETTLED, TraceState.FAILED)


class Divergences:
    """Divergences of one tenant. Every method blocks, and raises RetryableError, StoreError.

    `traces`, `patterns`: those of a query.
    """

    def __init__(
        self,
        queries: StoredTraceQueries,
        traces: Callable[[TraceQuery], Sequence[TraceRow]],
        patterns: Callable[[PatternQuery], PatternAnswer],
        labels: Labels,
        measures: StoredMeasures,
        outcomes: ScoreOutcomes,
    ) -> None:
        self._queries, self._traces, self._patterns = queries, traces, patterns
        self._labels, self._measures, self._outcomes = labels, measures, outcomes

    def traces(self, first: str, second: str) -> ComparedTracesJson:
        """Two traces by their ids. Raises NotFoundError."""
        one, other = self._stored(first), self._stored(second)
        return present_traces(one, other, align(steps_of([one]), steps_of([other])))

    def runs(self, query: DivergenceQuery) -> ComparedRunsJson:
        """Those of a query. Raises NotFoundError: no such pattern is known in this time."""
        sides = self._of_pattern(query) if query.pattern else self._of_task(query)
        read = [self._read([ids for ids, _ in side[:MOST_RUNS]]) for side in sides]
        step, looked_at = failing_step(*read)
        return ComparedRunsJson(
            since=query.since,  # type: ignore[arg-type]  # the model reads nanos
            until=query.until,  # type: ignore[arg-type]
            task=query.task,
            pattern=query.pattern,
            failing=len(read[0]),
            passing=len(read[1]),
            decided_by=Counter(decider for side in sides for _, decider in side),
            left=sum(max(0, len(side) - MOST_RUNS) for side in sides),
            looked_at=looked_at,
            step=present_failing(step) if step else None,
            examples=[own[at][0].trace_id for own, at in zip(read, step.examples, strict=True)] if step else [],
            unknown={},
        )

    def _stored(self, trace_id: str) -> Trace:
        found = self._queries.trace(trace_id)
        if found is None:
            raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")
        return found

    def _read(self, runs: Sequence[Sequence[str]]) -> list[list[TraceStep]]:
        """The steps of runs that have any, by the ids of their traces."""
        found = list[list[TraceStep]]()
        for first in range(0, len(runs), AT_ONCE):
            some = runs[first : first + AT_ONCE]
            traces = self._queries.traces([trace_id for ids in some for trace_id in ids])
            found += [steps_of(traces[i] for i in ids if i in traces) for ids in some]
        return list(filter(None, found))

    def _of_pattern(self, query: DivergenceQuery) -> tuple[list[_Run], list[_Run]]:
        """Traces with the pattern, and those of its service and agents without it, from the earliest with it on."""
        asked = PatternQuery(query.since, query.until, query.service, query.pattern, "all", query.profile)
        rows = self._patterns(asked).rows
        if not rows:
            raise NotFoundError(f"no pattern {query.pattern[:64]!r} is known in this time, or its errors are all gone")
        every = TraceQuery(
            Confidence.of(query.profile), MOST_LISTED, rows[0].service, since=query.since, until=query.until
        )
        failing = self._traces(replace(every, pattern=query.pattern))
        if len(failing) == MOST_LISTED:
            every = replace(every, since=failing[-1].received)
        having = {row.trace_id for row in failing}
        agents = rows[0].agents[:MOST_AGENTS] or ("",)
        passing = {
            row.trace_id: row
            for agent in agents
            for row in self._traces(replace(every, agent=agent))
            if row.trace_id not in having and _is_over(row)
        }
        latest = sorted(passing.values(), key=lambda row: (-row.received, row.trace_id))
        return _alone(failing), _alone(latest)

    def _of_task(self, query: DivergenceQuery) -> tuple[list[_Run], list[_Run]]:
        """Sessions of the task, a trace without one as its own, by whether they fail or pass."""
        every = TraceQuery(
            Confidence.of(query.profile), MOST_LISTED, query.service, since=query.since, until=query.until,
            task=query.task, task_keys=self._measures.task_keys,
        )  # fmt: skip
        sessions = defaultdict[tuple[str, str], list[TraceRow]](list)
        for row in filter(_is_over, self._traces(every)):
            sessions[row.service, row.session_id or row.trace_id].append(row)
        said = agreed(self._labels.find(SessionLabel, LabelQuery(MOST_LABELS, service=query.service)))
        scored = self._outcomes.of_sessions(query.service)
        measured = self._measured(query)
        failing, passing = list[_Run](), list[_Run]()
        for place, rows in sessions.items():
            passes: bool | None = not any(row.errors.get(Severity.HIGH) for row in rows)
            decider = "errors"
            if place in measured:
                passes, decider = measured[place]
            if place in scored:
                passes, decider = scored[place], "scores"
            if place in said:
                passes, decider = (label.good if (label := said[place]) else None), "labels"
            if passes is None:  # people, or scores, contradict each other
                continue
            (passing if passes else failing).append(([row.trace_id for row in rows], decider))
        return failing, passing

    def _measured(self, query: DivergenceQuery) -> dict[tuple[str, str], tuple[bool, str]]:
        """Which sessions of the task succeeded, by the first pack that says so of each, and the pack's name."""
        found: dict[tuple[str, str], tuple[bool, str]] = {}
        for pack in self._measures.packs:
            if pack.success is None or pack.unit != "session":
                continue
            for simulated in (False, True):
                asked = MeasureQuery(
                    query.since, query.until, pack.name, service=query.service, task=query.task, simulated=simulated
                )
                for one in self._measures.sessions(pack, asked)[0]:
                    value = one.measures.get(pack.success.judge)
                    if value is not None and value.value is not None and not one.invalid:
                        found.setdefault((one.service, one.session_id), (value.value >= 1, pack.name))
        return found


_Run = tuple[Sequence[str], str]
"""The ids of a run's traces, and what decided whether it passes."""


def _is_over(row: TraceRow) -> bool:
    return row.judged and row.state in _OVER


def _alone(rows: Iterable[TraceRow]) -> list[_Run]:
    return [([row.trace_id], "pattern") for row in rows]
