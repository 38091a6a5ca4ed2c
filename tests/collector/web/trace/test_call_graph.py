"""The graph of agents and tools on pages, from the API and on the command line: of a trace and of a service."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace

import pytest
from click.testing import CliRunner
from trace_pages import TRACE_ID, Pages, failing_run, trace_pages

from tracejury.collector.cli.root import root
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.web.window import field_time
from tracejury.schemas.spans import Span

HOSTILE = "<script>window.hit=1</script>\u202e"


def run(tool: str = "read_file") -> list[Span]:
    """An agent with two tools that calls one, which fails."""
    given = {f"llm.tools.{n}.tool.json_schema": json.dumps({"name": name}) for n, name in enumerate([tool, "mail"])}
    return [
        replace(
            span,
            attributes={
                **{key: value.replace("read_file", tool) for key, value in span.attributes.items()},
                **(given if span.attributes["openinference.span.kind"] == "LLM" else {}),
            },
        )
        for span in failing_run()
    ]


@pytest.fixture
def pages(store: SharedStore) -> Iterator[Pages]:
    with trace_pages(store) as made:
        yield made


def test_trace_and_service_tell_the_same(pages: Pages) -> None:
    """Calls, failures and the tool that nobody called; the trace's graph is there before it is judged."""
    pages.put(*run(), settle=False)
    of_trace = pages.get(f"/api/traces/{TRACE_ID[:8]}/graph").json()
    pages.settle()
    of_service = pages.get("/api/graph", service="shop").json()
    assert of_trace == of_service
    assert [(e["kind"], e["caller"], e["callee"], e["calls"], e["failed"]) for e in of_trace["edges"]] == [
        ("entry", None, "analyst", 1, 0),
        ("tool", "analyst", "read_file", 1, 1),
        ("tool", "analyst", "mail", 0, 0),
    ]
    assert pages.get("/api/graph", service="desk").json()["unknown"] == {"service": ["shop"]}
    assert pages.get("/api/graph", since="1h", until="2h").status_code == 422
    assert pages.get("/api/traces/ffff/graph").status_code == 404


def test_pages_show_picture_table_and_what_was_never_called(pages: Pages) -> None:
    """The trace leads to its service; names lead to traces; both say what was available."""
    pages.put(*run())
    window = {"from": field_time(pages.now - 10**15), "to": field_time(pages.now + 10**9)}
    trace, service = pages.get(f"/traces/{TRACE_ID}").text, pages.get("/graph", service="shop", **window).text
    for page in (trace, service, pages.get("/fragments/graph", service="shop", **window).text):
        assert "<svg" in page
        assert "Available, never called" in page
        assert "read_file: 1 call, 1 failed" in page
        assert page.count("tool=read_file") == 1
    assert "/graph?service=shop" in trace
    assert "No agent ran" in pages.get("/graph", service="desk").text


def test_a_trace_whose_agents_could_call_nothing_has_no_graph(pages: Pages) -> None:
    """A box alone tells nothing; a part that stays can be filled while the trace grows."""
    pages.put(failing_run()[0])
    page = pages.get(f"/traces/{TRACE_ID}").text
    assert '<section class="panel" id="trace-graph" aria-labelledby="graph-title" hidden>' in page
    assert "call-graph" not in page.partition('id="trace-graph"')[2].partition("</h2>")[2]


def test_hostile_names_are_text(pages: Pages) -> None:
    """In the picture, in the table and in addresses."""
    pages.put(*run(HOSTILE))
    page = pages.get(f"/traces/{TRACE_ID}").text
    assert "<script>window" not in page
    assert "\u202e" not in page
    assert "&lt;script&gt;window.h" in page


def test_the_command_prints_both(pages: Pages) -> None:
    """Of a trace or of a time; not of both at once."""
    pages.put(*run())
    asked = {"--url": pages.url}.items()
    url = [part for pair in asked for part in pair]
    for arguments in (["graph", TRACE_ID[:8]], ["graph", "--service", "shop", "--since", "2023-01-01"]):
        told = CliRunner().invoke(root, [*arguments, *url], env={"COLUMNS": "160"})
        assert told.exit_code == 0, told.output
        rows = [line.split() for line in told.output.splitlines()]
        assert ["analyst", "mail", "tool", "never", "0", "0", "of", "1"] in rows
        assert "from outside" in told.output
    both = CliRunner().invoke(root, ["graph", TRACE_ID, "--service", "shop", *url])
    assert both.exit_code == 2
