"""The API's reader over the store: a trace is rebuilt from its stored spans, so what it shows is what was judged.

A session is its conversation, with errors, findings and verdicts at the exchange that they are of.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, islice

from tracejury.collector.store.alerts import StoredAlerts
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.call_graphs import StoredCallGraphs
from tracejury.collector.store.derived.rederiving import derive_again
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.joins import StoredJoins
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.ledger import StoredLedger
from tracejury.collector.store.lists import SessionLists, TraceLists
from tracejury.collector.store.lists.conversation import pinned, together
from tracejury.collector.store.lists.prefixes import session_ids_from, trace_ids_from
from tracejury.collector.store.performance import StoredPerformance
from tracejury.collector.store.pipeline_stats import StoredPipelineStats
from tracejury.collector.store.reading import StoredReading, places
from tracejury.collector.store.receipts import StoredReceipts
from tracejury.collector.store.rule_calibrations import TenantCalibrations
from tracejury.collector.store.saved_views import SavedViews
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.scores import StoredScores
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.measures.error_labels import labels_on
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.findings import LIVE, Finding
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.labels import PreferenceAnswer
from tracejury.schemas.queries.listing import Facets, SessionRow
from tracejury.schemas.queries.measures import MeasuredPack, MeasureQuery
from tracejury.schemas.queries.reader import (
    Confidence,
    ErrorQuery,
    ErrorView,
    LocatedError,
    LocatedFinding,
    Received,
    TraceQuery,
    TraceRow,
    TraceView,
)
from tracejury.schemas.receipts import DeletionReceipt
from tracejury.schemas.verdicts import Verdict, session_subject_id

from .clusters import ErrorClusters
from .divergence import Divergences
from .errors import errors_of_trace, labelled, stored_error
from .known_names import unknown_names
from .measures import StoredMeasures
from .patterns import CalibratePattern, Patterns
from .preferences import preference_answer
from .progress import progress_of
from .reader import Labels, Rates
from .score_outcomes import ScoreOutcomes
from .task_trials import TrialsOfTask, task_trials
from .trace.stored import StoredTraceQueries
from .unproven import marked


class StoredReader:
    """Answers about one tenant; every method blocks. `clock` gives unix nanos."""

    def __init__(
        self,
        store: SharedStore,
        config: AssemblerConfig,
        labels: Labels,
        rates: Rates,
        calibrations: TenantCalibrations,
        measures: StoredMeasures,
        calibrate_pattern: CalibratePattern,
        clock: Callable[[], int],
        tenant: str = "",
    ) -> None:
        self.tenant = tenant
        self._store = store
        self._scope, self._reading = Scope(store, tenant), StoredReading(store, tenant)
        self.ledger = StoredLedger(store, tenant)
        self.saved_views = SavedViews(store, tenant)
        self.architectures = StoredArchitectures(store, tenant, clock=clock)
        self.trace_queries = StoredTraceQueries(store, config, clock, tenant=tenant)
        self.labels, self.rates, self.calibrations, self.measures = labels, rates, calibrations, measures
        self.alerts = StoredAlerts(store, tenant)
        self.performance = StoredPerformance(store, tenant)
        self.call_graphs = StoredCallGraphs(store, tenant)
        self.scores = StoredScores(store, tenant)
        self.pipeline_stats = StoredPipelineStats(store, tenant)
        self.patterns = Patterns(self._scope, labels, clock, calibrate_pattern)
        self.score_outcomes = outcomes = ScoreOutcomes(self.scores, labels)
        self.divergences = Divergences(self.trace_queries, self.traces, self.patterns.ask, labels, measures, outcomes)
        again = partial(derive_again, store, tenant)
        self.clusters = ErrorClusters(self._scope, self.trace_queries.trace, again, clock)

    def traces(self, query: TraceQuery) -> Sequence[TraceRow]:
        """Up to `limit` traces."""
        return self._reading.find_traces(query)

    def count_unjudged(self, since: int = 0, service: str = "", trace_id: str = "") -> int:
        """How many traces have spans that no judging has seen; empty arguments do not narrow."""
        return TraceLists(self._store, self.tenant).count_unjudged(since, service, trace_id)

    def waiting(self) -> tuple[int, int]:
        """How many traces wait to be judged, and when the oldest of them arrived (unix nanos; 0: none waits)."""
        return TraceLists(self._store, self.tenant).waiting()

    def sessions(self, query: TraceQuery) -> Sequence[SessionRow]:
        """Up to `limit` sessions that hold a trace of the query."""
        return SessionLists(self._store, self.tenant).find(query)

    def session(self, session_id: str, confidence: Confidence, service: str = "") -> SessionView | None:
        """The conversation, of one service or ("") of all that name the id; None when there is none."""
        view = stored_session(self._scope, session_id, confidence, service)
        if view is None:
            return None
        found = self._labelled([error for exchange in view.exchanges for error in exchange.errors])
        errors = iter(marked(found, self.calibrations))
        return replace(view, exchanges=[replace(e, errors=list(islice(errors, len(e.errors)))) for e in view.exchanges])

    def session_services(self, session_id: str) -> Sequence[str]:
        """The services that have a session of that id, by name."""
        return SessionLists(self._store, self.tenant).services_of(session_id)

    def session_measures(self, service: str, session_id: str) -> Sequence[Verdict]:
        """The latest verdict of each judge on the session as a whole."""
        return self._reading.load_session_verdicts([session_subject_id(service, session_id)])

    def task_trials(self, pack: MeasuredPack, query: MeasureQuery) -> TrialsOfTask:
        """The trials of the task and time of a query, by cell."""
        return task_trials(self._scope, self.measures, pack, query)

    def preferences(self, since: int, until: int, service: str = "") -> PreferenceAnswer:
        """How measures go with the preferences that people stated in [`since`, `until`)."""
        return preference_answer(self._scope, self.labels, self.measures.packs, since, until, service)

    def facets(self, since: int, until: int = 0, service: str = "") -> Facets:
        """The filter values of traces that arrived in [`since`, `until`); `until` 0: no end."""
        return TraceLists(self._store, self.tenant).facets(since, until, service)

    def services(self, since: int, limit: int) -> Sequence[str]:
        """Up to `limit` services with traces that arrived from `since` (unix nanos) on, latest first; "" for none."""
        return self._reading.find_services(since, limit)

    def unknown_names(self, asked: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Of names to filter by, by kind (`service`, `tool` …), the unknown ones; known ones of each, nearest first."""
        return unknown_names(self._scope, asked, self.measures.task_keys)

    def findings(self, query: ErrorQuery) -> Sequence[LocatedFinding]:
        """Up to `limit` findings that hold now."""
        return marked(self._reading.find_findings(query), self.calibrations)

    def judged_by_others(self, trace_ids: Sequence[str]) -> Sequence[Finding]:
        """The findings of any state of traces that another process has judged, of which nothing older is kept."""
        for trace_id in trace_ids:
            self.trace_queries.forget(trace_id)
        return [f for found in self._reading.load_findings(trace_ids).values() for f in found]

    def errors(self, query: ErrorQuery) -> Sequence[LocatedError]:
        """Up to `limit` errors that hold now."""
        found = marked(StoredErrors(self._store, self.tenant).find(query), self.calibrations)
        return self._labelled(found)

    def error(self, some_id: str, confidence: Confidence) -> ErrorView | None:
        """The error of an id, earlier ones included, or with the finding of that id; None where there is none.

        Without findings that hold it is retracted. Five look-ups, six where people have labelled anything in the trace.
        """
        view = stored_error(self._scope, some_id, confidence)
        if view is None:
            return None
        return replace(view, located=self._labelled(marked([view.located], self.calibrations))[0])

    def error_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of errors, earlier ones included, and of findings that begin so, in order."""
        return StoredErrors(self._store, self.tenant).ids_from(prefix, limit)

    def errors_of(self, findings: Sequence[Finding], confidence: Confidence) -> Sequence[LocatedError]:
        """The errors that any of these findings is of."""
        own = sorted({finding.trace_id for finding in findings})
        joined = StoredJoins(self._store, self.tenant).partners(own)
        trace_ids = sorted({*own, *(trace_id for ids in joined.values() for trace_id in ids)})
        found = StoredErrors(self._store, self.tenant).holding(
            trace_ids, [finding.id for finding in findings], confidence
        )
        return self._labelled(found)

    def count_findings(self, query: ErrorQuery) -> int:
        """How many findings there are, whatever limit the query names."""
        return self._reading.count_findings(query)

    def shown_errors(self, trace_ids: Sequence[str], confidence: Confidence) -> Mapping[str, int]:
        """How many errors a list of traces shows of each; absent: none."""
        found = TraceLists(self._store, self.tenant).errors(trace_ids, confidence)
        return {trace_id: sum(counts.values()) for trace_id, (counts, _) in found.items()}

    def trace(self, trace_id: str, confidence: Confidence) -> TraceView | None:
        """The trace rebuilt from its stored spans, None when there is no such trace."""
        trace = self.trace_queries.trace(trace_id)
        if trace is None:
            return None
        least = confidence.least(trace.conventions)
        found = self._reading.load_findings(trace.trace_ids)
        verdicts = self._reading.load_verdicts(trace.trace_ids)
        live = [f for i in trace.trace_ids for f in found.get(i, ()) if f.state in LIVE]
        said = self.labels.annotations_of(trace.trace_ids)
        errors = StoredErrors(self._store, self.tenant).under(trace.trace_ids)
        return TraceView(
            trace,
            [f for f in live if f.confidence >= least],
            [v for i in trace.trace_ids for v in verdicts.get(i, ())],
            marked(errors_of_trace(trace, chain.from_iterable(errors.values()), least, said), self.calibrations),
        )

    def _labelled(self, errors: Sequence[LocatedError]) -> list[LocatedError]:
        """The errors with what people say of them, among all that hold under their traces."""
        said = self.labels.annotations_of(sorted({one.error.trace_id for one in errors}))
        if not said:
            return list(errors)
        under = StoredErrors(self._store, self.tenant).under(sorted({one.whole for one in errors}))
        holding = [error for own in under.values() for error in own]
        known = {error.id for error in holding}
        gone = [one.error for one in errors if one.error.id not in known]
        return labelled(errors, labels_on([*gone, *holding], said))

    def trace_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of stored traces that begin so, in order."""
        return trace_ids_from(self._scope, prefix, limit)

    def session_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of sessions that begin so, in order."""
        return session_ids_from(self._scope, prefix, limit)

    def received(self, trace_id: str) -> Received | None:
        """The spans and logs of a trace and of the traces joined with it, None where there is none."""
        judging = StoredJudging(self._store, self.tenant)
        rows = judging.load_spans(sorted(judging.joins.with_partners(trace_id)))
        if trace_id not in rows:
            return None
        spans = [span for own, _ in rows.values() for span in own]
        return Received(spans, [record for _, own in rows.values() for record in own])

    def receipts(self, limit: int) -> Sequence[DeletionReceipt]:
        """Up to `limit` receipts of deletions, latest first."""
        return StoredReceipts(self._store, self.tenant).latest(limit)

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Whether such a trace, such a span, or (both given) such a span of that trace is stored."""
        return self._reading.knows(trace_id, span_id)


def stored_session(scope: Scope, session_id: str, confidence: Confidence, service: str = "") -> SessionView | None:
    """The session of one service, or ("") of all that name the id; None where there is none.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    lists, reading = SessionLists(scope.store, scope.tenant), StoredReading(scope.store, scope.tenant)
    rows = lists.rows_of(session_id, service, confidence)
    if not rows:
        return None
    # Rows tell the beginning of a long id.
    whole, said = replace(together(rows), session_id=session_id), lists.exchanges(session_id, service)
    own = {one.trace_id: one.trace_id for one in said}
    parts = own | lists.parts(list(own))
    least = {one.trace_id: confidence.least(one.recognised) for one in said}
    findings: defaultdict[str, list[Finding]] = defaultdict(list)
    for part, found in reading.load_findings(list(parts)).items():
        home = parts[part]
        findings[home] += [f for f in found if f.state in LIVE]
    verdicts: defaultdict[str, list[Verdict]] = defaultdict(list)
    for part, words in reading.load_verdicts(list(parts)).items():
        verdicts[parts[part]] += words
    names, errors = places(scope, parts), StoredErrors(scope.store, scope.tenant).under(list(own))
    exchanges = [
        exchange
        for i, one in ((one.trace_id, one) for one in said)
        for exchange in pinned(one, findings[i], errors.get(i, ()), least[i], verdicts[i], names)
    ]
    services = list(dict.fromkeys(r.service for r in rows))
    measures = reading.load_session_verdicts([session_subject_id(one, session_id) for one in services])
    progress = progress_of(exchanges, measures) if len(services) == 1 else ()
    return SessionView(whole, services, exchanges, max(0, whole.traces - len(said)), measures, progress)
