"""The pages over a real store: spans are inserted and judged at once, and the application is served on a free port."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.judging.detect.inbox import Inbox
from tracejury.collector.judging.detect.metrics import JudgingMetrics
from tracejury.collector.judging.detect.worker import DetectWorker
from tracejury.collector.judging.prices import SpentBy
from tracejury.collector.judging.prices.table import PriceTable
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.listeners import Listeners
from tracejury.judges.registry import default_suite
from tracejury.judges.rule_settings import RuleSettings
from tracejury.judges.suite import NO_SETTINGS
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.batch import Batch
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.spans import STATUS_ERROR, LogRecord, Span, SpanEvent

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"
START = 1_700_000_000_000_000_000
SECOND = 1_000_000_000
MANAGER, PLAN, CALL, TOOL, ANSWER = (f"{n:016x}" for n in range(1, 6))


@dataclass
class Pages:
    """What a test sees of it. `put` stores and judges; the clock is the test's, `now` in unix nanos."""

    store: SharedStore
    reader: StoredReader
    judging: DetectWorker
    inbox: Inbox
    listeners: Listeners
    url: str = ""
    now: int = START + 3600 * SECOND
    client: httpx.Client = field(default_factory=httpx.Client)

    def put(self, *spans: Span, logs: Sequence[LogRecord] = (), settle: bool = True) -> None:
        """Store these rows as one arrival and judge what they change; `settle`: until every trace is closed."""
        self.now += SECOND
        if spans:
            self.store.insert("spans", SPAN_COLUMNS, span_columns(spans, self.now))
        if logs:
            self.store.insert("logs", LOG_COLUMNS, log_columns(logs, self.now))
        self.inbox.put(Batch(spans=tuple(spans), logs=tuple(logs)), self.now)
        for _ in range(2):  # taken in, then due
            self.now += SECOND
            self.judging.step()
        if settle:
            self.settle()

    def settle(self) -> None:
        """Let so much time pass that every open trace closes."""
        self.now += 3600 * SECOND
        while not self.judging.idle:
            self.judging.step()

    def get(self, path: str, **params: str) -> httpx.Response:
        """A page as a browser without scripts gets it."""
        return self.client.get(path, params=params or None)

    def post(self, path: str, **form: str) -> httpx.Response:
        """A form of a page, with its token."""
        return self._post(path, form, {})

    def post_by_script(self, path: str, **form: str) -> httpx.Response:
        """The same, answered with a part of the page."""
        return self._post(path, form, {"HX-Request": "true"})

    def _post(self, path: str, form: dict[str, str], headers: dict[str, str]) -> httpx.Response:
        page = self.client.get("/errors").text
        token = page.partition('X-CSRF-Token": "')[2].partition('"')[0]
        return self.client.post(path, data={"csrf": token, **form}, headers=headers)


@contextmanager
def trace_pages(store: SharedStore, settings: RuleSettings = NO_SETTINGS) -> Iterator[Pages]:
    """Pages over that store; `settings`: of detectors."""
    listeners, inbox = Listeners(), Inbox(1 << 30)
    now: list[Pages] = []

    def clock() -> int:
        return now[0].now

    config = AssemblerConfig()
    reader = stored_reader(store, config, clock)
    judging = DetectWorker(
        StoredJudging(store), default_suite(settings), config, inbox, JudgingMetrics(Telemetry("test")),
        listeners=listeners, clock=clock, spent=SpentBy(PriceTable()),
    )  # fmt: skip
    now.append(Pages(store, reader, judging, inbox, listeners))
    app = create_web_app(
        Services(
            reader,
            lambda _ids, _by_hand: [],
            problems=lambda: (),
            metrics=lambda: b"",
            clock=clock,
            listeners=listeners,
            settings=settings,
        )
    )
    with served(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=30) as client:
        now[0].url, now[0].client = url, client
        yield now[0]
        app.state.change_feed.end()


def a_span(span_id: str, parent: str, kind: str, name: str, at: int, length: int, **facts: Any) -> Span:
    """An OpenInference span of one trace; `at` and `length` in seconds after START; `facts`: fields of the span."""
    attributes = {"openinference.span.kind": kind, **facts.pop("attributes", {})}
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID, "span_id": span_id, "parent_span_id": parent, "name": name, "attributes": attributes,
        "start": START + at * SECOND, "end": START + (at + length) * SECOND, "service": "shop",
    }  # fmt: skip
    return Span(**fields | facts)


def llm(span_id: str, parent: str, at: int, sent: Sequence[tuple[str, str]], said: str = "", **asked: str) -> Span:
    """An LLM call that was sent these messages; `asked`: tools with their arguments as JSON."""
    facts: dict[str, str] = {"llm.model_name": "some-model"}
    for number, (role, text) in enumerate(sent):
        facts[f"llm.input_messages.{number}.message.role"] = role
        facts[f"llm.input_messages.{number}.message.content"] = text
    facts["llm.output_messages.0.message.role"] = "assistant"
    if said:
        facts["llm.output_messages.0.message.content"] = said
    for number, (name, arguments) in enumerate(asked.items()):
        call = f"llm.output_messages.0.message.tool_calls.{number}.tool_call.function."
        facts[f"{call}name"], facts[f"{call}arguments"] = name, arguments
    return a_span(span_id, parent, "LLM", "chat", at, 1, attributes=facts)


def failing_run(task: str = "What is the mean of data.csv?", result: str = "") -> list[Span]:
    """An agent that asks for a file, is told that it is not there, and answers from nothing."""
    failure = {"exception.type": "FileNotFoundError", "exception.message": "No such file: data.csv"}
    system = ("system", "You are an analyst.")
    first = [system, ("user", task)]
    told = ("tool", result or "FileNotFoundError: No such file: data.csv")
    return [
        a_span(MANAGER, "", "AGENT", "analyst", 0, 20, attributes={"input.value": task, "output.value": "It is 42."}),
        llm(CALL, MANAGER, 1, first, "I read the file.", read_file='{"path": "data.csv"}'),
        a_span(
            TOOL, MANAGER, "TOOL", "read_file", 3, 1,
            attributes={"tool.name": "read_file", "input.value": '{"path": "data.csv"}'},
            status_code=STATUS_ERROR, status_message="FileNotFoundError: No such file: data.csv",
            events=(SpanEvent(START + 3 * SECOND, "exception", failure),),
        ),
        llm(ANSWER, MANAGER, 5, [*first, ("assistant", "I read the file."), told], "The mean is 42."),
    ]  # fmt: skip
