"""The queries that the documents show run on the tables as they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from store_parts import a_finding, a_judged_subject, a_judged_trace, a_span

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.llm_rows import AnswerRow
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

DOCS = Path(__file__).parents[3] / "docs"
INDENTED = re.compile(r"^(?:    .+\n?)+", re.MULTILINE)
QUERIES = [
    pytest.param(" ".join(block.split()), id=f"{name}-{number}")
    for name in ("storage.md", "ledger.md")
    for number, block in enumerate(
        re.sub(r"^    --.*\n", "", found, flags=re.MULTILINE) for found in INDENTED.findall((DOCS / name).read_text())
    )
    if "SELECT " in block
]


def test_there_are_some() -> None:
    """The pattern finds what the documents show."""
    assert len(QUERIES) >= 5


@pytest.mark.parametrize("query", QUERIES)
def test_a_documented_query_runs_and_finds(store: SharedStore, query: str) -> None:
    """With one trace, judged by all, just now: each gives a row."""
    now = int(store.rows("SELECT toUnixTimestamp64Nano(now64(9))")[0][0])
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(start=now, end=now)], now))
    StoredJudging(store).save([a_judged_trace(a_finding(), judged_at=now, received=now)])
    StoredLlmJudging(store).save([a_judged_subject(judged_at=now, received=now)])
    StoredLlmJudging(store).keep([AnswerRow("k", "m", "t", "stop", 1, 0, 1, 0.5, now, "shop")])
    assert store.rows(query)


def test_the_documented_engines_are_those_of_the_tables(store: SharedStore) -> None:
    """Every table is documented; those that `FINAL` does not read are named, with their engine."""
    made = "SELECT name, engine FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%Tree'"
    engines: dict[str, str] = {name: engine for name, engine in store.rows(made)}  # noqa: C416  rows are sequences
    text = (DOCS / "storage.md").read_text()
    tables = text.partition("## Tables")[2].partition("| view |")[0]
    documented = {
        name for row in re.findall(r"^\| (`.+?) \|", tables, re.MULTILINE) for name in re.findall("`(.+?)`", row)
    }
    assert documented == set(engines)
    exceptions = " ".join(tables.split()).partition("All are ReplacingMergeTree")[2].partition(". ")[0]
    for name, engine in engines.items():
        told = engine if f"`{name}`" in exceptions else "ReplacingMergeTree"
        assert (name, engine) == (name, told)
        assert engine == "ReplacingMergeTree" or engine in exceptions
