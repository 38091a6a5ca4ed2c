"""The client of a running collector's API: one method a question, errors by what the user should do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tracejury.schemas.filters import an_id
from tracejury.schemas.text.naming import CUT
from tracejury.schemas.wire.alerts import AlertsJson
from tracejury.schemas.wire.backups import BackupJson
from tracejury.schemas.wire.base import WireModel
from tracejury.schemas.wire.call_graph import CallGraphJson
from tracejury.schemas.wire.clusters import ClustersJson, NamedErrorsJson, UnnamedGroupJson, UnnamedGroupPage
from tracejury.schemas.wire.divergence import ComparedRunsJson, ComparedTracesJson
from tracejury.schemas.wire.doctor import DiagnosisJson, DoctorPage
from tracejury.schemas.wire.errors import ErrorDetailJson, ErrorJson, LocatedFindingJson
from tracejury.schemas.wire.explain import TermJson
from tracejury.schemas.wire.labels import (
    LABEL_MODELS,
    AgreementPage,
    AnnotationJson,
    DeletedLabelsJson,
    ImportedJson,
    QualityPage,
    QueueItemJson,
    QueuePage,
)
from tracejury.schemas.wire.lists import SessionJson, SessionRowJson
from tracejury.schemas.wire.measures import MeasuresJson
from tracejury.schemas.wire.patterns import PatternJson, PatternsJson
from tracejury.schemas.wire.performance import PerformanceJson
from tracejury.schemas.wire.rates import RatesComparisonJson, RatesJson
from tracejury.schemas.wire.receipts import DeletedJson, ReceiptJson, ReceiptPage
from tracejury.schemas.wire.saved_views import SavedViewJson, SavedViewPage
from tracejury.schemas.wire.scores import GivenScoreJson, TakenScoresJson
from tracejury.schemas.wire.traces import (
    AgentRunJson,
    ArchitectureJson,
    ArchitecturePage,
    ClearedJson,
    JudgedJson,
    JudgedPage,
    LedgerPage,
    PartedTraceJson,
    SpanTurnsJson,
    TraceJson,
    TraceRowJson,
)

from .client_asking import ApiConnection
from .client_requests import (
    PAGE,
    Parameters,
    check_encodable,
    in_path,
    of_architecture,
    of_errors,
    of_page,
    refuse_unknown,
)
from .joined_parts import add_part

JUDGE_PAGE = 20  # small, so that the progress moves and no request runs into the time-out


class ApiClient(ApiConnection):
    """Asks the API at `url`; a context manager. `timeout` in seconds, for each read; `http`: asked as it is."""

    def trace(self, trace_id: str, *, profile: str = "") -> TraceJson:
        """One trace, rebuilt; a `PartedTraceJson` with all parts where it is large. NotFoundError for an unknown id."""
        path, params = f"/api/traces/{in_path(trace_id)}", {"profile": profile}
        answer = self._ask("GET", path, params)
        while (part := answer.get("part")) and part["next"]:
            add_part(answer, self._ask("GET", path, {**params, "cursor": part["next"]}))
        return self._parsed(PartedTraceJson if "part" in answer else TraceJson, answer)

    def part(self, trace_id: str, asked: Mapping[str, str]) -> PartedTraceJson:
        """A part of one trace; `asked`: parameters of /api/traces/{id}, one at least. Raises as `trace`."""
        return self._get(PartedTraceJson, f"/api/traces/{in_path(trace_id)}", asked)

    def turns_around(self, trace_id: str, span_id: str) -> list[AgentRunJson]:
        """The agent run of a span with the span's turn and those next to it; none: it is in no run.

        Raises NotFoundError: no such trace, or it has no such span.
        """
        path = f"/api/traces/{in_path(trace_id)}/spans/{in_path(span_id)}/turns"
        return self._get(SpanTurnsJson, path, {}).agent_runs

    def first_part(self, trace_id: str) -> PartedTraceJson:
        """One trace with its first agent run alone. Raises as `trace`."""
        return self.part(trace_id, {"limit": "1"})

    def whole_trace_id(self, given: str) -> str:
        """The id of the trace whose id is, or alone begins like, `given`; ConfigError where several do."""
        part, prefix = self.first_part(given), an_id(given).removesuffix(CUT)
        return next(trace_id for trace_id in part.trace_ids if trace_id.startswith(prefix))

    def received(self, trace_id: str) -> Iterator[bytes]:
        """The spans and logs of a trace as OTLP/JSON, in pieces. Raises NotFoundError."""
        return self.stream(f"/api/traces/{in_path(trace_id)}/otlp", {})

    def delete_trace(self, trace_id: str, *, labels: bool = False) -> DeletedJson:
        """Delete one trace with those that are one run with it. Raises NotFoundError for an unknown id."""
        path, params = f"/api/traces/{in_path(trace_id)}", {"labels": "true"} if labels else {}
        return self._send(DeletedJson, "DELETE", path, {}, params)

    def delete_traces(
        self, *, user: str = "", session: str = "", service: str = "", before: str = "", labels: bool = False
    ) -> DeletedJson:
        """Delete what is a user's or a session's, or arrived of a service before then (ISO 8601)."""
        body = {"user": user, "session": session, "service": service, "before": before, "labels": labels}
        return self._send(DeletedJson, "POST", "/api/delete", body)

    def receipts(self, limit: int) -> list[ReceiptJson]:
        """The latest receipts of deletions."""
        return self._get(ReceiptPage, "/api/receipts", {"limit": str(limit)}).items

    def backup(self, name: str = "") -> BackupJson:
        """Have the collector make a backup in its own folder. Raises RetryableError: it cannot now."""
        return self._send(BackupJson, "POST", "/api/backups", {"name": name})

    def traces(self, filters: Parameters, limit: int) -> tuple[list[TraceRowJson], bool]:
        """Traces, in the asked order, and whether there are more than `limit`."""
        return self._list(TraceRowJson, "/api/traces", filters, limit)

    def trace_page(self, filters: Parameters, limit: int, cursor: str) -> tuple[list[TraceRowJson], str]:
        """At most `limit` traces after `cursor` ("": the first ones), and the cursor of those that follow, if any."""
        return self._page(TraceRowJson, "/api/traces", filters, limit, cursor)

    def sessions(self, filters: Parameters, limit: int) -> tuple[list[SessionRowJson], bool]:
        """Sessions, in the asked order, and whether there are more than `limit`."""
        return self._list(SessionRowJson, "/api/sessions", filters, limit)

    def session(self, session_id: str, *, service: str = "", profile: str = "") -> SessionJson:
        """One session as a conversation. Raises NotFoundError for an unknown id."""
        return self._get(SessionJson, f"/api/sessions/{in_path(session_id)}", {"service": service, "profile": profile})

    def errors(self, filters: Parameters, limit: int) -> tuple[list[ErrorJson], bool]:
        """Errors, latest first, and whether there are more than `limit`. `filters` are those of /api/errors.

        Of one span they say its role, as `SpanErrorJson`; NotFoundError for an unknown one.
        """
        model, path, others = of_errors(filters)
        found, more = self._list(model, path, others, limit)
        return [*found], more

    def error_page(self, filters: Parameters, limit: int, cursor: str) -> tuple[list[ErrorJson], str]:
        """Errors as `trace_page` gives traces."""
        model, path, others = of_errors(filters)
        found, following = self._page(model, path, others, limit, cursor)
        return [*found], following

    def error(self, error_id: str, *, profile: str = "") -> ErrorDetailJson:
        """One error with its findings. Raises NotFoundError for an unknown id."""
        return self._get(ErrorDetailJson, f"/api/errors/{in_path(error_id)}", {"profile": profile})

    def findings(self, filters: Parameters, limit: int) -> tuple[list[LocatedFindingJson], bool]:
        """Findings, as `errors`."""
        return self._list(LocatedFindingJson, "/api/findings", filters, limit)

    def errors_after(self, filters: Parameters, after: str) -> tuple[list[ErrorJson], str]:
        """A page of errors first seen after `after` (ISO 8601, "now" or a cursor), earliest first, and its cursor."""
        model, path, others = of_errors(filters)
        page = self._ask("GET", path, {**others, "after": after, "limit": str(PAGE)})
        return [self._parsed(model, item) for item in page["items"]], page["next"] or ""

    def ledger(self, filters: Mapping[str, str], limit: int) -> LedgerPage:
        """Up to `limit` last words of judges, latest first, with what comes beside them; `next` is null at the end.

        Raises NotFoundError for an unknown trace.
        """
        page = self._get(LedgerPage, "/api/ledger", of_page(filters, limit))
        while page.next and len(page.items) < limit:
            more = self._get(LedgerPage, "/api/ledger", of_page(filters, limit - len(page.items), page.next))
            page = page.model_copy(update={"items": page.items + more.items, "next": more.next})
        return page

    def doctor(self, *, trace: str = "", service: str = "") -> list[DiagnosisJson]:
        """The diagnosis of a trace or a service, or one a service of the last day.

        Raises NotFoundError for an unknown trace or service.
        """
        return self._get(DoctorPage, "/api/doctor", {"trace": trace, "service": service}).items

    def explain(self, term: str, service: str) -> TermJson:
        """A built-in detector, with its record on a service. Raises NotFoundError where either is unknown."""
        return self._get(TermJson, f"/api/explain/{in_path(term)}", {"service": service})

    def rates(self, filters: Parameters) -> RatesJson:
        """Error rates; `filters` are the parameters of /api/rates. Raises ConfigError for what means nothing."""
        return self._get(RatesJson, "/api/rates", filters)

    def compare_rates(self, filters: Parameters, to: str) -> RatesComparisonJson:
        """Error rates compared to others; `to` as /api/rates/compare takes it. Raises as `rates`."""
        found = self._get(RatesComparisonJson, "/api/rates/compare", {**filters, "to": to})
        name, _, value = to.partition("=")
        refuse_unknown(filters, found.rates.unknown)
        refuse_unknown({**filters, name: value}, found.to.unknown)
        return found

    def performance(self, filters: Parameters) -> PerformanceJson:
        """Latency, tokens, cost, failures; `filters`: parameters of /api/performance. Raises ConfigError as `rates`."""
        return self._get(PerformanceJson, "/api/performance", filters)

    def measures(self, filters: Mapping[str, str]) -> MeasuresJson:
        """Measures of packs; `filters` are the parameters of /api/measures. Raises ConfigError as `rates`."""
        found = self._get(MeasuresJson, "/api/measures", filters)
        name, _, value = filters.get("compare_to", "").partition("=")
        refuse_unknown({name: value}, found.unknown_compared)
        return found

    def patterns(self, filters: Parameters) -> PatternsJson:
        """Patterns of errors; `filters` are the parameters of /api/patterns. Raises ConfigError as `rates`."""
        return self._get(PatternsJson, "/api/patterns", filters)

    def pattern(self, pattern: str, filters: Parameters) -> PatternJson:
        """One pattern. Raises NotFoundError where none of that id is known in this time."""
        return self._get(PatternJson, f"/api/patterns/{in_path(pattern)}", filters)

    def alerts(self, limit: int) -> AlertsJson:
        """Alert rules with their states now, and the latest messages."""
        return self._get(AlertsJson, "/api/alerts", {"limit": str(limit)})

    def call_graph(self, filters: Parameters, trace_id: str = "") -> CallGraphJson:
        """Who calls whom: of one trace, else by the parameters of /api/graph. Raises NotFoundError, ConfigError."""
        path = f"/api/traces/{in_path(trace_id)}/graph" if trace_id else "/api/graph"
        return self._get(CallGraphJson, path, filters)

    def compare_traces(self, first: str, second: str) -> ComparedTracesJson:
        """Two traces of one question. Raises NotFoundError, ConfigError where several traces have an id like that."""
        return self._get(ComparedTracesJson, "/api/compare/traces", {"first": first, "second": second})

    def compare_runs(self, filters: Parameters) -> ComparedRunsJson:
        """Where failing runs do otherwise; `filters` are the parameters of /api/compare/runs. Raises as `pattern`."""
        return self._get(ComparedRunsJson, "/api/compare/runs", filters)

    def clusters(self, filters: Parameters) -> ClustersJson:
        """Clusters of errors; `filters` are the parameters of /api/clusters. Raises ConfigError as `rates`."""
        return self._get(ClustersJson, "/api/clusters", filters)

    def cluster_units(self, filters: Parameters) -> list[UnnamedGroupJson]:
        """What a model is to name, and the types that have a name. Raises as `clusters`."""
        return self._get(UnnamedGroupPage, "/api/clusters/units", filters).items

    def name_errors(self, name: str, error_ids: Sequence[str]) -> int:
        """Give up to 1,000 errors the name of their type; how many of them there are."""
        body = {"name": name, "error_ids": list(error_ids)}
        return self._send(NamedErrorsJson, "POST", "/api/clusters/names", body).named

    def architectures(self) -> list[ArchitectureJson]:
        """The description that holds of each service."""
        return self._get(ArchitecturePage, "/api/architectures").items

    def architecture(self, service: str) -> ArchitectureJson:
        """The description that holds of a service. Raises NotFoundError where there is none."""
        return self._get(ArchitectureJson, of_architecture(service))

    def architecture_versions(self, service: str) -> list[ArchitectureJson]:
        """The versions that were derived, edited and cleared, latest first."""
        return self._get(ArchitecturePage, of_architecture(service), {"history": "true"}).items

    def edit_architecture(self, service: str, text: str) -> ArchitectureJson:
        """Put a description in the place of the derived one. Raises ConfigError for one that is empty or too long."""
        return self._send(ArchitectureJson, "PUT", of_architecture(service), {"text": text})

    def clear_architecture(self, service: str) -> ClearedJson:
        """Let the derived description hold again."""
        return self._send(ClearedJson, "DELETE", of_architecture(service), {})

    def judge(self, named: Mapping[str, str]) -> Iterator[JudgedJson]:
        """Judge again one `trace_id`, a `session` (of a `service`), or all `since` a time (ISO 8601)."""
        cursor: str | None = ""
        while cursor is not None:
            page = self._send(JudgedPage, "POST", "/api/judge", {**named, "cursor": cursor, "limit": JUDGE_PAGE})
            yield from page.items
            cursor = page.next

    def saved_views(self) -> list[SavedViewJson]:
        """All saved views of the project, by name."""
        return self._get(SavedViewPage, "/api/views").items

    def saved_view(self, name: str) -> SavedViewJson:
        """The view of a name. Raises NotFoundError where there is none."""
        return self._get(SavedViewJson, f"/api/views/{in_path(name)}")

    def save_view(self, name: str, link: str) -> SavedViewJson:
        """Save a page (its address without the host) under a name. Raises ConfigError for what is no such page."""
        return self._send(SavedViewJson, "PUT", f"/api/views/{in_path(name)}", {"link": link})

    def delete_view(self, name: str) -> SavedViewJson:
        """Delete the view of a name. Raises NotFoundError where there is none."""
        return self._send(SavedViewJson, "DELETE", f"/api/views/{in_path(name)}", {})

    def labels(self, kind: str, filters: Mapping[str, str], limit: int) -> tuple[list[WireModel], bool]:
        """Labels of a kind (by its plural), latest change first, and whether there are more than `limit`."""
        return self._list(LABEL_MODELS[kind], f"/api/{kind}", filters, limit)

    def add_labels(self, kind: str, items: Sequence[Mapping[str, Any]]) -> list[WireModel]:
        """Store labels of a kind (by its plural), all or none; what holds then.

        Raises:
            ConfigError: one cannot be said. NotFoundError: what one is about is not stored.
        """
        check_encodable(items)
        answer = self._ask("POST", f"/api/{kind}", json={"items": list(items)})
        return [self._parsed(LABEL_MODELS[kind], item) for item in answer["items"]]

    def import_labels(self, items: Sequence[Mapping[str, Any]], *, only_new: bool) -> ImportedJson:
        """Take labels from elsewhere, each for itself; at most 100, of at most 60 KB in all, or one."""
        return self._send(ImportedJson, "POST", "/api/labels/import", {"items": list(items), "only_new": only_new})

    def export_labels(self, filters: Mapping[str, str]) -> Iterator[bytes]:
        """All labels as JSON lines, in pieces."""
        return self.stream("/api/labels/export", filters)

    def withdraw_annotation(self, annotation_id: str, trace: str = "") -> AnnotationJson:
        """Take an annotation back. Raises NotFoundError, ConfigError where several traces have one of that id."""
        return self._send(AnnotationJson, "DELETE", f"/api/annotations/{in_path(annotation_id)}", {}, {"trace": trace})

    def delete_labels(self, named: Mapping[str, str]) -> int:
        """Delete labels for good, by id, trace, run and annotator; how many they were."""
        return self._send(DeletedLabelsJson, "POST", "/api/labels/delete", dict(named)).deleted

    def label_queue(self, filters: Mapping[str, str]) -> list[QueueItemJson]:
        """The runs or sessions to label next."""
        return self._get(QueuePage, "/api/labels/queue", filters).items

    def label_quality(self, filters: Mapping[str, str]) -> QualityPage:
        """How judges fare against labels."""
        return self._get(QualityPage, "/api/labels/quality", filters)

    def label_agreement(self, filters: Mapping[str, str]) -> AgreementPage:
        """How measures go with preferences."""
        return self._get(AgreementPage, "/api/labels/agreement", filters)

    def scores(self, filters: Parameters, limit: int) -> tuple[list[GivenScoreJson], bool]:
        """Scores that others gave, latest arrival first, and whether there are more than `limit`."""
        return self._list(GivenScoreJson, "/api/scores", filters, limit)

    def add_scores(self, items: Sequence[Mapping[str, Any]]) -> TakenScoresJson:
        """Give up to 1,000 scores, all or none. Raises ConfigError: one cannot be said."""
        check_encodable(items)
        return self._send(TakenScoresJson, "POST", "/api/scores", {"items": list(items)})
