"""Errors of one trace, and one error by any id under which it was ever shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading, places
from tracejury.collector.store.scope import Scope
from tracejury.judges.grouping import group
from tracejury.judges.measures.error_labels import label_of, labels_on
from tracejury.processors.trace_outline import TraceOutline
from tracejury.schemas.agent_errors import AgentError, summary
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.reader import Confidence, ErrorView, LocatedError
from tracejury.schemas.trajectory import Trace


def errors_of_trace(
    trace: Trace | TraceOutline, findings: Iterable[Finding], least: float, annotations: Iterable[Annotation] = ()
) -> list[LocatedError]:
    """The errors that these findings make, those of at least that confidence, in order of place.

    `findings`: all that stand, so that the errors are those of lists; `annotations`: all that hold of the trace.
    """
    errors = group(findings, [run.id for run in trace.runs])
    labels = labels_on(map(summary, errors), annotations)
    return labelled(located_errors(trace, [error for error in errors if error.confidence() >= least], least), labels)


def labelled(errors: Iterable[LocatedError], labels: Mapping[str, Sequence[Annotation]]) -> list[LocatedError]:
    """The errors with what people say of them; `labels`: as of `labels_on`."""
    return [replace(one, label=label_of(labels.get(one.error.id, ()))) for one in errors]


def located_errors(trace: Trace | TraceOutline, errors: Iterable[AgentError], least: float) -> list[LocatedError]:
    """Errors of the trace with service, agent, and the severity for that confidence."""
    agents = {run.id: run.name for run in trace.runs}
    return [
        LocatedError.of(error, trace.trace_id, trace.service, agents.get(error.lead.agent_run_id, ""), least)
        for error in errors
    ]


def stored_error(scope: Scope, some_id: str, confidence: Confidence) -> ErrorView | None:
    """The error that has this id, had it once, or holds the finding of this id; else it as its findings were.

    None where no such id is stored.
    """
    store, tenant = scope.store, scope.tenant
    errors = StoredErrors(store, tenant)
    trace_id, named = errors.named(some_id)
    trace_ids = sorted(StoredJudging(store, tenant).joined([trace_id]).get(trace_id, {trace_id}))
    loaded = StoredReading(store, tenant).load_findings(trace_ids) if named else {}
    findings = {finding.id: finding for found in loaded.values() for finding in found}
    holding = errors.holding(trace_ids, named, confidence)
    if holding:
        located = min(holding, key=lambda h: (h.error.id != some_id, _place(h, named)))
        return ErrorView(located, [findings[i] for i in located.error.findings if i in findings])
    gone = group((findings[i] for i in named if i in findings), ())
    if not gone:
        return None
    names = places(scope, trace_ids)
    lead = gone[0].lead
    service, agent = names.get((lead.trace_id, ""), ""), names.get((lead.trace_id, lead.agent_run_id), "")
    located = LocatedError.of(gone[0], lead.trace_id, service, agent if lead.agent_run_id else "")
    return ErrorView(located, gone[0].findings)


def _place(located: LocatedError, named: list[str]) -> int:
    """The place of the first finding of the error among those that were named."""
    return min(named.index(i) for i in located.error.findings if i in named)
