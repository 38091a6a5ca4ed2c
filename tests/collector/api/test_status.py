"""The status of traces and sessions: the same word in answers, filters, pages and on the command line."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from click.testing import CliRunner
from served_api import Api, row

from tracejury.collector.cli.root import root
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.trace_status import TraceStatus
from tracejury.schemas.trajectory import TraceState

CASES = list(product(TraceState, (None, NotJudged.NO_CONTENT, NotJudged.WAITING)))


@pytest.fixture
def told(api: Api) -> Api:
    """A trace of each state, judged or not: in a session of its own, and in one with a settled and judged trace."""
    for number, (state, why) in enumerate(CASES, 1):
        one = replace(row(number), state=state, not_judged=why, session_id=f"alone {number}")
        pair = replace(one, trace_id=row(number + 100).trace_id, session_id=f"pair {number}")
        api.put_rows(one, pair, replace(row(number + 200), session_id=f"pair {number}"))
    return api


@pytest.mark.parametrize(("path", "key"), [("/api/traces", "trace_id"), ("/api/sessions", "session_id")])
def test_each_status_finds_what_has_it(told: Api, path: str, key: str) -> None:
    """And the statuses together find everything once."""
    everything = {one[key]: one["status"] for one in told.get(path)["items"]}
    found = {status: {one[key] for one in told.get(path, status=status)["items"]} for status in TraceStatus}
    assert found == {status: {one for one, word in everything.items() if word == status} for status in TraceStatus}
    assert sum(map(len, found.values())) == len(everything) >= len(CASES)
    expected = set(TraceStatus) - ({TraceStatus.PARTLY_JUDGED} if key == "trace_id" else set())
    assert set(everything.values()) == expected


def test_an_unknown_status_is_refused_with_the_known_ones(told: Api) -> None:
    assert told.get("/api/traces", status="fine")[0] == 422


@pytest.mark.parametrize("status", ["running", "failed", "not-judged", "incomplete", "ok"])
def test_pages_and_the_command_line_ask_and_answer_in_these_words(told: Api, status: str) -> None:
    """The page's select has each; a row shows the word."""
    words = status.replace("-", " ")
    ids = {one["trace_id"] for one in told.get("/api/traces", status=status)["items"]}
    page = told.client.get("/traces", params={"status": status}).text
    assert f'<option value="{status}" selected>{words}</option>' in page
    assert {one["trace_id"] for one in told.get("/api/traces")["items"] if f"/traces/{one['trace_id']}" in page} == ids
    done = CliRunner().invoke(root, ["traces", "--status", status], env={"TRACEJURY_URL": told.url, "COLUMNS": "250"})
    lines = [line for line in done.stdout.splitlines() if " svc " in line]
    assert len(lines) == len(ids)
    assert all(words in line for line in lines)
