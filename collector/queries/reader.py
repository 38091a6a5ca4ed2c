"""The queries of API and pages, as protocols; their values are in schemas/queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from tracejury.schemas.annotations import Annotation, HumanScore, Review
from tracejury.schemas.findings import Finding
from tracejury.schemas.llm_rows import Architecture, Source, Spend
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.labels import JudgeQuality, Labelled, LabelQuery, QueueItem, QueueQuery, Stratum
from tracejury.schemas.queries.ledger import JudgedState, LedgerEntry, LedgerQuery
from tracejury.schemas.queries.listing import Facets, SessionRow
from tracejury.schemas.queries.pipeline_stats import Timeliness, VerifierSeen, VersionSeen
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
from tracejury.schemas.rates import RateAnswer, RateComparison, RateQuery, ToolRates
from tracejury.schemas.receipts import DeletionReceipt
from tracejury.schemas.verdicts import Outcome

from .calibrations import Calibrations
from .measures import Measures
from .trace.trace_queries import TraceQueries


class Architectures(Protocol):
    """Descriptions of services' architectures. Every method may block: call it on a thread."""

    def current(self, service: str) -> Architecture | None:
        """The one that holds: the last edited one unless it was cleared, else the last derived one."""

    def all_current(self) -> Sequence[Architecture]:
        """The one that holds of each service, by name of service."""

    def versions(self, service: str) -> Sequence[Architecture]:
        """The versions that were derived, edited and cleared, latest first."""

    def keep(self, service: str, text: str, source: Source) -> Architecture:
        """Keep a version; nothing changes where the last of its source is the same."""

    def clear_edit(self, service: str) -> bool:
        """Let the derived one hold again; whether there was an edited one."""


class Rates(Protocol):
    """Error rates. Every method may block: call it on a thread."""

    def ask(self, query: RateQuery) -> RateAnswer:
        """Rates as they stand now. Raises ConfigError where the query means nothing, RetryableError, StoreError."""

    def calls(self, query: RateQuery) -> ToolRates:
        """Tools by their own calls; filters of findings do not apply. Raises as `ask`."""

    def compare(self, a: RateQuery, b: RateQuery) -> RateComparison:
        """Whether `b` differs from `a`; of one population where neither names one. Raises as `ask`."""


class Reader(Protocol):
    """Answers from the store about one tenant. Every method may block: call it on a thread."""

    @property
    def tenant(self) -> str:
        """The tenant."""

    @property
    def ledger(self) -> Ledger:
        """The ledger of LLM judges, and their cost."""

    @property
    def architectures(self) -> Architectures:
        """The descriptions of services for LLM judges."""

    @property
    def trace_queries(self) -> TraceQueries:
        """The queries of the pages of a trace."""

    @property
    def labels(self) -> Labels:
        """Human labels."""

    @property
    def calibrations(self) -> Calibrations:
        """The confidences of detectors by service."""

    @property
    def rates(self) -> Rates:
        """How often agents fail."""

    @property
    def measures(self) -> Measures:
        """The measures of packs over sessions."""

    @property
    def pipeline_stats(self) -> PipelineStats:
        """Statistics of the pipeline for the overview."""

    def traces(self, query: TraceQuery) -> Sequence[TraceRow]:
        """Up to `limit` traces."""

    def count_unjudged(self, since: int = 0, service: str = "", trace_id: str = "") -> int:
        """How many traces have spans that no judging has seen; empty arguments do not narrow."""

    def sessions(self, query: TraceQuery) -> Sequence[SessionRow]:
        """Up to `limit` sessions that hold a trace of the query."""

    def session(self, session_id: str, confidence: Confidence, service: str = "") -> SessionView | None:
        """The conversation, of one service or ("") of all that name the id; None when there is none."""

    def facets(self, since: int, until: int = 0, service: str = "") -> Facets:
        """The filter values of traces that arrived in [`since`, `until`); `until` 0: no end."""

    def services(self, since: int, limit: int) -> Sequence[str]:
        """Up to `limit` services with traces that arrived from `since` (unix nanos) on, latest first; "" for none."""

    def unknown_names(self, asked: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Of names to filter by, by kind (`service`, `tool` …), the unknown ones; known ones of each, nearest first."""

    def findings(self, query: ErrorQuery) -> Sequence[LocatedFinding]:
        """Up to `limit` findings that hold now."""

    def errors(self, query: ErrorQuery) -> Sequence[LocatedError]:
        """Up to `limit` errors that hold now."""

    def error(self, some_id: str, confidence: Confidence) -> ErrorView | None:
        """The error of an id, earlier ones included, or with the finding of that id; None where there is none.

        Without findings that hold it is retracted.
        """

    def error_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of errors, earlier ones included, and of findings that begin so, in order."""

    def count_findings(self, query: ErrorQuery) -> int:
        """How many findings there are, whatever limit the query names."""

    def errors_of(self, findings: Sequence[Finding], confidence: Confidence) -> Sequence[LocatedError]:
        """The errors that any of these findings is of."""

    def shown_errors(self, trace_ids: Sequence[str], confidence: Confidence) -> Mapping[str, int]:
        """How many errors a list of traces shows of each; absent: none."""

    def trace(self, trace_id: str, confidence: Confidence) -> TraceView | None:
        """The trace rebuilt from its stored spans, None when there is no such trace."""

    def trace_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of stored traces that begin so, in order."""

    def session_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Up to `limit` ids of sessions that begin so, in order."""

    def received(self, trace_id: str) -> Received | None:
        """The spans and logs of a trace and of the traces joined with it, None where there is none."""

    def receipts(self, limit: int) -> Sequence[DeletionReceipt]:
        """Up to `limit` receipts of deletions, latest first."""

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Whether such a trace, such a span, or (both given) such a span of that trace is stored."""


class Labels(Protocol):
    """Labels in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def save(self, labelled: Labelled) -> None:
        """Keep new or changed labels; the same again changes nothing.

        Raises:
            RetryableError, StoreError: the store failed.
        """

    def of_traces(self, trace_ids: Sequence[str]) -> Mapping[str, Labelled]:
        """The labels that hold, by trace id; a trace without labels is absent."""

    def annotations_of(self, trace_ids: Sequence[str]) -> Sequence[Annotation]:
        """The annotations that hold of these traces."""

    def annotations(self, query: LabelQuery) -> Sequence[Annotation]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def scores(self, query: LabelQuery) -> Sequence[HumanScore]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def reviews(self, query: LabelQuery) -> Sequence[Review]:
        """Up to `limit` of them; their place is (changed_at, place)."""

    def delete(self, query: LabelQuery) -> int:
        """Delete for good what it names by id, trace, run and annotator, withdrawn or not; returns how many labels.

        Raises:
            ValueError: it names nothing.
        """

    def finding(self, finding_id: str) -> Finding | None:
        """The finding of that id, whether or not it still holds; None where there is none."""

    def queue(self, query: QueueQuery) -> Sequence[QueueItem]:
        """Up to `limit` runs that the annotator has not reviewed, in the order in which to look at them."""

    def strata(self, since: int, until: int, service: str = "") -> Sequence[Stratum]:
        """The strata of the judged runs that arrived in [since, until), by name, as they are now.

        An estimate weighs each reviewed run of a stratum by size / reviewed (strata are known of every run, so this is
        post-stratification), and a stratum without a reviewed run is said to be missing. Neither
        stopping in the middle of the queue, nor a queue that was narrowed to a service, nor runs that came since bias
        it: which runs of a stratum were looked at depends on their hash alone, and only `waiting` ones are behind.
        """

    def quality(
        self,
        since: int,
        until: int,
        service: str = "",
        strata: Sequence[Stratum] | None = None,
    ) -> Sequence[JudgeQuality]:
        """How judges fare against the labels of runs that arrived in that time, by name.

        `strata`: of the same time and service, where they are known already; it takes as long as all else to ask.
        """


class Ledger(Protocol):
    """Answers from the store. Every method may block: call it on a thread."""

    def entries(self, query: LedgerQuery) -> Sequence[LedgerEntry]:
        """Up to `limit` words."""

    def summary(self, query: LedgerQuery) -> Mapping[Outcome, int]:
        """How many words of each outcome there are, whatever outcome and place in the list the query names."""

    def judged_trace(self, trace_id: str) -> JudgedState | None:
        """The state of a trace when it was judged; None where it was not."""

    def pending_runs(self, trace_ids: Sequence[str]) -> Mapping[str, int]:
        """How many agent runs of each trace wait for LLM judges; absent: none."""

    def spend(self, since: int) -> Sequence[Spend]:
        """The cost of calls from `since` (unix nanos) on, by hour and service."""


class PipelineStats(Protocol):
    """PipelineStats in the store. Every method may block: call it on a thread. Times in unix nanos."""

    def timeliness(self, since: int, until: int, service: str = "") -> Timeliness:
        """Of findings that were first seen in [since, until), the latest of them where there are very many."""

    def new_services(self, since: int, limit: int) -> Sequence[str]:
        """Up to `limit` services of which no trace was there before `since`, the latest first."""

    def outcomes(self, since: int, until: int, service: str = "") -> Mapping[str, Mapping[Outcome, int]]:
        """By LLM judge: how many agent runs of traces that arrived in [since, until) have which outcome."""

    def verifiers(self, since: int, until: int, service: str = "") -> Sequence[VerifierSeen]:
        """What came of looks at others' findings that were first seen in [since, until), judges' findings first."""

    def versions(self, judge: str, since: int, until: int, service: str = "") -> Sequence[VersionSeen]:
        """Versions and models of an LLM judge with findings in traces that arrived in [since, until), latest first."""
