"""API and pages over the real store, and any application served for real on a free loopback port."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from typing import Any, TypeVar

import httpx
import uvicorn
from forgotten_traces import forget_traces
from starlette.types import ASGIApp
from store_parts import a_judged_trace, a_run, a_span
from stored_readers import parts_of_a_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.otlp.receiver.ports import bind
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.architectures import StoredArchitectures
from tracejury.collector.store.inserting import insert_rows
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists.pending import list_pending
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.change_feed import ChangeFeed
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.normalize import normalize
from tracejury.schemas.findings import Finding
from tracejury.schemas.judged_rows import (
    JUDGEMENT_COLUMNS,
    TRACE_COLUMNS,
    VERDICT_COLUMNS,
    judgement_row,
    trace_row,
    verdict_row,
)
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.ledger import JudgesStatus, LedgerEntry, LedgerQuery
from tracejury.schemas.queries.measures import MeasuredPack, MeasureQuery
from tracejury.schemas.queries.reader import TraceRow
from tracejury.schemas.rates import RateQuery
from tracejury.schemas.receipts import DeletionKind, DeletionReceipt
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import Span
from tracejury.schemas.taxonomy import Dimension, Severity
from tracejury.schemas.trajectory import ToolCall, TraceState, Turn, TurnKind
from tracejury.schemas.verdicts import Judgement, Outcome, Subject, SubjectKind, TraceSpend, Verdict

NOW = 1_795_169_386_000_000_000
SECOND = 1_000_000_000
DAY = 86_400 * SECOND
KNOWN, PLAIN = "a" * 32, "b" * 32
SPAN, QUIET = "1" * 16, "2" * 16

Answer = TypeVar("Answer")


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


RECEIPT = DeletionReceipt("", "e" * 32, NOW, DeletionKind.USER, 2, {"spans": 3}, 0, 1, 0, ("pager",))
"""A receipt of a deletion."""


CALLED = Turn(0, TurnKind.ACT, None, (ToolCall("look up", None, None, None, None, None),))
"""A turn that called a tool."""


def now() -> int:
    """The clock of API and reader."""
    return NOW


class Watched:
    """A part of the reader; `asked` has the queries, and `given` answers by method where a test puts one in."""

    def __init__(self, part: Any) -> None:
        self._part = part
        self.asked: list[Any] = []
        self.given: dict[str, Any] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._part, name)
        return partial(self._ask, name, real) if callable(real) else real

    def _ask(self, name: str, real: Callable[..., Any], *asked: Any, **options: Any) -> Any:
        self.asked += [one for one in asked if isinstance(one, RateQuery | MeasureQuery | LedgerQuery)]
        answer = self.given.get(name, real)
        return answer(*asked, **options) if callable(answer) else answer


class WatchedReader(StoredReader):
    """The real reader; `asked` has the queries of lists, and `fault` is raised in place of an answer.

    `unknown`: names that are taken for unknown, with the known ones.
    """

    asked: list[Any]
    fault: Exception | None
    unknown: dict[str, list[str]]
    rates: Any  # each is `Watched`
    measures: Any
    pipeline_stats: Any
    ledger: Any

    @classmethod
    def over(cls, store: SharedStore, packs: Callable[[], Sequence[MeasuredPack]] = tuple) -> WatchedReader:
        """Nothing was asked of it yet."""
        reader = cls(store, AssemblerConfig(), *parts_of_a_reader(store, now, packs), now)
        reader.architectures = StoredArchitectures(store, clock=count(NOW).__next__)  # the last one holds
        reader.asked, reader.fault, reader.unknown = [], None, {}
        for name in ("rates", "measures", "pipeline_stats", "ledger"):
            setattr(reader, name, Watched(getattr(reader, name)))
        return reader

    def unknown_names(self, asked: Mapping[str, str]) -> Mapping[str, Sequence[str]]:
        """Those that a test names."""
        return {kind: self.unknown[name] for kind, name in asked.items() if name in self.unknown}


def _watched(ask: Callable[[Any, Any], Answer]) -> Callable[[Any, Any], Answer]:
    def asked(reader: WatchedReader, query: Any) -> Answer:
        reader.asked.append(query)
        if reader.fault:
            raise reader.fault
        return ask(reader, query)

    return asked


for _name in ("traces", "sessions", "findings", "errors"):
    setattr(WatchedReader, _name, _watched(getattr(StoredReader, _name)))


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
    """API and pages over the real store, and what stands behind them."""

    store: SharedStore
    reader: WatchedReader
    judge: Judge
    problems: list[str]
    client: httpx.Client
    status: list[JudgesStatus]
    change_feed: ChangeFeed
    packs: list[MeasuredPack]
    found: list[Finding] = field(default_factory=list)
    judgings: int = 0
    _rows: dict[str, TraceRow] = field(default_factory=dict)

    def empty(self) -> None:
        """Forget everything."""
        for (table,) in self.store.rows(_FILLED):
            self.store.command(f"TRUNCATE TABLE {table}")
        forget_traces(self.reader.trace_queries)
        renewed = WatchedReader.over(self.store, lambda: self.packs)
        kept = {name: getattr(self.reader, name) for name in ("trace_queries", "labels", "architectures")}
        vars(self.reader).update(vars(renewed) | kept)  # the application holds these very objects
        for told in (self.judge.asked, self.judge.by_hand, self.problems, self.packs, self.found, self._rows):
            told.clear()
        self.status[:] = [JudgesStatus()]

    def put_spans(self, *spans: Span, received: int = NOW) -> None:
        """Spans that nobody has judged, as lists show them a second later."""
        self.store.insert("spans", SPAN_COLUMNS, span_columns(spans, received))
        self.store.pending.arrived({("", span.trace_id) for span in spans}, received)
        list_pending(self.store)

    def put(self, *findings: Finding) -> None:
        """Judge traces with these and earlier findings. Their agents are called "agent" where no row says otherwise."""
        self.found += findings
        for trace_id in dict.fromkeys(one.trace_id for one in findings):
            told = self._rows.get(trace_id) or replace(row(0), trace_id=trace_id, agents=("agent",))
            self._judge(told, [one for one in findings if one.trace_id == trace_id])

    def put_known(self) -> None:
        """Judge the known traces, in which nothing is found."""
        for trace_id in (KNOWN, PLAIN):
            self._judge(replace(row(0), trace_id=trace_id, agents=("agent",)), ())

    def put_rows(self, *rows: TraceRow) -> None:
        """Judge such traces with the findings that were put; those that say that they wait are not.

        Those that say that they are not judged for another reason called neither a model nor a tool.
        """
        for told in rows:
            self._rows[told.trace_id] = told
            if told.not_judged is NotJudged.WAITING:
                self.put_spans(_span(told, SPAN), received=told.received)
            else:
                self._insert(told, [SPAN])
        StoredJudging(self.store).save(
            [self._judged(told, ()) for told in rows if told.not_judged is not NotJudged.WAITING]
        )

    def _insert(self, told: TraceRow, span_ids: Sequence[str]) -> None:
        """Spans that came so long ago that nothing more is waited for."""
        self.store.insert("spans", SPAN_COLUMNS, span_columns([_span(told, i) for i in span_ids], told.received - DAY))

    def _judge(self, told: TraceRow, findings: Sequence[Finding]) -> None:
        named = {i for f in findings for i in (f.span_id, f.tool_span_id, f.seen_by_span_id, *f.also_at) if i}
        self._insert(told, sorted({*named, SPAN, QUIET}))
        StoredJudging(self.store).save([self._judged(told, findings)])

    def _judged(self, told: TraceRow, findings: Sequence[Finding]) -> Any:
        self.judgings += 1
        own = {f.agent_run_id: f.agent_run_id for f in self.found if f.trace_id == told.trace_id} or {"run": "run"}
        judged = a_judged_trace(
            *findings, judged_at=NOW + self.judgings, received=told.received, trace_id=told.trace_id,
            service=told.service, session_id=told.session_id, state=told.state, start=told.start, end=told.end,
            runs=tuple(
                a_run(id=run_id, name=told.agents[0], goal=told.goal, turns=(CALLED,) * told.judged) for run_id in own
            ),
            spans={SPAN: normalize(_span(told, SPAN), ())}, received_through=told.received,
        )  # fmt: skip
        return replace(judged, spent=TraceSpend(told.input_tokens, told.output_tokens, told.usd))

    def put_ledger(self, *entries: LedgerEntry) -> None:
        """Words of judges, on traces with such runs; those of one trace are put at once."""
        told: dict[str, list[LedgerEntry]] = {}
        for entry in entries:
            told.setdefault(entry.word.trace_id, []).append(entry)
        judgements = [(entry, _judgement(entry.word)) for entry in entries]
        traces = [
            a_judged_trace(
                trace_id=trace_id, service=own[0].service, received=NOW, judged_at=NOW,
                runs=tuple(a_run(id=e.word.subject_id, name=e.agent) for e in own if e.agent),
            )
            for trace_id, own in told.items()
            if trace_id
        ]  # fmt: skip
        self.put_spans(*(_span(replace(row(0), trace_id=one.trace.trace_id), SPAN) for one in traces))
        rows = [trace_row(one.trace, one.judgement, one.spent) for one in traces]
        insert_rows(self.store, "traces", TRACE_COLUMNS, rows)
        said = (judgement_row(judgement, TraceState.SETTLED) for _, judgement in judgements)
        insert_rows(self.store, "judgements", JUDGEMENT_COLUMNS, said)
        verdicts = (verdict_row(entry.verdict, judgement) for entry, judgement in judgements if entry.verdict)
        insert_rows(self.store, "verdicts", VERDICT_COLUMNS, verdicts)

    @property
    def url(self) -> str:
        """Where it is served."""
        return str(self.client.base_url)

    def get(self, path: str, **params: str) -> Any:
        """The JSON, or status and detail of a refusal."""
        answer = self.client.get(path, params=params)
        assert answer.headers["content-type"] == "application/json"
        return answer.json() if answer.status_code == 200 else (answer.status_code, answer.json()["detail"])


def ledger_entry(number: int, **changes: Any) -> LedgerEntry:
    """What the goal judge said of a run `number` seconds after NOW."""
    values: dict[str, Any] = {
        "tenant": "", "trace_id": KNOWN, "kind": SubjectKind.AGENT_RUN, "subject_id": f"run-{number}",
        "judge": "goal-fulfilment", "version": "v1", "input_hash": "h", "outcome": Outcome.DONE, "reason": "",
        "model": "some/model", "probability": 1.0, "findings": 0, "dropped": 0, "judged_at": NOW + number * SECOND,
        "received_through": NOW,
    }  # fmt: skip
    word = LedgerRow(**(values | changes))
    subject = Subject(word.kind, word.subject_id, word.trace_id)
    verdict = Verdict(word.judge, "v1", subject, 2) if word.outcome is Outcome.DONE else None
    return LedgerEntry(word, f"{number:032x}", "svc", "agent", verdict)


def _judgement(word: LedgerRow) -> Judgement:
    subject = Subject(word.kind, word.subject_id, word.trace_id)
    return Judgement(
        subject, word.judge, word.version, word.input_hash, word.judged_at, word.received_through, word.outcome,
        findings=(finding(1),) * word.findings, reason=word.reason, probability=word.probability, model=word.model,
    )  # fmt: skip


_FILLED = "SELECT name FROM system.tables WHERE database = currentDatabase() AND total_rows AND name != 'migrations'"


def _span(told: TraceRow, span_id: str) -> Span:
    kind = {"openinference.span.kind": "CHAIN"} | ({"session.id": told.session_id} if told.session_id else {})
    return a_span(trace_id=told.trace_id, span_id=span_id, service=told.service, start=told.start, end=told.end,
                  attributes=kind, name="turn")  # fmt: skip


@contextmanager
def api_over(store: SharedStore) -> Iterator[Api]:
    """The API, empty, on a port of its own."""
    packs: list[MeasuredPack] = []
    reader, judge, problems, status = WatchedReader.over(store, lambda: packs), Judge(), list[str](), [JudgesStatus()]
    app = create_web_app(
        Services(
            reader,
            judge,
            problems=lambda: problems,
            metrics=lambda: b"accepted_spans 1\n",
            judges=lambda: status[0],
            clock=now,
        )
    )
    with served(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        yield Api(store, reader, judge, problems, client, status, app.state.change_feed, packs)


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
