"""Findings and agent runs as data sets, over the real store and the real API."""

from __future__ import annotations

import io
import json
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_type_hints

import httpx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from served_api import served
from store_parts import a_finding, a_judged_trace, a_run, a_span
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.queries.dataset import reading, writing
from tracejury.collector.queries.dataset.reading import Exporter
from tracejury.collector.queries.dataset.writing import json_lines, parquet
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.annotations import Annotation, Opinion, Review
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceView
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.spans import Span
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.wire.dataset import ErrorRow, FindingRow, RunRow, TrailRow

HOSTILE = 'x\u202e"\r\n\x00\x1b[2J</script>{"a":1}\n\n=cmd()'
KIND = "openinference.span.kind"


def spans_of(trace_id: str, goal: str = "Find it.") -> list[Span]:
    """An agent that calls its model twice."""
    agent = {KIND: "AGENT", "agent.name": "planner", "input.value": goal, "output.value": "nothing found"}
    said = {
        KIND: "LLM", "llm.input_messages.0.message.role": "user", "llm.input_messages.0.message.content": goal,
        "llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": "I will look.",
    }  # fmt: skip
    again = said | {"llm.output_messages.0.message.content": "nothing found"}
    return [
        a_span(trace_id=trace_id, span_id="a" * 16, name="planner.run", attributes=agent, start=10, end=90),
        a_span(trace_id=trace_id, span_id="b" * 16, parent_span_id="a" * 16, attributes=said, start=20, end=30),
        a_span(trace_id=trace_id, span_id="c" * 16, parent_span_id="a" * 16, attributes=again, start=40, end=50),
    ]


def fill(store: SharedStore, *trace_ids: str, goal: str = "Find it.", findings: int = 1, **of: Any) -> list[Finding]:
    """Traces with findings at their second LLM call, as detectors would have left them."""
    made: list[Finding] = []
    for number, trace_id in enumerate(trace_ids):
        spans = spans_of(trace_id, goal)
        store.insert("spans", SPAN_COLUMNS, span_columns(spans, number + 1))
        found = [
            a_finding(
                **{"trace_id": trace_id, "span_id": "c" * 16, "agent_run_id": "a" * 16, "turn": 1, "judge": f"rule-{n}",
                   "first_seen": 1_000 + len(made) + n} | of
            )
            for n in range(findings)
        ]  # fmt: skip
        run = a_run(id="a" * 16, name="planner")
        StoredJudging(store).save([a_judged_trace(*found, trace_id=trace_id, received=number + 1, runs=(run,))])
        made += found
    return made


@pytest.fixture
def reader(store: SharedStore) -> StoredReader:
    return stored_reader(store, AssemblerConfig(), lambda: 10**18)


@pytest.fixture
def api(reader: StoredReader) -> Iterator[httpx.Client]:
    app = create_web_app(
        Services(reader, lambda _ids, _by_hand: [], problems=lambda: (), metrics=lambda: b"", clock=lambda: 10**18)
    )
    with served(app) as url, httpx.Client(base_url=url) as client:
        yield client


def lines(client: httpx.Client, **params: Any) -> list[Any]:
    """The rows of an export as JSON lines."""
    answer = client.get("/api/export", params=params).raise_for_status()
    return [json.loads(line) for line in answer.content.split(b"\n") if line]


def table(client: httpx.Client, **params: Any) -> pa.Table:
    """The same rows from Parquet."""
    return pq.read_table(io.BytesIO(client.get("/api/export", params={"format": "parquet", **params}).content))


def test_a_finding_with_the_run_around_it(store: SharedStore, reader: StoredReader, api: httpx.Client) -> None:
    """Its fields as in /api/findings, the run's goal, answer and transcript, the label of its step, what people say."""
    (finding,) = fill(store, "1" * 32)
    other = Annotation(
        id="l2",
        trace_id=finding.trace_id,
        span_id=finding.span_id,
        annotator="ann",
        category="Timeout Issues",
        severity=Severity.HIGH,
    )
    about = replace(other, id="l1", category=finding.category, opinion=Opinion.AGREE, finding_id=finding.id)
    reader.labels.save(Labelled([about, other]))
    (row,) = lines(api)
    (found,) = api.get("/api/findings").json()["items"]
    assert {key: row[key] for key in found} == found
    assert set(row) == set(get_type_hints(FindingRow))
    assert (row["run_goal"], row["run_answer"], row["run_role"]) == ("Find it.", "nothing found", "manager")
    assert row["label"] == "S2"
    assert "S1" in row["transcript"]
    assert "I will look." in row["transcript"]
    assert [(a["annotator"], a["opinion"]) for a in row["labels"]] == [("ann", "agree")]


def test_an_error_with_the_run_around_it(store: SharedStore, reader: StoredReader, api: httpx.Client) -> None:
    """One mistake: its fields as in /api/errors, its run, its findings, and what people say of any of them."""
    first, second = fill(store, "1" * 32, findings=2)
    fill(store, "2" * 32, category="Timeout Issues", severity=Severity.LOW)
    said = Annotation(
        id="l1",
        trace_id=second.trace_id,
        span_id=second.span_id,
        annotator="ann",
        category=second.category,
        severity=Severity.HIGH,
    )
    reader.labels.save(Labelled([replace(said, opinion=Opinion.DISAGREE, finding_id=second.id)]))
    row, other = sorted(lines(api, rows="errors"), key=lambda row: row["trace_id"])
    (found,) = api.get("/api/errors", params={"trace": "1" * 32}).json()["items"]
    assert {key: row[key] for key in found} == found
    assert set(row) == set(get_type_hints(ErrorRow))
    assert (row["run_goal"], row["run_answer"], row["run_role"]) == ("Find it.", "nothing found", "manager")
    assert (row["label"], "I will look." in row["transcript"]) == ("S2", True)
    assert {f["id"] for f in row["findings"]} == {first.id, second.id} == set(row["finding_ids"])
    assert [(a["finding_id"], a["opinion"]) for a in row["labels"]] == [(second.id, "disagree")]
    assert (len(other["findings"]), other["labels"]) == (1, [])
    for filters in ({"severity": "HIGH"}, {"judge": "rule-1"}, {"trace": "1" * 32}, {"category": second.category}):
        assert [one["id"] for one in lines(api, rows="errors", **filters)] == [row["id"]]


def test_a_run_with_everything_in_it(store: SharedStore, reader: StoredReader, api: httpx.Client) -> None:
    """Transcript, steps, findings with labels, labels and reviews; a run without findings is a row, too."""
    fill(store, "1" * 32, findings=2)
    fill(store, "2" * 32, findings=0)
    reader.labels.save(Labelled(reviews=[Review(trace_id="1" * 32, agent_run_id="a" * 16, annotator="ann")]))
    rows = {row["trace_id"]: row for row in lines(api, rows="runs")}
    row = rows["1" * 32]
    assert set(row) == set(get_type_hints(RunRow))
    assert [(s["label"], s["kind"], s["span_id"]) for s in row["steps"]] == [
        ("S1", "llm", "b" * 16), ("S2", "llm", "c" * 16),
    ]  # fmt: skip
    assert [f["label"] for f in row["findings"]] == ["S2", "S2"]
    assert [r["annotator"] for r in row["reviews"]] == ["ann"]
    assert row["errors"] == {"HIGH": 1, "MEDIUM": 0, "LOW": 0}, "two findings of one mistake"
    (listed,) = (one for one in api.get("/api/traces").json()["items"] if one["trace_id"] == row["trace_id"])
    assert (row["errors"], row["worst_error"]) == (listed["errors"], listed["worst_error"])
    assert (rows["2" * 32]["errors"]["HIGH"], rows["2" * 32]["worst_error"]) == (0, None)
    assert rows["2" * 32]["findings"] == rows["2" * 32]["reviews"] == []


def test_the_layout_of_trail(store: SharedStore, api: httpx.Client) -> None:
    """Errors by span id in the keys of its annotation files; other taxonomies are left out."""
    finding, _ = fill(store, "1" * 32), fill(store, "2" * 32, taxonomy="ours")
    rows = {row["trace_id"]: row["errors"] for row in lines(api, rows="trail")}
    assert rows == {
        "1" * 32: [{
            "category": "Resource Abuse", "location": "c" * 16, "evidence": finding[0].evidence,
            "description": finding[0].explanation, "impact": "HIGH",
        }],
        "2" * 32: [],
    }  # fmt: skip


@pytest.mark.parametrize(
    ("rows", "shape"), [("findings", FindingRow), ("errors", ErrorRow), ("runs", RunRow), ("trail", TrailRow)]
)
def test_parquet_holds_the_same_rows(store: SharedStore, api: httpx.Client, rows: str, shape: type) -> None:
    """Value by value, also what is hostile; columns follow from the shape."""
    fill(store, "1" * 32, "2" * 32, goal=HOSTILE.replace("\x00", ""), findings=2, evidence=HOSTILE)
    read = table(api, rows=rows)
    assert read.column_names == list(get_type_hints(shape))
    assert read.to_pylist() == lines(api, rows=rows)


@pytest.mark.parametrize("rows", ["findings", "errors", "runs", "trail"])
def test_nothing_to_export(api: httpx.Client, rows: str) -> None:
    """No line, and a Parquet file with columns and no rows."""
    assert lines(api, rows=rows) == []
    assert table(api, rows=rows).num_rows == 0
    assert table(api, rows=rows).column_names


def test_filters_and_limits(store: SharedStore, api: httpx.Client) -> None:
    """Those of /api/findings; latest first; a limit cuts."""
    fill(store, "1" * 32, findings=3)
    fill(store, "2" * 32, category="Timeout Issues")
    assert [r["category"] for r in lines(api, category="Timeout Issues")] == ["Timeout Issues"]
    assert len(lines(api, limit=2)) == 2
    assert api.get("/api/export", params={"limit": 0}).status_code == 422, "as elsewhere; all is without a limit"
    assert {r["trace_id"] for r in lines(api, trace="1" * 32)} == {"1" * 32}
    assert lines(api, service="bank") == []
    assert [r["agent"] for r in lines(api, rows="runs", agent="planner", limit=1)] == ["planner"]
    assert lines(api, rows="runs", agent="nobody") == []
    (bare,) = lines(api, trace="2" * 32, transcripts="false")
    assert (bare["transcript"], bare["label"]) == (None, "S2")


@pytest.mark.parametrize(
    ("params", "status", "word"),
    [
        ({"rows": "runs", "judge": "x"}, 422, "judge"),
        ({"rows": "spans"}, 422, "rows"),
        ({"rows": "errors", "session": "s"}, 422, "session"),
        ({"format": "csv"}, 422, "format"),
        ({"since": "yesterday"}, 422, "since"),
        ({"profile": "lax"}, 422, "profile"),
        ({"session": "s"}, 422, "session"),
        ({"trace": "9" * 32}, 404, "no trace"),
        ({"trace": "1", "rows": "runs", "since": "1h"}, 422, "trace"),
        ({"colour": "red"}, 422, "colour"),
    ],
)
def test_what_does_not_fit_is_refused_before_the_first_row(
    api: httpx.Client, params: dict[str, str], status: int, word: str
) -> None:
    """One line of JSON."""
    answer = api.get("/api/export", params=params)
    assert answer.status_code == status
    assert word in answer.json()["detail"]


def test_errors_are_read_in_pages(store: SharedStore, reader: StoredReader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each once, however many pages there are; a limit cuts."""
    monkeypatch.setattr(reading, "FINDINGS", 2)
    fill(store, *(f"{number:032x}" for number in range(1, 6)))
    exporter, query = Exporter(reader), ErrorQuery(Confidence.of("0"), 0)
    rows = [row.trace_id for row in exporter.errors(query, 0)]
    assert rows == [f"{number:032x}" for number in (5, 4, 3, 2, 1)]
    assert [row.trace_id for row in exporter.errors(query, 3)] == rows[:3]


def test_thousands_of_findings_take_little_memory(
    store: SharedStore, reader: StoredReader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come trace by trace: what is held does not grow with what is exported."""
    monkeypatch.setattr(reading, "FINDINGS", 200)
    fill(store, *(f"{number:032x}" for number in range(1, 21)), findings=100, explanation="because " * 400)
    exporter, query = Exporter(reader), ErrorQuery(Confidence.of("0"), 0)

    def export(limit: int) -> tuple[int, int, int]:
        """(rows, bytes, the most memory held meanwhile)."""
        rows = written = 0
        tracemalloc.start()
        for line in json_lines(exporter.findings(query, limit)):
            rows, written = rows + 1, written + len(line)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return rows, written, peak

    few, many = export(500), export(0)
    assert (few[0], many[0]) == (500, 2_000)
    assert many[1] > 6_000_000
    assert many[2] < 1.5 * few[2]
    assert many[2] < many[1] / 2


def test_row_groups_bound_what_parquet_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A group is written as soon as it is full, and leaves with the pieces."""
    monkeypatch.setattr(writing, "GROUP_BYTES", 5_000)
    rows = [TrailRow(trace_id=f"{n:032x}", errors=[]) for n in range(1_000)]
    taken = 0

    def feed() -> Iterator[TrailRow]:
        nonlocal taken
        for row in rows:
            taken += 1
            yield row

    pieces = parquet(feed(), TrailRow)
    first = next(pieces)
    assert 50 < taken < 150
    whole = pq.ParquetFile(io.BytesIO(first + b"".join(pieces)))
    assert whole.num_row_groups > 5
    assert whole.read().to_pylist() == [row.model_dump() for row in rows]


@settings(deadline=None)  # the first one imports Arrow
@given(st.lists(st.text(st.characters(codec=None), max_size=40), max_size=4))
def test_any_text_survives_both_forms(texts: list[str]) -> None:
    """Lone surrogates become U+FFFD in both; everything else is as it was."""
    errors = [dict.fromkeys(("category", "location", "evidence", "description", "impact"), text) for text in texts]
    row = TrailRow.model_validate({"trace_id": "t", "errors": errors})
    (line,) = json_lines([row])
    assert line.count(b"\n") == 1
    read = pq.read_table(io.BytesIO(b"".join(parquet([row], TrailRow)))).to_pylist()
    assert read == [json.loads(line)]


def test_a_trace_that_expires_meanwhile_is_left_out(store: SharedStore) -> None:
    """The others are exported."""
    fill(store, "1" * 32, "2" * 32)

    class Forgetful(StoredReader):
        def trace(self, trace_id: str, confidence: Confidence) -> TraceView | None:
            return None if trace_id == "1" * 32 else super().trace(trace_id, confidence)

    whole = stored_reader(store, AssemblerConfig())
    parts = (whole.labels, whole.rates, whole.calibrations, whole.measures)
    forgetful = Forgetful(store, AssemblerConfig(), *parts, lambda _query, row: row, clock=lambda: 10**18)
    rows = Exporter(forgetful).findings(ErrorQuery(Confidence.of("0"), 0), 0)
    assert [row.trace_id for row in rows] == ["2" * 32]
