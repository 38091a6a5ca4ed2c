"""The runs that people reviewed because the label queue drew them, with their facts and labels. All of it blocks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tracejury.collector.queries.reader import Labels
from tracejury.collector.store.client import Store
from tracejury.collector.store.derived.facts import ErrorScope, Fact, FactError, FactKey, Standing
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.scope import TENANT, Scope
from tracejury.judges.measures.people import said_of_run, seen_errors
from tracejury.schemas.annotations import Review
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.rates import Population
from tracejury.schemas.taxonomy import Dimension

from .calibration import ENOUGH, Calibration, ReviewedRun, UnseenStrata, calibration, refusal, too_few
from .question import Question
from .sampling_frame import frame, unseen

_PAGE: Final = 500

_FACTS: Final = f"""
SELECT TraceId, RunId, Hour, At, Service, Version, Session, Agent, Role, Model, Known, Turns, Detectors, Judges, Both,
    Errors.Judge, Errors.Llm, Errors.Scopes, Errors.Dimensions, Errors.Taxonomy, Errors.Category, Errors.Low,
    Errors.Medium, Errors.High, Errors.Tool, Errors.Turn, Errors.Pattern, Parts
FROM run_facts FINAL
WHERE {TENANT} AND Unit = 'run' AND At >= {{since:UInt64}} AND At < {{until:UInt64}}
    AND TraceId IN {{trace_ids:Array(String)}}
"""


class LabelCalibration:
    """Calibrates rates by the current labels. `labels`: those of the tenant that the questions are about."""

    def __init__(self, store: Store, labels: Labels) -> None:
        self._store, self._labels = store, labels

    def __call__(self, question: Question) -> Calibration:
        """The calibration of a question. Raises RetryableError, StoreError."""
        if refused := self.refused(question):
            return refused
        return calibration(question, *self.sample(question))

    def refused(self, question: Question, least: int = ENOUGH) -> Calibration | None:
        """That without a figure where nothing can be told, without a look at the runs; None where it may be.

        `least`: so many reviewed runs are needed.
        """
        if refusal(question):
            return calibration(question, ())
        # Strata are made of all runs of that time; where hardly anybody has reviewed anything, that is no use.
        reviewed = len(self._labels.find(Review, LabelQuery(least)))
        return too_few(reviewed, least) if reviewed < least else None

    def sample(self, question: Question) -> tuple[Iterator[ReviewedRun], UnseenStrata]:
        """The drawn and reviewed runs of the question's time, and the strata of what is asked that have none."""
        strata = frame(self._store, question)
        weights = {run: one.size / len(one.drawn) for one in strata for run in one.drawn}
        return self._reviewed_runs(question, weights), unseen(self._store, question, strata)

    def _reviewed_runs(self, q: Question, weights: Mapping[tuple[str, str], float]) -> Iterator[ReviewedRun]:
        ids = sorted({trace_id for trace_id, _ in weights})
        for first in range(0, len(ids), _PAGE):
            bounds = {"since": q.since, "until": q.until, "trace_ids": ids[first : first + _PAGE]}
            facts = [_fact(row) for row in Scope(self._store, q.tenant).select(_FACTS, **bounds)]
            facts = [f for f in facts if (f.key.trace_id, f.key.run_id) in weights]
            said = self._labels.of_traces(sorted({part for f in facts for part in f.parts}))
            labelled = sorted({f.key.trace_id for f in facts if not said.keys().isdisjoint(f.parts)})
            found = StoredErrors(self._store, q.tenant).under(labelled) if labelled else {}
            for fact in facts:
                own = [a for part in fact.parts if part in said for a in said[part].annotations]
                errors = seen_errors(said_of_run(fact.key.run_id, own), found.get(fact.key.trace_id, ()))
                yield ReviewedRun(fact, errors, weights[fact.key.trace_id, fact.key.run_id])


def _fact(row: Sequence[Any]) -> Fact:
    """From a row of `_FACTS`."""
    trace_id, run_id, hour, at, service, version, session, agent, role, model, known, turns = row[:12]
    weights, columns, parts = row[12:15], row[15:27], row[27]
    populations = (Population.DETECTORS, Population.JUDGES, Population.BOTH)
    return Fact(
        key=FactKey("run", hour, trace_id, run_id),
        at=at,
        service=service,
        version=version,
        session=session,
        agent=agent,
        role=role,
        model=model,
        recognised=bool(known),
        turns=turns,
        standings={p: Standing(w) for p, w in zip(populations, weights, strict=True)},
        errors=tuple(map(_error, zip(*columns, strict=True))),
        parts=tuple({trace_id, *parts}),
    )


def _error(values: Sequence[Any]) -> FactError:
    judge, llm, scopes, dimensions, taxonomy, category, low, medium, high, tool, turn, pattern = values
    return FactError(
        judge=judge,
        llm=bool(llm),
        scopes=ErrorScope(scopes),
        dimensions=tuple(map(Dimension, dimensions)),
        taxonomy=taxonomy,
        category=category,
        confidences=(low, medium, high),
        tool=tool,
        turn=None if turn < 0 else turn,
        pattern=pattern,
    )
