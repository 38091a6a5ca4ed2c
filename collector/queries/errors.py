"""Errors of one trace, and one error by any id under which it was ever shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.reading import StoredReading, places
from tracejury.collector.store.scope import Scope
from tracejury.judges.causes import cause_of
from tracejury.judges.measures.error_labels import label_of, labels_on
from tracejury.processors.trace_outline import TraceOutline
from tracejury.schemas.agent_errors import AgentError, ErrorSummary, in_place, summary
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.queries.reader import Confidence, ErrorView, LocatedError
from tracejury.schemas.trajectory import Trace


def errors_of_trace(
    trace: Trace | TraceOutline,
    errors: Iterable[ErrorSummary],
    least: float,
    annotations: Iterable[Annotation] = (),
) -> list[LocatedError]:
    """The errors of at least that confidence, in order of place.

    `errors`: all that hold in the trace; `annotations`: all that hold of it.
    """
    own = in_place(errors, (run.id for run in trace.runs))
    labels = labels_on(own, annotations)
    return labelled(located_errors(trace, [error for error in own if error.confidence >= least], least), labels)


def labelled(errors: Iterable[LocatedError], labels: Mapping[str, Sequence[Annotation]]) -> list[LocatedError]:
    """The errors with what people say of them; `labels`: as of `labels_on`."""
    return [replace(one, label=label_of(labels.get(one.error.id, ()))) for one in errors]


def located_errors(trace: Trace | TraceOutline, errors: Iterable[ErrorSummary], least: float) -> list[LocatedError]:
    """Errors of the trace with service, agent, and the severity for that confidence."""
    agents = {run.id: run.name for run in trace.runs}
    return [
        LocatedError(
            error, error.severity(least), trace.trace_id, trace.service, agents.get(error.agent_run_id, ""), least=least
        )
        for error in errors
    ]


def stored_error(scope: Scope, some_id: str, confidence: Confidence) -> ErrorView | None:
    """The error that has this id, had it once, or holds the finding of this id; else it as its findings were.

    None where no such id is stored.
    """
    store, tenant = scope.store, scope.tenant
    errors = StoredErrors(store, tenant)
    trace_id, named = errors.named(some_id)
    trace_ids = sorted(StoredJoins(store, tenant).with_partners(trace_id))
    loaded = StoredReading(store, tenant).load_findings(trace_ids) if named else {}
    findings = {finding.id: finding for found in loaded.values() for finding in found}
    holding = errors.holding(trace_ids, named, confidence)
    if holding:
        located = min(holding, key=lambda h: (h.error.id != some_id, _place(h, named)))
        return ErrorView(located, [findings[i] for i in located.error.findings if i in findings])
    own = [findings[i] for i in named if i in findings]
    if not own:
        return None
    was = errors.gone(trace_id, some_id) or summary(AgentError(cause_of(own[0]), tuple(own)))
    names = places(scope, trace_ids)
    service, agent = names.get((was.trace_id, ""), ""), names.get((was.trace_id, was.agent_run_id), "")
    located = LocatedError(was, was.severity(), was.trace_id, service, agent if was.agent_run_id else "")
    return ErrorView(located, [findings[i] for i in was.findings if i in findings])


def _place(located: LocatedError, named: list[str]) -> int:
    """The place of the first finding of the error among those that were named."""
    return min(named.index(i) for i in located.error.findings if i in named)
