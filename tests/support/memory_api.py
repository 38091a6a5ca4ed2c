"""The HTTP API over memory, and any application served for real on a free loopback port."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import httpx
import uvicorn
from memory_labels import MemoryLabels
from memory_ledger import KNOWN, NOW, SECOND, MemoryArchitectures, MemoryLedger
from memory_rates import MemoryMeasures, MemoryRates
from memory_trace_queries import MemoryTraceQueries
from memory_vitals import MemoryPipelineStats
from starlette.types import ASGIApp
from store_parts import a_span

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.otlp.receiver.ports import bind
from tracejury.collector.queries.errors import errors_of_trace
from tracejury.collector.web.change_feed import ChangeFeed
from tracejury.judges.grouping import group, standing_errors
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.ledger import JudgedState, JudgesStatus
from tracejury.schemas.queries.listing import Facets, SessionRow
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
from tracejury.schemas.receipts import DeletionKind, DeletionReceipt
from tracejury.schemas.rule_calibrations import RuleCalibration
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import Judgement, Outcome, Subject, SubjectKind, Verdict

__all__ = [
    "KNOWN", "NOW", "PLAIN", "QUIET", "SECOND", "SPAN", "Api", "Judge", "MemoryReader", "apart", "finding",
    "memory_api", "row", "served",
]  # fmt: skip

PLAIN = "b" * 32
SPAN, QUIET = "1" * 16, "2" * 16


def finding(number: int, **changes: Any) -> Finding:
    """A finding first seen `number` seconds after NOW."""
    values: dict[str, Any] = {
        "id": f"{number:032x}",
        "fingerprint": "fp",
        "tenant": "",
        "trace_id": KNOWN,
        "span_id": SPAN,
        "agent_run_id": "run",
        "turn": 0,
        "judge": "rule",
        "dimensions": (Dimension.TOOL_CALLING,),
        "taxonomy": "trail",
        "category": "Formatting Errors",
        "severity": Severity.MEDIUM,
        "confidence": 0.7,
        "evidence": "quote",
        "explanation": "why",
        "first_seen": NOW + number * SECOND,
    }
    return Finding(**(values | changes))


def apart(number: int, **changes: Any) -> Finding:
    """A finding that makes an error of its own."""
    alone = finding(number, **changes)
    return replace(alone, **{"span_id": f"s{alone.id}"[-16:], "turn": None, "agent_run_id": f"r{alone.id}"} | changes)


def row(number: int) -> TraceRow:
    """A trace that arrived `number` seconds before NOW."""
    trace_id = KNOWN if number == 0 else f"{number:032x}"
    received = NOW - number * SECOND
    return TraceRow(trace_id, "", "svc", TraceState.SETTLED, 1, ("m",), NOW, NOW, received, {}, place=received)


@dataclass
class MemoryCalibrations:
    """Calibrations in a list, in order of version."""

    kept: list[RuleCalibration] = field(default_factory=list)

    def of(self, service: str) -> Mapping[str, RuleCalibration]:
        """The last of each rule."""
        return {one.rule: one for one in self.kept if one.service == service}

    def history(self, service: str, rule: str) -> Sequence[RuleCalibration]:
        """All of a rule."""
        return [one for one in self.kept if (one.service, one.rule) == (service, rule)]


RECEIPT = DeletionReceipt("", "e" * 32, NOW, DeletionKind.USER, 2, {"spans": 3}, 0, 1, 0, ("pager",))
"""The one receipt."""


@dataclass
class MemoryReader:
    """A reader over lists, with the order and the limits that the protocol asks for; keeps what it was asked."""

    rows: list[TraceRow] = field(default_factory=list)
    found: list[Finding] = field(default_factory=list)
    fault: Exception | None = None
    tenant: str = ""
    asked: list[ErrorQuery | TraceQuery] = field(default_factory=list)
    verdicts: list[Verdict] = field(default_factory=list)
    ledger: MemoryLedger = field(default_factory=MemoryLedger)
    architectures: MemoryArchitectures = field(default_factory=MemoryArchitectures)
    labels: MemoryLabels = field(default_factory=MemoryLabels)
    rebuilt: dict[str, Trace] = field(default_factory=dict)
    kept: dict[str, Received] = field(default_factory=dict)
    conversations: list[SessionRow] = field(default_factory=list)
    unknown: dict[str, list[str]] = field(default_factory=dict)
    trace_queries: MemoryTraceQueries = field(default_factory=MemoryTraceQueries)
    rates: MemoryRates = field(default_factory=MemoryRates)
    measures: MemoryMeasures = field(default_factory=MemoryMeasures)
    pipeline_stats: MemoryPipelineStats = field(default_factory=MemoryPipelineStats)
    calibrations: MemoryCalibrations = field(default_factory=MemoryCalibrations)

    def traces(self, query: TraceQuery) -> Sequence[TraceRow]:
        """By latest arrival."""
        self.asked.append(query)
        if self.fault:
            raise self.fault
        before = (query.before.time, query.before.id) if query.before else (2**63, "")
        kept = [
            r
            for r in self.rows
            if (r.received, r.trace_id) < before and r.received >= query.since and query.service in ("", r.service)
        ]
        return sorted(kept, key=lambda r: (r.received, r.trace_id), reverse=True)[: query.limit]

    def count_unjudged(self, since: int = 0, service: str = "", trace_id: str = "") -> int:
        """Those whose rows say so."""
        asked = [r for r in self.rows if r.received >= since and service in ("", r.service)]
        return sum(not r.judged for r in asked if trace_id in ("", r.trace_id))

    def sessions(self, query: TraceQuery) -> Sequence[SessionRow]:
        """Those that were put in, of the service."""
        self.asked.append(query)
        return [s for s in self.conversations if query.service in ("", s.service)][: query.limit]

    def session(
        self,
        session_id: str,
        confidence: Confidence,  # noqa: ARG002  the protocol's signature
        service: str = "",
    ) -> SessionView | None:
        """Without exchanges."""
        named = [s for s in self.conversations if s.session_id == session_id and service in ("", s.service)]
        return SessionView(named[0], [s.service for s in named], ()) if named else None

    def facets(self, since: int, until: int = 0, service: str = "") -> Facets:  # noqa: ARG002  the protocol's signature
        """The services of all."""
        return Facets(services=[(name, 1) for name in self.services(since, 10)])

    def services(self, since: int, limit: int) -> Sequence[str]:
        """By latest arrival."""
        latest = sorted(self.rows, key=lambda r: r.received, reverse=True)
        return list(dict.fromkeys(r.service for r in latest if r.received >= since))[:limit]

    def unknown_names(self, asked: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Those of the names that were put in."""
        return {kind: self.unknown[name] for kind, name in asked.items() if name in self.unknown}

    def findings(self, query: ErrorQuery) -> Sequence[LocatedFinding]:
        """By first sight."""
        self.asked.append(query)
        if self.fault:
            raise self.fault
        kept = sorted(self._held(query), key=lambda f: (f.first_seen, f.id), reverse=query.after is None)
        return [LocatedFinding(f, "svc", "agent") for f in kept[: query.limit]]

    def errors(self, query: ErrorQuery) -> Sequence[LocatedError]:
        """Those that the findings make, by first sight."""
        self.asked.append(query)
        if self.fault:
            raise self.fault
        return self._errors(query)[: query.limit]

    def _errors(self, query: ErrorQuery) -> list[LocatedError]:
        before = (query.before.time, query.before.id) if query.before else (2**63, "")
        after = (query.after.time, query.after.id) if query.after else (-1, "")
        least = query.confidence.recognised
        found = [
            LocatedError(summary(e), e.severity(least), e.lead.trace_id, "svc", "agent")
            for e in group(self.found, ())
            if e.confidence(query.severity) >= least and query.span_id in ("", *e.spans)
        ]
        kept = [
            one
            for one in found
            if after < (one.error.first_seen, one.error.id) < before
            and one.error.first_seen >= query.since
            and query.trace_id in ("", one.whole)
        ]
        return sorted(kept, key=lambda one: (one.error.first_seen, one.error.id), reverse=query.after is None)

    def error(self, some_id: str, confidence: Confidence) -> ErrorView | None:
        """One of those that hold."""
        for e in group(self.found, ()):
            if some_id in (e.id, *(f.id for f in e.findings)):
                return ErrorView(LocatedError.of(e, e.lead.trace_id, "svc", "agent", confidence.recognised), e.findings)
        return None

    def error_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Of those that hold, and of findings."""
        ids = {e.id for e in group(self.found, ())} | {f.id for f in self.found}
        return sorted(i for i in ids if i.startswith(prefix))[:limit]

    def errors_of(self, findings: Sequence[Finding], confidence: Confidence) -> Sequence[LocatedError]:
        """Of all that the findings make."""
        asked = {finding.id for finding in findings}
        found = self._errors(ErrorQuery(confidence, 0))
        return [one for one in found if asked.intersection(one.error.findings)]

    def count_findings(self, query: ErrorQuery) -> int:
        """Of all."""
        return len(self._held(query))

    def _held(self, query: ErrorQuery) -> list[Finding]:
        before = (query.before.time, query.before.id) if query.before else (2**63, "")
        after = (query.after.time, query.after.id) if query.after else (-1, "")
        return [
            f
            for f in self.found
            if after < (f.first_seen, f.id) < before
            and f.first_seen >= query.since
            and query.trace_id in ("", f.trace_id)
            and query.span_id in ("", f.span_id)
            and f.confidence >= query.confidence.recognised
            and f.severity.rank >= query.severity.rank
        ]

    def shown_errors(self, trace_ids: Sequence[str], confidence: Confidence) -> Mapping[str, int]:
        """Of each, those that are sure enough."""
        query = ErrorQuery(confidence, 0)
        return {i: len(self.errors(replace(query, trace_id=i, limit=len(self.found)))) for i in trace_ids}

    def trace(self, trace_id: str, confidence: Confidence) -> TraceView | None:
        """Those that were put in; the known traces are empty."""
        if trace_id in self.rebuilt:
            return TraceView(self.rebuilt[trace_id], ())
        if trace_id not in (KNOWN, PLAIN):
            return None
        trace = Trace(trace_id, self.tenant, "svc", "", TraceState.SETTLED, (), {}, (), ("openinference",))
        shown = [f for f in self.found if f.confidence >= confidence.least(trace.conventions)]
        standing = map(summary, standing_errors(self.found, ()))
        errors = errors_of_trace(trace, standing, confidence.least(trace.conventions))
        return TraceView(trace, shown, self.verdicts, errors)

    def trace_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """The known ones, and those of rows."""
        known = {KNOWN, PLAIN, *self.rebuilt, *(row.trace_id for row in self.rows)}
        return sorted(i for i in known if i.startswith(prefix))[:limit]

    def session_ids(self, prefix: str, limit: int) -> Sequence[str]:
        """Those that were put in."""
        return sorted({s.session_id for s in self.conversations if s.session_id.startswith(prefix)})[:limit]

    def received(self, trace_id: str) -> Received | None:
        """What was put in."""
        return self.kept.get(trace_id)

    def receipts(self, limit: int) -> Sequence[DeletionReceipt]:
        """One receipt."""
        return [RECEIPT][:limit]

    def knows(self, trace_id: str, span_id: str) -> bool:
        """Two traces and two spans."""
        return trace_id in ("", KNOWN, PLAIN) and span_id in ("", SPAN, QUIET)


class Judge:
    """Judges the known trace and keeps what it was asked."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.by_hand: list[bool] = []

    def __call__(self, trace_ids: Sequence[str], by_hand: bool) -> Sequence[Judgement]:  # noqa: FBT001  JudgeAgain
        """All traces are known but one."""
        self.asked.append(list(trace_ids))
        self.by_hand.append(by_hand)
        return [
            Judgement(Subject(SubjectKind.TRACE, t, t), "detectors", "v", "h", NOW, NOW, Outcome.DONE, (finding(1),))
            for t in trace_ids
            if t != "f" * 32
        ]


@dataclass
class Api:
    """The API over memory, and what stands behind it."""

    reader: MemoryReader
    judge: Judge
    problems: list[str]
    client: httpx.Client
    status: list[JudgesStatus]
    change_feed: ChangeFeed

    def empty(self) -> None:
        """Forget everything."""
        self.reader.rows, self.reader.found, self.reader.fault = [], [], None
        self.reader.asked.clear()
        self.judge.asked.clear()
        self.judge.by_hand.clear()
        self.problems.clear()
        self.reader.verdicts.clear()
        self.reader.rebuilt.clear()
        self.reader.trace_queries.traces.clear()
        self.reader.conversations.clear()
        self.reader.unknown.clear()
        self.status[:] = [JudgesStatus()]
        for kept in (self.reader.ledger.words, self.reader.ledger.spent, self.reader.ledger.asked):
            kept.clear()
        self.reader.ledger.seen.clear()
        self.reader.architectures.kept.clear()
        self.reader.labels.clear()
        self.reader.rates = MemoryRates()
        self.reader.measures = MemoryMeasures()
        self.reader.pipeline_stats = MemoryPipelineStats()

    def store_trace(
        self, trace_id: str, state: TraceState = TraceState.SETTLED, *, judged_in: TraceState | None
    ) -> None:
        """A trace of one span in that state, and in which it was last judged."""
        rebuilt = rebuild([normalize(a_span(), ())])
        self.reader.trace_queries.traces[trace_id] = replace(rebuilt, trace_id=trace_id, state=state)
        self.reader.ledger.seen.pop(trace_id, None)
        if judged_in:
            self.reader.ledger.seen[trace_id] = JudgedState(judged_in, 0)

    @property
    def url(self) -> str:
        """Where it is served."""
        return str(self.client.base_url)

    def get(self, path: str, **params: str) -> Any:
        """The JSON, or status and detail of a refusal."""
        answer = self.client.get(path, params=params)
        assert answer.headers["content-type"] == "application/json"
        return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


@contextmanager
def memory_api() -> Iterator[Api]:
    """The API, empty, on a port of its own."""
    reader, judge, problems, status = MemoryReader(), Judge(), list[str](), [JudgesStatus()]
    app = create_web_app(
        Services(
            reader,
            judge,
            problems=lambda: problems,
            metrics=lambda: b"accepted_spans 1\n",
            judges=lambda: status[0],
            clock=lambda: NOW,
        )
    )
    with served(app) as url, httpx.Client(base_url=url, trust_env=False) as client:
        yield Api(reader, judge, problems, client, status, app.state.change_feed)


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """`app` on a free loopback port; gives its address."""
    listener = bind("127.0.0.1:0")  # one that names its protocol: else asyncio sets no TCP_NODELAY
    # Clients live as long as the tests: a connection that idles for uvicorn's 5 seconds may be reset under a request.
    config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_keep_alive=600)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.005)
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()
        listener.close()
