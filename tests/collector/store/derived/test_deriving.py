"""Errors and facts are stored with what they follow from, and everybody reads the same ones."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from random import Random
from typing import Any

import pytest
from rates_history import CHECKS, CLAIMS, JUDGES, RULES, claim, of_check, runs_of
from sizes import sized
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_run, a_span
from stored_readers import stored_reader

from tracejury.collector.outbound.otlp.error_evaluations import errors_in
from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.outbound.webhooks.rules import WebhookRules, news
from tracejury.collector.queries.dataset.reading import Exporter
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.store.derived import rederiving
from tracejury.collector.store.derived.deriving import derive
from tracejury.collector.store.derived.facts import FACT_COLUMNS
from tracejury.collector.store.derived.rederiving import rederive, require_derived
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.exports import StoredExports
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.grouping import standing_errors
from tracejury.processors.assemble import AssemblerConfig
from tracejury.processors.trace_outline import outline_of
from tracejury.schemas.errors import RetryableError, StoreError
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.judged_rows import ERROR_COLUMNS
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.trajectory import TraceState

ALL = Confidence(0.0, 0.0)


def rows(store: SharedStore) -> list[list[Any]]:
    """All that is derived, without its versions."""
    columns = (", ".join(f"`{c}`" for c in names if c != "FoldedAt") for names in (ERROR_COLUMNS, FACT_COLUMNS))
    return [
        store.rows(f"SELECT {own} FROM {table} FINAL ORDER BY ALL")
        for own, table in zip(columns, ("errors", "run_facts"), strict=True)
    ]


@contextmanager
def dying(store: SharedStore, monkeypatch: pytest.MonkeyPatch, table: str) -> Iterator[None]:
    """The process dies when something is next written to the table."""
    insert = store.insert

    def stopped(name: str, *values: Any, **options: Any) -> None:
        if name == table:
            raise StoreError("killed")
        insert(name, *values, **options)

    with monkeypatch.context() as patch:
        patch.setattr(store, "insert", stopped)
        yield


@pytest.mark.parametrize("table", ["errors", "run_facts"])
@pytest.mark.parametrize("llm", [False, True])
def test_a_kill_before_its_errors_are_stored_leaves_it_unjudged(
    store: SharedStore,
    monkeypatch: pytest.MonkeyPatch,
    table: str,
    llm: bool,  # noqa: FBT001  a parameter of the test
) -> None:
    judging = StoredJudging(store)
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span()], 5))
    trace = a_judged_trace(a_finding(), judged_at=10, received=5, runs=(a_run(),))
    if llm:
        judging.save([trace])
    found = a_finding(judge="goal-fulfilment", turn=5, span_id="9" * 16)
    subject = a_judged_subject("goal-fulfilment", found, judged_at=20)
    counted = "SELECT count() FROM judgements"
    before = store.rows(counted)
    save = partial(StoredLlmJudging(store).save, [subject]) if llm else partial(judging.save, [trace])
    with dying(store, monkeypatch, table), pytest.raises(StoreError, match="killed"):
        save()
    assert store.rows(counted) == before
    if not llm:
        assert judging.unjudged("v1", 10) == [("", TRACE_ID)]
        judging.save([trace])
        assert judging.unjudged("v1", 10) == []


def test_what_is_not_read_is_derived_as_what_is(store: SharedStore) -> None:
    """A trace that is the detectors' alone: first, again with other findings in another hour, and settled."""
    judging = StoredJudging(store)
    for number, (claims, state) in enumerate([((0, 4, 9), TraceState.OPEN), ((4, 7), TraceState.SETTLED)]):
        found = [claim(TRACE_ID, n, RULES[n % 2]) for n in claims]
        trace = a_judged_trace(
            *found, judged_at=10 + number, received=3_600_000_000_000 * (number + 1), state=state,
            runs=runs_of(TRACE_ID, 3), retracted=(),
        )  # fmt: skip
        gone = [claim(TRACE_ID, n, RULES[n % 2], FindingState.RETRACTED) for n in (0, 9)] if number else []
        judging.save([replace(trace, retracted=tuple(gone), is_alone=True, is_new=not number)])
        in_memory = rows(store)
        store.derivation.alone.clear()
        derive(store, [("", TRACE_ID)])
        assert rows(store) == in_memory
        judging.save([replace(trace, retracted=tuple(gone), is_alone=True, is_new=not number)])


def said_of(random: Random) -> tuple[list[Finding], list[Finding]]:
    """Findings of detectors and of LLM judges, checks of a pack among them."""
    numbers = random.sample(range(CLAIMS * 3), 8)
    detectors = [claim(TRACE_ID, n, random.choice(RULES)) for n in numbers]
    llm = [claim(TRACE_ID, n, random.choice(JUDGES)) for n in random.sample(range(CLAIMS * 3), 4)]
    return detectors, llm + [of_check(TRACE_ID, n, random.choice(CHECKS)) for n in random.sample(range(CLAIMS * 3), 2)]


@pytest.mark.parametrize("seed", range(sized(1, 4)))
def test_an_error_has_one_id_everywhere(store: SharedStore, seed: int) -> None:
    """In lists, on pages, in sessions, webhooks, exports, what is forwarded and labelled, and after a restart."""
    random = Random(seed)  # noqa: S311  a simulation
    detectors, llm = said_of(random)
    trace = a_judged_trace(
        *detectors, judged_at=10, received=10, session_id="s", runs=runs_of(TRACE_ID, 3), conventions=("genai",)
    )
    spans = [a_span(span_id=f"{n:016x}") for n in range(2)]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, 5))
    subjects = [a_judged_subject(f.judge, f, judged_at=20 + n) for n, f in enumerate(llm)]
    saves: list[Callable[[], None]] = [partial(StoredJudging(store).save, [trace])]
    saves += [partial(StoredLlmJudging(store).save, [subject]) for subject in subjects]
    first, *others = saves
    first()
    random.shuffle(others)
    for save in [*others, *random.sample(saves, 2)]:
        save()
    expected = {error.id for error in standing_errors([*detectors, *llm], trace.trace.runs)}
    assert ids_everywhere(store, trace.trace) == dict.fromkeys(ids_everywhere(store, trace.trace), expected)
    fresh = SharedStore.open(f"chdb://{store.folder}?database={store.database}", StoreConfig(retention_days=None))
    try:
        assert ids_everywhere(fresh, trace.trace)["lists"] == expected
    finally:
        fresh.close()


def ids_everywhere(store: SharedStore, trace: Any) -> Mapping[str, set[str]]:
    """The ids of the trace's errors by where they are shown."""
    reader = stored_reader(store, AssemblerConfig())
    lists = [one.error.id for one in reader.errors(ErrorQuery(ALL, 100))]
    session = reader.session("s", ALL)
    assert session is not None
    looked = StoredDeliveries(store).read_findings("hook", [TRACE_ID])
    rules = replace(
        WebhookRules.of(WebhookConfig(name="hook", url="https://example.org", secret="${S}", profile="0.0001")),
        judges=frozenset((*RULES, *JUDGES, *CHECKS)),
    )
    records = list(StoredExports(store, "backend").records([TRACE_ID]).values())
    found: dict[str, Sequence[str]] = {
        "lists": lists,
        "pages": [e.id for e in reader.trace_queries.assessment(outline_of(trace), ALL).errors],
        "session": [e.error.id for exchange in session.exchanges for e in exchange.errors],
        "webhooks": [one.error.id for one in news(looked, rules, 0)],
        "forwarded": [e.id for e in errors_in(records)],
        "labels": [e.id for e in StoredErrors(store).under([TRACE_ID])[TRACE_ID]],
        "exported": [row.id for row in Exporter(reader, transcripts=False).errors(ErrorQuery(ALL, 100), 100)],
        "by id": [view.located.error.id for i in lists if (view := reader.error(i, ALL)) is not None],
    }
    return {place: set(ids) for place, ids in found.items()}


def test_reading_writes_nothing_and_asks_little(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    judging = StoredJudging(store)
    judging.save([
        a_judged_trace(a_finding(trace_id=f"{n:032x}"), trace_id=f"{n:032x}", received=time.time_ns(), session_id="s")
        for n in range(6)
    ])  # fmt: skip
    reader = stored_reader(store, AssemblerConfig())
    asked: list[str] = []
    read = store.rows

    def noted(sql: str, parameters: Mapping[str, Any] | None = None) -> list[Sequence[Any]]:
        asked.append(sql)
        return read(sql, parameters)

    monkeypatch.setattr(store, "rows", noted)
    monkeypatch.setattr(store, "command", lambda *_: pytest.fail("a read writes"))
    monkeypatch.setattr(store, "insert", lambda *_: pytest.fail("a read writes"))
    for find in (reader.traces, reader.sessions):
        asked.clear()
        assert find(TraceQuery(ALL, 2))
        assert len(asked) <= 3, asked


def test_what_an_earlier_version_judged_is_derived_where_it_was_left(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is not called judged before; what is judged meanwhile is."""
    monkeypatch.setattr(rederiving, "PAGE", 2)
    judging = StoredJudging(store)
    ids = [f"{n:032x}" for n in range(1, 6)]
    judging.save([a_judged_trace(a_finding(trace_id=i), trace_id=i, judged_at=10, received=10) for i in ids])
    stood = rows(store)
    for table in ("errors", "run_facts"):
        store.command(f"TRUNCATE TABLE {table}")
    store.command("INSERT INTO underived SELECT tenant, '', 11, 0, 0 FROM traces GROUP BY tenant")

    def judged() -> list[bool]:
        found = stored_reader(store, AssemblerConfig()).traces(TraceQuery(ALL, 10))
        return [row.not_judged is not NotJudged.WAITING for row in sorted(found, key=lambda row: row.trace_id)]

    assert judged() == [False] * 5
    assert next(rederive(store)) == 2  # and the process dies
    assert judged() == [True, True, False, False, False]
    judging.save([a_judged_trace(a_finding(trace_id=ids[4]), trace_id=ids[4], judged_at=12, received=10)])
    assert judged() == [True, True, False, False, True]
    with pytest.raises(RetryableError):
        require_derived(store, "")
    assert list(rederive(store)) == [2, 1]
    require_derived(store, "")
    assert judged() == [True] * 5
    assert rows(store) == stood
    assert list(rederive(store)) == []
