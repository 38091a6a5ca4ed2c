"""Traces and sessions by the beginning of their id."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from house import open_house
from listed_traces import Listed, store_all
from otlp_parts import span, text, traces
from served_api import KNOWN, NOW, PLAIN, Api, row
from store_parts import a_span

from tracejury.collector.cli.root import root
from tracejury.collector.store.lists.prefixes import session_ids_from, trace_ids_from
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns


def run(api: Api, *args: str) -> Result:
    return CliRunner().invoke(root, args, env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})


@pytest.mark.parametrize("given", [KNOWN, "aaaa", "AAAA", "a", "aaaa…"])
def test_a_beginning_opens_the_one_trace(api: Api, given: str) -> None:
    """On the command line, in the API and, by a redirect that keeps the parameters, as a page."""
    api.put_known()
    shown = run(api, "trace", given, "--format", "json")
    assert (shown.exit_code, json.loads(shown.stdout)["trace_id"]) == (0, KNOWN)
    assert api.get(f"/api/traces/{given}")["trace_id"] == KNOWN
    assert api.get("/api/errors", trace=given)["items"] == []
    assert api.get("/api/ledger", trace=given)["why"] is not None


def test_a_page_by_a_beginning_leads_to_the_whole_id(api: Api) -> None:
    """With its parameters."""
    api.put_known()
    answer = api.client.get("/traces/bbb?profile=recall", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/traces/{PLAIN}?profile=recall")


def test_a_beginning_of_several_names_them(api: Api) -> None:
    """A wrong value, with up to ten of the ids; a whole id is never taken for a beginning."""
    api.put_rows(*[replace(row(n), trace_id=f"a{n:x}".ljust(32, "0")) for n in range(1, 14)])
    refused = run(api, "trace", "a")
    assert (refused.exit_code, refused.stdout, refused.stderr.count("\n")) == (2, "", 1)
    assert "several traces begin with 'a', give more of the id: a1000" in refused.stderr
    assert refused.stderr.rstrip().endswith(", …")
    assert api.get("/api/traces/a")[0] == 422
    api.put_rows(*[replace(row(20 + n), session_id=name) for n, name in enumerate(("s1", "s10", "s11", "other"))])
    assert run(api, "session", "s1").exit_code == 0
    assert "give more of the id: s1, s10, s11" in run(api, "session", "s").stderr
    assert json.loads(run(api, "session", "oth", "--format", "json").stdout)["session_id"] == "other"
    page = api.client.get("/sessions/oth", headers={"Accept": "text/html"})
    assert (page.status_code, 'Session <span class="mono">other</span>' in page.text) == (200, True)


@pytest.mark.parametrize("given", ["c", "x'; --", "…", "%"])
def test_what_no_id_begins_with_is_not_found(api: Api, given: str) -> None:
    """Hostile beginnings are only text."""
    assert run(api, "trace", given).exit_code == 4
    assert run(api, "session", given).exit_code == 4


def test_the_api_deletes_no_trace_by_a_beginning(api: Api) -> None:
    """What is gone cannot be had back: the whole id must be given."""
    api.put_known()
    assert api.client.delete("/api/traces/aaaa").status_code != 200


def test_judging_and_deleting_by_a_beginning(tmp_path: Path) -> None:
    """The command line shows the whole id before it deletes; a beginning of several is refused."""
    first, second = (f"{n:x}".ljust(32, "0") for n in (0xA1, 0xA2))
    with open_house(tmp_path) as house:

        def tracejury(*args: str, say: str = "") -> Result:
            return CliRunner().invoke(root, [*args, "--url", house.url], input=say)

        facts = [text("openinference.span.kind", "AGENT"), text("session.id", "talk")]
        house.put(traces(*(span(trace_id=bytes.fromhex(i), attributes=facts) for i in (first, second))))
        house.wait_until_settled(2)
        for command in (["judge", "--trace"], ["delete", "--yes", "--trace"]):
            refused = tracejury(*command, "a")
            assert (refused.exit_code, "several traces begin with 'a'" in refused.stderr) == (2, True)
            assert tracejury(*command, "b").exit_code == 4
        judged = json.loads(tracejury("judge", "--trace", "A1", "--format", "json").stdout)
        assert [one["trace_id"] for one in judged] == [first]
        kept = tracejury("delete", "--trace", "a1", say="n\n")
        assert f"Delete trace {first}?" in kept.stderr
        assert len(house.traces()) == 2
        deleted = tracejury("delete", "--trace", "a1", "--yes")
        assert (deleted.exit_code, deleted.stdout) == (0, "1 trace deleted\n")
        assert deleted.stderr.startswith(f"a1 is the beginning of trace {first}\nrows: ")
        assert [one["trace_id"] for one in house.traces()] == [second]
        deleted = tracejury("delete", "--session", "ta", "--yes")
        assert deleted.stdout == "1 trace deleted\n"
        assert deleted.stderr.startswith("ta is the beginning of session talk\nrows: ")
        assert re.search(r"^receipt [0-9a-f]{32}$", deleted.stderr, re.MULTILINE)


def test_ids_by_their_beginning(store: SharedStore) -> None:
    """In order, bounded, of one tenant, also of traces that were not judged yet; by the sort key."""
    store_all(store, [Listed(n, session=f"talk/{n % 3}") for n in range(1, 9)])
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(trace_id="fe" * 16)], NOW))
    store.pending.arrived([("", "fe" * 16)], NOW)
    ids = sorted([Listed(n).trace_id for n in range(1, 9)] + ["fe" * 16])
    assert trace_ids_from(Scope(store), "", 100) == ids
    assert trace_ids_from(Scope(store), "", 3) == ids[:3]
    for trace_id in ids:
        assert trace_ids_from(Scope(store), trace_id[:7], 5) == [i for i in ids if i.startswith(trace_id[:7])]
    assert trace_ids_from(Scope(store, "other"), "fe", 5) == []
    assert session_ids_from(Scope(store), "talk/", 2) == ["talk/0", "talk/1"]
    assert session_ids_from(Scope(store), "talk/%", 2) == session_ids_from(Scope(store, "other"), "talk/", 2) == []
    plan = store.rows(
        "EXPLAIN indexes = 1 SELECT DISTINCT TraceId FROM traces WHERE tenant = '' AND startsWith(TraceId, 'fe') "
        "ORDER BY TraceId LIMIT 11"
    )
    assert "(TraceId in ['fe', 'ff'))" in "\n".join(line for (line,) in plan).partition("PrimaryKey")[2]
