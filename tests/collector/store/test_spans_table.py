"""The table `spans`: what goes in comes out, and of two rows with one key the right one stands."""

from __future__ import annotations

import time
from itertools import pairwise, permutations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sizes import sized
from store_parts import SPAN_ID, TRACE_ID, a_log, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.rows import LOG_COLUMNS, SPAN_COLUMNS, log_columns, span_columns
from tracejury.schemas.spans import LogRecord, Span, SpanEvent, SpanLink

DAY = 86_400_000_000_000
LAST_OF_DATETIME64 = 2**63 - 1  # 2262-04-11

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
nanos = st.integers(0, 2**64 - 1)
maps = st.dictionaries(texts, texts, max_size=4)
u32 = st.integers(0, 2**32 - 1)
i32 = st.integers(-(2**31), 2**31 - 1)
spans = st.builds(
    Span, trace_id=st.just(TRACE_ID), span_id=st.just(SPAN_ID), parent_span_id=texts, name=texts, start=nanos,
    end=nanos, attributes=maps, attribute_types=maps,
    events=st.lists(st.builds(SpanEvent, nanos, texts, maps), max_size=3).map(tuple),
    links=st.lists(st.builds(SpanLink, texts, texts, texts, maps), max_size=3).map(tuple),
    kind=i32, status_code=i32, status_message=texts, service=texts, resource_attributes=maps,
    resource_attribute_types=maps, scope_name=texts, scope_version=texts, trace_state=texts, flags=u32,
    dropped_attributes=u32, dropped_events=u32, dropped_links=u32, pending=st.booleans(), cut=u32,
)  # fmt: skip
logs = st.builds(
    LogRecord, trace_id=st.just(TRACE_ID), span_id=texts, time=nanos, observed_time=nanos, event_name=texts, body=texts,
    body_type=texts, attributes=maps, attribute_types=maps, severity_number=i32, severity_text=texts, service=texts,
    resource_attributes=maps, scope_name=texts, scope_version=texts, flags=u32, cut=u32,
)  # fmt: skip


def put(store: SharedStore, *spans: Span, received_at: int = 1) -> None:
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, received_at))


def put_logs(store: SharedStore, *logs: LogRecord, received_at: int = 1) -> None:
    store.insert("logs", LOG_COLUMNS, log_columns(logs, received_at))


def stored(store: SharedStore) -> list[Span]:
    return StoredJudging(store).load_spans([TRACE_ID]).get(TRACE_ID, ([], []))[0]


def stored_logs(store: SharedStore) -> list[LogRecord]:
    return StoredJudging(store).load_spans([TRACE_ID]).get(TRACE_ID, ([], []))[1]


@settings(max_examples=sized(20, 60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(span=spans, received_at=st.integers(0, LAST_OF_DATETIME64))
def test_any_span_comes_back_as_it_was(store: SharedStore, span: Span, received_at: int) -> None:
    """Every field of any span, nanoseconds exact, types and order kept."""
    store.command("TRUNCATE TABLE spans")
    put(store, span, received_at=received_at)
    assert stored(store) == [span]
    assert stored(store)[0].received_at == received_at


@settings(max_examples=sized(10, 30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(record=logs)
def test_any_log_record_comes_back_as_it_was(store: SharedStore, record: LogRecord) -> None:
    """Every field of any log record."""
    store.command("TRUNCATE TABLE logs")
    put_logs(store, record)
    assert stored_logs(store) == [record]


def test_order_of_attributes_is_kept(store: SharedStore) -> None:
    """Maps keep the order in which attributes came: cutting and presenting depend on it."""
    put(store, a_span(attributes={"b": "1", "a": "2", "c": "3"}))
    assert list(stored(store)[0].attributes) == ["b", "a", "c"]


# Each row beats the one before it; (pending, end, arrival).
RANKS: list[tuple[bool, int, int]] = [
    (True, 10, 5),
    (True, 10, 6),
    (True, 2**64 - 1, 1),
    (False, 0, 1),
    (False, 9, 7),
    (False, 10, 1),
    (False, 10, 2),
    (False, LAST_OF_DATETIME64 + 1, 1),
    (False, 2**64 - 1, 0),
    (False, 2**64 - 1, LAST_OF_DATETIME64),
]


@pytest.mark.parametrize(("lower", "higher"), list(pairwise(RANKS)))
@pytest.mark.parametrize("in_one_insert", [True, False])
def test_which_of_two_rows_stands(
    store: SharedStore, lower: tuple[bool, int, int], higher: tuple[bool, int, int], *, in_one_insert: bool
) -> None:
    """A finished span beats a pending one, then the later end, then the later arrival; before and after merging."""
    for first, second in permutations((lower, higher)):
        store.command("TRUNCATE TABLE spans")
        rows = [(a_span(name=str(rank), pending=rank[0], end=rank[1]), rank[2]) for rank in (first, second)]
        if in_one_insert:
            columns = [span_columns([span], received_at) for span, received_at in rows]
            store.insert("spans", SPAN_COLUMNS, [a + b for a, b in zip(*columns, strict=True)])
        else:
            for span, received_at in rows:
                put(store, span, received_at=received_at)
        assert [s.name for s in stored(store)] == [str(higher)]
        store.command("OPTIMIZE TABLE spans FINAL")
        assert [s.name for s in stored(store)] == [str(higher)]


def test_of_equal_rows_of_one_insert_the_last_stands(store: SharedStore) -> None:
    """Copies with the same end in one group: the last one, as in memory, where what comes later replaces."""
    put(store, *(a_span(name=str(n), attributes={"x": "y" * n}) for n in range(50)))
    assert [s.name for s in stored(store)] == ["49"]


def test_an_identical_copy_is_stored_once(store: SharedStore) -> None:
    """A span that is sent again counts once."""
    for arrival in (1, 2, 3):
        put(store, a_span(), received_at=arrival)
    assert StoredJudging(store).known_rows([TRACE_ID]) == {TRACE_ID: 1}
    assert stored(store)[0].received_at == 3


def test_rows_in_different_partitions_are_one_span(store: SharedStore) -> None:
    """A late copy, weeks after the first one, still replaces it."""
    put(store, a_span(name="early", end=1), received_at=1 * DAY)
    put(store, a_span(name="late", end=2), received_at=40 * DAY)
    assert [s.name for s in stored(store)] == ["late"]


def test_tenants_do_not_mix(store: SharedStore) -> None:
    """The same ids of two tenants are two spans, and each tenant reads its own."""
    put(store, a_span(tenant="a", name="of a"), a_span(tenant="b", name="of b"), a_span(name="of none"))
    for tenant, name in (("a", "of a"), ("b", "of b"), ("", "of none")):
        found = StoredJudging(store, tenant).load_spans([TRACE_ID])
        assert [s.name for s in found[TRACE_ID][0]] == [name]


def test_150_days_in_one_insert(store: SharedStore) -> None:
    """Clients' dates are theirs: 150 different days in one insert are stored, and make one partition."""
    put(store, *(a_span(span_id=f"{n:016x}", start=n * DAY, end=n * DAY + 1) for n in range(150)))
    assert len(stored(store)) == 150
    assert store.rows("SELECT uniqExact(partition) FROM system.parts WHERE database = currentDatabase() AND active "
                      "AND table = 'spans'") == [(1,)]  # fmt: skip


@pytest.mark.parametrize(
    ("start", "end"),
    [
        (0, 0),
        (1, 1),
        (10 * DAY, 5 * DAY),
        (LAST_OF_DATETIME64, LAST_OF_DATETIME64),
        (LAST_OF_DATETIME64 + 1, 2**64 - 1),
        (2**64 - 1, 0),
    ],
)
def test_hostile_dates(store: SharedStore, start: int, end: int) -> None:
    """Missing times, 1970, 2262 and beyond, end before start: stored exactly as sent."""
    put(store, a_span(start=start, end=end, events=(SpanEvent(end, "e", {}),)))
    span = stored(store)[0]
    assert (span.start, span.end, span.events[0].time) == (start, end, end)


def test_a_20_mb_value(store: SharedStore) -> None:
    """A very large value is stored whole, beside normal ones."""
    big = "x" * 20_000_000
    put(store, a_span(attributes={"input.value": big}), a_span(span_id="c" * 16))
    assert [len(s.attributes["input.value"]) for s in stored(store)] == [20_000_000, 2]


def test_10_000_attributes(store: SharedStore) -> None:
    """Ten thousand attributes of one span are stored, in order."""
    attributes = {f"llm.input_messages.{n}.message.content": str(n) for n in range(10_000)}
    types = dict.fromkeys(attributes, "int")
    put(store, a_span(attributes=attributes, attribute_types=types))
    span = stored(store)[0]
    assert list(span.attributes.items()) == list(attributes.items())
    assert span.attribute_types == types


def test_a_10_000_span_trace(store: SharedStore) -> None:
    """A trace of ten thousand spans is read whole and in order of time."""
    put(store, *(a_span(span_id=f"{n:016x}", start=10_000 - n) for n in range(10_000)))
    assert [s.start for s in stored(store)] == list(range(1, 10_001))


def test_a_record_sent_again_is_stored_once(store: SharedStore) -> None:
    """Log records have no id: an identical one is the same, one that differs anywhere is another."""
    put_logs(store, a_log(), received_at=1)
    put_logs(store, a_log(), a_log(body="other"), a_log(attributes={"a": "b"}), received_at=2)
    assert len(stored_logs(store)) == 3
    store.command("OPTIMIZE TABLE logs FINAL")
    assert len(stored_logs(store)) == 3


def test_statuses_and_kinds_outside_the_protocol(store: SharedStore) -> None:
    """Numbers that the protocol does not know are kept."""
    put(store, a_span(kind=77, status_code=-3))
    assert (stored(store)[0].kind, stored(store)[0].status_code) == (77, -3)


def test_arrival_of_now_is_kept_to_the_nanosecond(store: SharedStore) -> None:
    """Reading back does not cut to microseconds."""
    now = time.time_ns() // 1000 * 1000 + 789
    put(store, a_span(), received_at=now)
    assert stored(store)[0].received_at == now


def test_what_a_span_says_is_never_run(store: SharedStore) -> None:
    """Text that looks like SQL, formats or templates is only text."""
    text = "'); DROP TABLE spans; -- {x:String} %s ${y} \\' \x00"
    put(store, a_span(name=text, service=text, attributes={text: text}))
    span = stored(store)[0]
    assert (span.name, span.service, span.attributes) == (text, text, {text: text})
