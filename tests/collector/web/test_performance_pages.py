"""Latency, tokens, cost and failures of judged spans: pages, API and command line say the same."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner
from trace_pages import CALL, MANAGER, Pages, a_span, failing_run, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.spans import Span

USED = {"llm.token_count.prompt": "1000", "llm.token_count.completion": "20", "gen_ai.usage.cost": "0.25"}
CACHED = {"llm.token_count.prompt_details.cache_read": "400", "gen_ai.prompt.name": "greeting"}


def used(span: Span) -> Span:
    """The LLM call with tokens, a price and a prompt."""
    return replace(span, attributes=dict(span.attributes) | USED | CACHED)


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        made.put(*(used(span) if span.span_id == CALL else span for span in failing_run()))
        yield made


def figures(pages: Pages, **params: str) -> dict[str, object]:
    """The total of a question to the API."""
    total: dict[str, object] = pages.get("/api/performance", since="1d", **params).json()["total"]
    return total


def test_the_api_tells_runs_and_calls_apart(pages: Pages) -> None:
    """A run of 20 s, two LLM calls of 1 s of which one states its usage, a tool call that failed."""
    run = figures(pages)
    assert (run["units"], run["failed"], run["p50_seconds"], run["usd"]) == (1, 0, 20.0, 0.25)
    assert (run["input_tokens"], run["output_tokens"], run["cached_share"]) == (1000, 20, 0.4)
    llm = figures(pages, unit="llm_call")
    assert (llm["units"], llm["p99_seconds"], llm["unpriced"]) == (2, 1.0, 1)
    tool = figures(pages, unit="tool_call")
    assert (tool["units"], tool["failed"], tool["input_tokens"]) == (1, 1, 0)
    share = tool["failed_share"]
    assert isinstance(share, dict)
    assert share["value"] == 1
    assert 0.2 < share["low"] < 0.3


def test_groups_steps_and_filters(pages: Pages) -> None:
    """A break-down names its groups; a filter that names nothing says what there is; nonsense is refused."""
    page = pages.get("/api/performance", by="prompt", unit="llm_call", since="1d").json()
    assert {one["key"]: one["units"] for one in page["items"]} == {"greeting": 1, "": 1}
    stepped = pages.get("/api/performance", by="tool", unit="tool_call", since="1d", step="1h").json()
    assert [(one["key"], one["failed"]) for one in stepped["items"]] == [("read_file", 1)]
    assert stepped["step_seconds"] == 3600
    unknown = pages.get("/api/performance", agent="analist").json()
    assert (unknown["total"]["units"], unknown["unknown"]) == (0, {"agent": ["analyst"]})
    refused = pages.get("/api/performance", by="tool")
    assert refused.status_code == 422
    assert "a run has no tool: ask for the unit tool_call" in refused.json()["detail"]


def test_a_late_span_changes_what_is_counted(pages: Pages) -> None:
    """What came after the judging is judged, and counted, with it."""
    pages.put(a_span("00000000000000aa", MANAGER, "TOOL", "search", 8, 2, attributes={"tool.name": "search"}))
    assert figures(pages, unit="tool_call")["units"] == 2
    assert figures(pages, unit="tool_call", tool="search")["p50_seconds"] == 2.0


def test_what_has_not_ended_has_no_duration(pages: Pages) -> None:
    """A run whose agent is still at work counts, without a percentile."""
    begun = replace(a_span("00000000000000bb", "", "AGENT", "slow", 0, 0), trace_id="ab" * 16, pending=True, end=0)
    call = replace(a_span(CALL, begun.span_id, "LLM", "chat", 1, 1), trace_id=begun.trace_id)
    pages.put(begun, call)
    slow = figures(pages, agent="slow")
    assert (slow["units"], slow["p50_seconds"]) == (1, None)


def test_the_page_of_a_service(pages: Pages) -> None:
    """Figures, charts with their table, break-downs with links to traces, and no markup of names."""
    page = pages.get("/services", service="shop", range="7d").text
    assert "<h1>shop</h1>" in page
    assert page.count("data-chart=") == 3
    assert page.count("The figures as a table") == 3
    assert "20.0 s" in page
    assert "$0.25" in page
    tools = pages.get("/services/by/tool", service="shop", range="7d").text
    assert "/traces?range=7d&amp;service=shop&amp;tool=read_file" in tools
    assert "100\u202f%" in tools
    assert "/fragments/graph?range=7d&amp;service=shop" in page
    (traces,) = re.findall(r'href="(/traces\?[^"]*prompt=greeting)"', pages.get("/services/by/prompt", range="7d").text)
    assert "Table of traces" in pages.get(html.unescape(traces)).text
    assert 'href="/services?range=7d&amp;service=shop"' in pages.get("/services/by/service", range="7d").text
    assert pages.get("/services/by/nothing").status_code == 404
    assert "data-chart=" in pages.get("/overview/performance", range="7d").text
    assert "data-chart=" in pages.get("/overview/rate", range="7d").text


def test_filters_of_the_page_stay_in_its_links(pages: Pages) -> None:
    """An agent that is asked for narrows the figures and the traces behind them."""
    page = pages.get("/services", agent="nobody", unit="llm_call").text
    assert "LLM calls" in page
    assert 'name="agent" value="nobody"' in page
    assert "None in this time." in pages.get("/services/by/model", agent="nobody").text


def test_the_command_says_what_the_api_says(pages: Pages) -> None:
    """As a table and as JSON."""
    asked = ["performance", "--unit", "tool_call", "--by", "tool", "--url", pages.url]
    shown = CliRunner().invoke(root, asked, catch_exceptions=False)
    assert shown.exit_code == 0, shown.output
    assert "read_file" in shown.output
    assert "100.0 %" in shown.output
    told = json.loads(CliRunner().invoke(root, [*asked, "--format", "json"]).output)
    assert told["items"][0]["failed"] == 1
