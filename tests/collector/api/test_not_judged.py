"""What was not judged says so, in lists, by filter, on pages, in rates and on the command line."""

from __future__ import annotations

from dataclasses import replace

import pytest
from click.testing import CliRunner
from doctor_traces import AGENT, built, span, whole
from served_api import KNOWN, Api, finding, row

from tracejury.collector.cli.root import root
from tracejury.collector.queries.present import present_trace
from tracejury.schemas.not_judged import NotJudged

IDLE, WAITING = row(2).trace_id, row(3).trace_id


@pytest.fixture
def told(api: Api) -> Api:
    """A judged trace, one of which nothing was called, and one that waits."""
    api.put_rows(
        replace(row(1), trace_id=KNOWN),
        replace(row(2), not_judged=NotJudged.NO_CALLS),
        replace(row(3), not_judged=NotJudged.WAITING),
    )
    return api


def ids(api: Api, path: str = "/api/traces", **params: str) -> list[str]:
    return [one["trace_id"] for one in api.get(path, **params)["items"]]


def run(api: Api, *args: str) -> str:
    done = CliRunner().invoke(root, [*args], env={"TRACEJURY_URL": api.url, "COLUMNS": "200"})
    assert done.exit_code == 0
    return done.stdout


def test_lists_say_why(told: Api) -> None:
    """Null and true for what was judged."""
    found = {one["trace_id"]: (one["judged"], one["not_judged"]) for one in told.get("/api/traces")["items"]}
    assert found == {KNOWN: (True, None), IDLE: (False, "no-calls"), WAITING: (False, "waiting")}


def test_lists_are_filtered_by_it(told: Api) -> None:
    """By yes, by no, and by one reason; of sessions as of traces."""
    expected = {"yes": [KNOWN], "no": [IDLE, WAITING], "no-calls": [IDLE], "waiting": [WAITING], "no-content": []}
    for judged, traces in expected.items():
        assert ids(told, judged=judged) == traces
        page = told.client.get("/traces", params={"judged": judged}).text
        assert [one for one in (KNOWN, IDLE, WAITING) if f"/traces/{one}" in page] == traces
    assert told.get("/api/traces", judged="maybe")[0] == 422
    assert told.get("/api/sessions", judged="no")["items"] == []


def test_the_command_line_says_why(told: Api) -> None:
    """In place of a count of errors that would pass for a result."""
    lines = run(told, "traces").splitlines()
    assert [next((why.words for why in NotJudged if why.words in line), "") for line in lines if "svc" in line] == [
        "",
        "no model or tool was called",
        "not judged yet",
    ]
    assert IDLE in run(told, "traces", "--judged", "no-calls")
    assert KNOWN not in run(told, "traces", "--judged", "no")


def test_none_stands_only_where_a_judge_looked(told: Api) -> None:
    """In the list, and on the page of a trace."""
    page = told.client.get("/traces").text
    assert page.count('<span class="muted">none</span>') == 1
    assert page.count(">no model or tool was called</a>") == 1
    looked, idle = (told.client.get(f"/traces/{one}").text for one in (KNOWN, IDLE))
    assert "not judged</a>" not in looked
    assert "no model or tool was called" in idle
    assert "Nothing was found, as it was not judged" in idle


def test_errors_show_whatever_else_was_not_judged(api: Api) -> None:
    """Of calls without content, say: statuses tell errors, too."""
    api.put_rows(replace(row(0), not_judged=NotJudged.NO_CALLS))
    api.put(finding(1))
    (one,) = api.get("/api/traces", profile="0")["items"]
    assert (one["judged"], sum(one["errors"].values())) == (False, 1)
    assert one["worst_error"]["title"] in api.client.get("/traces", params={"profile": "0"}).text
    assert "1 " in run(api, "traces", "--profile", "0")


def test_one_trace_says_why(told: Api) -> None:
    """Whole, in parts, and of its runs."""
    assert told.get(f"/api/traces/{KNOWN}")["not_judged"] is None
    assert told.get(f"/api/traces/{IDLE}")["not_judged"] == "no-calls"
    assert told.get(f"/api/traces/{WAITING}")["not_judged"] == "waiting"
    assert told.get(f"/api/traces/{IDLE}", limit="5")["not_judged"] == "no-calls"
    assert "not judged: no model or tool was called" in run(told, "trace", IDLE)
    assert "0 errors" not in run(told, "trace", IDLE)
    assert "0 errors" in run(told, "trace", KNOWN)


def test_rates_count_traces_beside_runs(told: Api) -> None:
    """Those of the time and service asked for, simulated ones apart."""
    assert told.get("/api/rates")["traces"] == {"judged": 1, "not_judged": {"no-calls": 1, "waiting": 1}}
    assert told.get("/api/rates", service="svc")["traces"]["judged"] == 1
    assert told.get("/api/rates", service="desk")["traces"] == {"judged": 0, "not_judged": {}}
    assert told.get("/api/rates", simulated="true")["traces"] == {"judged": 0, "not_judged": {}}
    assert "of 3 traces 1 judged; not judged: 1 no model or tool was called, 1 not judged yet" in run(told, "rates")
    page = told.client.get("/").text
    assert "every run stands in the rate" not in page
    assert "judged=no-calls" in page


def test_a_run_says_why() -> None:
    """Beside one of which a judge can say something."""
    trace = built([*whole(), span(4, 0, AGENT)])
    assert [run.not_judged for run in present_trace(trace, ()).agent_runs] == [None, "no-calls"]
