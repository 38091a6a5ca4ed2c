"""The views that other programs read: exact columns, exact types, one row a span."""

from __future__ import annotations

from datetime import datetime

import pytest
from store_parts import SPAN_ID, TRACE_ID, a_finding, a_judged_trace, a_run, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.findings import FindingState
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import Span, SpanEvent, SpanLink
from tracejury.schemas.verdicts import Outcome

ATTRIBUTES = "Map(LowCardinality(String), String)"

# opentelemetry-collector-contrib, exporter/clickhouseexporter, traces table.
OTEL_TRACES = [
    ("Timestamp", "DateTime64(9)"),
    ("TraceId", "String"),
    ("SpanId", "String"),
    ("ParentSpanId", "String"),
    ("TraceState", "String"),
    ("SpanName", "LowCardinality(String)"),
    ("SpanKind", "LowCardinality(String)"),
    ("ServiceName", "LowCardinality(String)"),
    ("ResourceAttributes", ATTRIBUTES),
    ("ScopeName", "String"),
    ("ScopeVersion", "String"),
    ("SpanAttributes", ATTRIBUTES),
    ("Duration", "UInt64"),
    ("StatusCode", "LowCardinality(String)"),
    ("StatusMessage", "String"),
    ("Events.Timestamp", "Array(DateTime64(9))"),
    ("Events.Name", "Array(LowCardinality(String))"),
    ("Events.Attributes", f"Array({ATTRIBUTES})"),
    ("Links.TraceId", "Array(String)"),
    ("Links.SpanId", "Array(String)"),
    ("Links.TraceState", "Array(String)"),
    ("Links.Attributes", f"Array({ATTRIBUTES})"),
]

FINDINGS = [
    *(
        (f"Findings.{name}", "Array(String)")
        for name in ("Id", "Judge", "Dimension", "Taxonomy", "Category", "Severity")
    ),
    ("Findings.Confidence", "Array(Float64)"),
    *((f"Findings.{name}", "Array(String)") for name in ("Evidence", "Explanation", "State")),
]


def put(store: SharedStore, *spans: Span, received_at: int = 1) -> None:
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, received_at))


def columns(store: SharedStore, view: str) -> list[tuple[str, str]]:
    return [(row[0], row[1]) for row in store.rows(f"DESCRIBE TABLE {view}")]


def test_otel_traces_has_the_exporters_columns(store: SharedStore) -> None:
    """Names, types and order of the OpenTelemetry Collector's ClickHouse exporter."""
    assert columns(store, "otel_traces") == OTEL_TRACES


def test_annotated_spans_adds_findings(store: SharedStore) -> None:
    """The same columns, then the nested findings."""
    assert columns(store, "annotated_spans") == OTEL_TRACES + FINDINGS


def test_a_span_in_the_exporters_words(store: SharedStore) -> None:
    """Kind and status by name, duration in nanoseconds, events and links nested, non-strings as JSON text."""
    span = a_span(
        parent_span_id="c" * 16, kind=3, status_code=2, status_message="boom", start=10**18 + 5, end=10**18 + 12,
        attributes={"a": "1"}, attribute_types={"a": "int"}, resource_attributes={"service.name": "shop"},
        scope_name="lib", scope_version="2", trace_state="k=v", events=(SpanEvent(10**18 + 6, "e", {"x": "y"}),),
        links=(SpanLink("d" * 32, "e" * 16, "s", {"l": "m"}),),
    )  # fmt: skip
    put(store, span)
    nanos = "toUnixTimestamp64Nano(Timestamp), arrayMap(t -> toUnixTimestamp64Nano(t), Events.Timestamp)"
    assert store.rows(f"SELECT * EXCEPT (Timestamp, `Events.Timestamp`), {nanos} FROM otel_traces") == [
        (
            TRACE_ID, SPAN_ID, "c" * 16, "k=v", "chat", "Client", "shop", {"service.name": "shop"}, "lib", "2",
            {"a": "1"}, 7, "Error", "boom", ["e"], [{"x": "y"}], ["d" * 32], ["e" * 16], ["s"], [{"l": "m"}],
            10**18 + 5, [10**18 + 6],
        )
    ]  # fmt: skip


@pytest.mark.parametrize(("number", "kind"), [(0, "Unspecified"), (1, "Internal"), (2, "Server"), (3, "Client"),
                                              (4, "Producer"), (5, "Consumer"), (6, ""), (-1, "")])  # fmt: skip
def test_kinds(store: SharedStore, number: int, kind: str) -> None:
    """As the exporter names them; nothing for a number that the protocol does not know."""
    put(store, a_span(kind=number))
    assert store.rows("SELECT SpanKind FROM otel_traces") == [(kind,)]


@pytest.mark.parametrize(("number", "status"), [(0, "Unset"), (1, "Ok"), (2, "Error"), (3, "")])
def test_statuses(store: SharedStore, number: int, status: str) -> None:
    """As the exporter names them."""
    put(store, a_span(status_code=number))
    assert store.rows("SELECT StatusCode FROM otel_traces") == [(status,)]


@pytest.mark.parametrize(
    ("start", "end", "shown", "duration"),
    [
        (0, 0, datetime(1970, 1, 1), 0),  # noqa: DTZ001  what the driver gives for UTC
        (2_000_000_000, 1_000_000_000, datetime(1970, 1, 1, 0, 0, 2), 0),  # noqa: DTZ001
        (2**63 - 1, 2**63 - 1, datetime(2262, 4, 11, 23, 47, 16, 854775), 0),  # noqa: DTZ001
        (2**63, 2**64 - 1, datetime(2262, 4, 11, 23, 47, 16, 854775), 2**63 - 1),  # noqa: DTZ001
    ],
)
def test_hostile_dates_show_clamped(store: SharedStore, start: int, end: int, shown: datetime, duration: int) -> None:
    """Times beyond DateTime64 show as its end; a span that ends before it starts has no duration."""
    put(store, a_span(start=start, end=end, events=(SpanEvent(2**64 - 1, "e", {}),)))
    sql = "SELECT toTimeZone(Timestamp, 'UTC'), Duration, length(`Events.Timestamp`) FROM otel_traces"
    assert store.rows(sql) == [(shown, duration, 1)]


def test_one_row_a_span(store: SharedStore) -> None:
    """Copies and pending rows do not show beside the row that stands."""
    put(store, a_span(pending=True, name="begun"), received_at=1)
    put(store, a_span(name="done"), received_at=2)
    put(store, a_span(name="done"), received_at=3)
    assert store.rows("SELECT SpanName FROM otel_traces") == [("done",)]
    assert store.rows("SELECT SpanName FROM annotated_spans") == [("done",)]


def test_only_the_default_tenant_shows(store: SharedStore) -> None:
    """The exporter's table has no tenant, so a view of all of them would mix them."""
    put(store, a_span(tenant="a"), a_span(name="mine"))
    assert store.rows("SELECT SpanName FROM otel_traces") == [("mine",)]
    assert store.rows("SELECT SpanName FROM annotated_spans") == [("mine",)]


def test_annotated_spans_shows_what_holds_now(store: SharedStore) -> None:
    """Current and provisional findings at their spans; superseded and retracted ones nowhere."""
    put(store, a_span(), a_span(span_id="c" * 16))
    findings = [a_finding(judge=state.value, state=state) for state in FindingState]
    StoredJudging(store).save([a_judged_trace(*findings)])
    rows = store.rows(
        "SELECT SpanId, arraySort(`Findings.State`), `Findings.Category`, `Findings.Dimension`, `Findings.Evidence` "
        "FROM annotated_spans ORDER BY SpanId"
    )
    assert rows == [
        (SPAN_ID, ["current", "provisional"], ["Resource Abuse"] * 2, ["EE"] * 2, ["again and again"] * 2),
        ("c" * 16, [], [], [], []),
    ]


def test_agent_runs_are_those_of_the_latest_judging(store: SharedStore) -> None:
    """A run that is no longer seen leaves no row behind."""
    judging = StoredJudging(store)
    judging.save([a_judged_trace(judged_at=1, runs=(a_run(id="x"), a_run(id="y", name="old")))])
    judging.save(
        [a_judged_trace(judged_at=2, runs=(a_run(id="x", name="planner", goal="g", answer="a", inferred=True),))]
    )
    sql = "SELECT TraceId, ServiceName, RunId, Name, Role, Goal, Answer, Status, Turns, ToolCalls, Inferred, Beside "
    (found,) = store.rows(f"{sql} FROM agent_runs")
    assert found == (TRACE_ID, "shop", "x", "planner", "manager", "g", "a", "ok", 1, 0, True, False)


def test_the_ledger_has_the_last_word_of_each_judge(store: SharedStore) -> None:
    """One row a subject and judge, whatever versions were used: why has this trace no score?"""
    judging = StoredJudging(store)
    judging.save([a_judged_trace(judged_at=1, version="v1")])
    judging.save([a_judged_trace(judged_at=2, version="v2", outcome=Outcome.FAILED)])
    sql = "SELECT SubjectKind, SubjectId, Judge, Version, Outcome FROM ledger"
    assert store.rows(sql) == [("trace", TRACE_ID, "detectors", "v2", "failed")]
