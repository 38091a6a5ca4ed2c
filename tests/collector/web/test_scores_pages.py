"""Scores of others on the pages of traces and sessions, in `tracejury scores` and `trace`, and as a filter."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from click.testing import CliRunner
from trace_pages import TOOL, TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore

HOSTILE = "<b id=hit>x</b>\x1b[2J\u202e'; DROP"


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*(replace(s, attributes={**s.attributes, "session.id": "talk"}) for s in failing_run()))
        yield made


def give(pages: Pages, *items: dict[str, Any]) -> None:
    answer = pages.client.post("/api/scores", json={"items": list(items)})
    assert answer.status_code == 200, answer.text


def run(pages: Pages, *args: str) -> str:
    result = CliRunner().invoke(root, [*args, "--url", pages.url], env={"COLUMNS": "200"})
    assert result.exit_code == 0, result.output
    return result.output


def test_pages_show_them_as_text(pages: Pages) -> None:
    """Beside what we say; a page without scores has no such part."""
    assert "Scores by others" not in pages.get(f"/traces/{TRACE_ID}").text
    before = pages.get(f"/api/traces/{TRACE_ID}").json()
    give(pages, {"trace_id": TRACE_ID, "span_id": TOOL, "name": HOSTILE.replace("\x1b", "").replace("\u202e", ""),
                 "value": 0.5, "label": HOSTILE, "explanation": HOSTILE, "source": "end user"},
         {"session_id": "talk", "name": "csat", "value": 4})  # fmt: skip
    for path, shown in ((f"/traces/{TRACE_ID}", ("end user", "0.5", TOOL)), ("/sessions/talk", ("csat", "end user"))):
        text = pages.get(path).text
        assert "Scores by others" in text
        assert "&lt;b id=hit&gt;" in text
        assert "<b id=hit>" not in text
        assert "\x1b" not in text
        assert all(one in text for one in shown), path
    assert pages.get(f"/api/traces/{TRACE_ID}").json() == before


def test_of_very_many_the_latest_are_shown(pages: Pages) -> None:
    """And how many more there are."""
    give(pages, *({"trace_id": TRACE_ID, "name": f"n{n}", "value": n} for n in range(120)))
    text = pages.get(f"/traces/{TRACE_ID}").text
    assert "And 70 more" in text


def test_the_command_line_lists_and_gives_them(pages: Pages) -> None:
    """The trace's own output has them below the tree."""
    said = run(pages, "scores", "add", "thumbs", "1", "--trace", TRACE_ID, "--source", "end user", "--why", "nice")
    assert said.endswith("stored\n")
    run(pages, "scores", "add", "tone", "--label", "rude", "--session", "talk", "--id", "mine")
    listed = run(pages, "scores", "list")
    assert "thumbs" in listed
    assert "rude" in listed
    up = json.loads(run(pages, "scores", "list", "--score", "thumbs>=1", "--format", "json"))
    assert [one["name"] for one in up] == ["thumbs"]
    run(pages, "scores", "add", "tone", "--session", "talk", "--id", "mine")
    assert "rude" not in run(pages, "scores", "list")
    assert "Scores by others" in run(pages, "trace", TRACE_ID)
    for value in ("good", "nan", "1e400"):
        refused = CliRunner().invoke(root, ["scores", "add", "thumbs", value, "--url", pages.url])
        assert refused.exit_code == 2
        assert "use --label for words" in refused.output


@pytest.mark.parametrize(
    ("asked", "found"),
    [("thumbs>=1", True), ("thumbs>1", False), ("thumbs=1", True), ("thumbs<=0", False), ("tone=rude", True),
     ("tone=kind", False), ("csat<5", True), ("other=1", False)],
)  # fmt: skip
def test_lists_are_filtered_by_them(pages: Pages, asked: str, found: bool) -> None:  # noqa: FBT001  a table
    """Those of the trace, of its spans and of its session, on pages, in the API and on the command line."""
    give(pages, {"trace_id": TRACE_ID, "name": "thumbs", "value": 1},
         {"trace_id": TRACE_ID, "span_id": TOOL, "name": "tone", "label": "rude"},
         {"session_id": "talk", "name": "csat", "value": 4},
         {"span_id": "f" * 16, "name": "other", "value": 1})  # fmt: skip
    for path in ("/api/traces", "/api/sessions"):
        assert bool(pages.get(path, other_score=asked).json()["items"]) == found
    assert bool(json.loads(run(pages, "traces", "--other-score", asked, "--format", "json"))) == found


def test_a_filter_that_means_nothing_is_refused(pages: Pages) -> None:
    answer = pages.get("/api/traces", other_score="thumbs")
    assert (answer.status_code, answer.json()["detail"]) == (
        422, "other_score: 'thumbs' is no NAME>=VALUE: a name without < > =, then <= >= < > or ="
    )  # fmt: skip


def test_they_are_exported_with_their_traces(pages: Pages) -> None:
    """In each row of an agent run."""
    give(pages, {"trace_id": TRACE_ID, "name": "thumbs", "value": 1})
    rows = [json.loads(line) for line in run(pages, "export", "-", "--runs").splitlines() if line[0] == "{"]
    assert rows
    assert all([one["name"] for one in row["given_scores"]] == ["thumbs"] for row in rows)
