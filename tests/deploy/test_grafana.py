"""The dashboards: well-formed, and every SQL in them runs on the real tables and says what it should."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
import yaml
from dashboards import DEPLOY, dashboards, sql, targets
from store_parts import a_finding, a_judged_subject, a_judged_trace, a_run, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.llm_rows import ANSWER_COLUMNS
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.verdicts import Outcome, SubjectKind, TraceSpend

CLICKHOUSE = "tracejury-clickhouse.json"
KINDS = {"prometheus", "grafana-clickhouse-datasource"}


@pytest.mark.parametrize("name", sorted(dashboards()))
def test_a_dashboard_is_well_formed(name: str) -> None:
    """Unique ids, panels side by side, a description where a title does not say all, its one data source throughout."""
    board = dashboards()[name]
    panels = board["panels"]
    assert len({p["id"] for p in panels}) == len(panels)
    assert board["schemaVersion"] >= 39
    assert board["templating"]["list"][0]["name"] == "datasource"
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        place = panel["gridPos"]
        columns, lines = range(place["x"], place["x"] + place["w"]), range(place["y"], place["y"] + place["h"])
        cells = {(x, y) for x in columns for y in lines}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
    for title, target in targets(board):
        assert target["datasource"]["uid"] == "${datasource}", title
        assert target["datasource"]["type"] in KINDS
        assert len(target.get("expr") or target.get("rawSql")) > 10


def test_ids_lead_to_the_pages() -> None:
    """In tables with trace and span ids a click opens the collector's page."""
    board = dashboards()[CLICKHOUSE]
    (latest,) = [p for p in board["panels"] if p["title"] == "Latest findings"]
    links = {o["matcher"]["options"]: o["properties"][0]["value"][0]["url"] for o in latest["fieldConfig"]["overrides"]}
    assert links == {
        "TraceId": "${pages}/traces/${__value.raw}",
        "SpanId": "${pages}/spans/${__value.raw}?trace=${__data.fields.TraceId}",
    }


def test_provisioning_names_what_there_is() -> None:
    """The data sources that the dashboards need, and a folder of dashboards."""
    folder = DEPLOY / "grafana" / "provisioning"
    sources = yaml.safe_load((folder / "datasources" / "tracejury.yaml").read_text())["datasources"]
    assert {source["type"] for source in sources} == KINDS
    (provider,) = yaml.safe_load((folder / "dashboards" / "tracejury.yaml").read_text())["providers"]
    assert Path(provider["options"]["path"]).is_absolute()


@pytest.fixture
def filled(store: SharedStore) -> tuple[SharedStore, int]:
    """A trace of now with two findings, a verdict, a run without a score, and a call that cost something."""
    now = time.time_ns()
    second = 10**9
    spans = [
        a_span(span_id="a" * 16, name="run", start=now - 5 * second, end=now - second, status_code=2),
        a_span(start=now - 4 * second, end=now - 2 * second, parent_span_id="a" * 16),
    ]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, now))
    found = (a_finding(first_seen=now), a_finding(category="Timeout Issues", first_seen=now))
    judged = a_judged_trace(*found, judged_at=now, received=now, runs=(a_run(),))
    judged = type(judged)(judged.trace, judged.judgement, judged.changed, spent=TraceSpend(1, 1, 0.5))
    StoredJudging(store).save([judged])
    StoredLlmJudging(store).save(
        [
            a_judged_subject(judged_at=now, received=now, score=3),
            a_judged_subject("plan-quality", judged_at=now, received=now, outcome=Outcome.FAILED, reason="no answer"),
        ]
    )
    values: dict[str, Any] = {
        "tenant": "", "Key": "k", "At": now, "Model": "m", "Text": "", "FinishReason": "", "InputTokens": 1,
        "CachedTokens": 0, "OutputTokens": 1, "Cost": 0.25, "Priced": True, "Service": "shop", "TraceId": "",
        "RunId": "", "Purpose": "", "ReceivedAt": now,
    }  # fmt: skip
    store.insert("answers", ANSWER_COLUMNS, [[values[name]] for name in ANSWER_COLUMNS])
    return store, now // second


@pytest.mark.parametrize("service", ["", "shop"])
def test_every_query_runs_and_finds_what_is_there(filled: tuple[SharedStore, int], service: str) -> None:
    """With Grafana's macros expanded: rows in the time, a time first where it is a series; none of another service."""
    store, now = filled
    board = dashboards()[CLICKHOUSE]
    seen = 0
    for title, target in targets(board):
        text = target["rawSql"]
        rows = store.rows(sql(text, database=store.database, since=now - 600, until=now + 60, service=service))
        assert rows, title
        if target["queryType"] == "timeseries":
            assert hasattr(rows[0][0], "year"), title
        assert store.rows(sql(text, database=store.database, since=10, until=20, service=service)) == [], title
        if "${service" in text:
            elsewhere = sql(text, database=store.database, since=now - 600, until=now + 60, service="bank")
            assert store.rows(elsewhere) == [], title
        seen += 1
    assert seen > 12


@pytest.mark.parametrize("name", ["\\' OR 1=1 --", "a\\", "it's", "a,b) OR (1", "x&var-service=y", "ü %27 +\n", "${x}"])
def test_a_service_may_be_called_anything(store: SharedStore, name: str) -> None:
    """Names come out of spans: what is chosen is found, under that very name, and is no SQL."""
    now = time.time_ns()
    spans = [
        a_span(span_id=f"{n:016x}", service=service, start=now, end=now) for n, service in enumerate((name, "shop"))
    ]
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, now))
    board = dashboards()[CLICKHOUSE]
    (query,) = [t["rawSql"] for title, t in targets(board) if title == "Spans by service"]
    since = now // 10**9 - 600
    rows = store.rows(sql(query, database=store.database, since=since, until=since + 700, service=name))
    assert {row[1] for row in rows} <= {name}
    assert rows or "&var-service=" in name
    assert not any("${service" in t["rawSql"].replace("${service:queryparam}", "") for _, t in targets(board))


def test_variables_find_their_values(filled: tuple[SharedStore, int]) -> None:
    """The database of the store, and its services."""
    store, now = filled
    board = dashboards()[CLICKHOUSE]
    queries = {v["name"]: v["query"] for v in board["templating"]["list"] if v["type"] == "query"}
    said = {
        name: [row[0] for row in store.rows(sql(q, database=store.database, since=now - 600, until=now + 60))]
        for name, q in queries.items()
    }
    assert store.database in said["database"]
    assert said["service"] == ["shop"]


def test_the_figures_are_those_of_the_store(filled: tuple[SharedStore, int]) -> None:
    """A few of the panels, value by value."""
    store, now = filled
    found = {t: target["rawSql"] for t, target in targets(dashboards()[CLICKHOUSE])}

    def rows(title: str) -> list[Any]:
        text = sql(found[title], database=store.database, since=now - 600, until=now + 60)
        return [tuple(row) for row in store.rows(text)]

    assert {row[1:] for row in rows("Findings by category")} == {("Resource Abuse", 1), ("Timeout Issues", 1)}
    assert [row[1] for row in rows("Traces with a finding")] == [1.0]
    assert rows("Worst agents") == [("shop", "planner", 1, 1)]
    assert [row[1:] for row in rows("Mean score by judge")] == [("goal-fulfilment", 3.0)]
    assert rows("Why runs have no score") == [("plan-quality", "failed", "no answer", 1)]
    assert [row[2] for row in rows("What judging costs")] == [0.25]
    assert [row[2] for row in rows("What agents cost")] == [0.5]
    assert SubjectKind.AGENT_RUN.value in found["Why runs have no score"]
