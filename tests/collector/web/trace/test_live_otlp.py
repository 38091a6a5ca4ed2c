"""A page that grows while an agent sends its spans over OTLP to a collector of its own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from browsing import Watched
from otlp_parts import text, traces
from processes import Serving, serving
from trace_pages import ANSWER, CALL, TRACE_ID, failing_run

from tracejury.schemas.spans import Span

pytest.importorskip("chdb", reason="the embedded engine is not installed")


def send(collector: Serving, *spans: Span) -> None:
    """Send these spans as a client does; the collector answers once they are stored."""
    from opentelemetry.proto.trace.v1 import trace_pb2

    items = [
        trace_pb2.Span(
            trace_id=bytes.fromhex(s.trace_id),
            span_id=bytes.fromhex(s.span_id),
            parent_span_id=bytes.fromhex(s.parent_span_id),
            name=s.name,
            start_time_unix_nano=s.start,
            end_time_unix_nano=s.end,
            attributes=[text(key, value) for key, value in s.attributes.items()],
            status=trace_pb2.Status(code=s.status_code, message=s.status_message),  # type: ignore[arg-type]  # an int
        )
        for s in spans
    ]
    answer = httpx.post(
        f"http://127.0.0.1:{collector.ports['http']}/v1/traces",
        content=traces(*items).SerializeToString(),
        headers={"Content-Type": "application/x-protobuf"},
        trust_env=False,
        timeout=30,
    )
    assert answer.status_code == 200


def test_a_trace_that_streams_in_over_otlp(tmp_path: Path, open_site: Callable[[str], Watched]) -> None:
    """Turns and provisional findings come in without a reload and become current; a stop does not wait for the page."""
    agent, call, tool, answer = failing_run()
    with serving(tmp_path) as collector:
        send(collector, call)
        site = open_site(collector.url)
        page = site.page
        page.set_default_timeout(60_000)
        site.open(f"/traces/{TRACE_ID}?span={CALL}")
        page.evaluate("window.stayed = true")
        page.locator("text=running").wait_for()
        send(collector, tool)
        send(collector, answer)
        page.locator(f"#span-{ANSWER}").wait_for()
        page.locator("#trace-errors .jump[data-state=provisional]").first.wait_for()
        send(collector, agent)
        page.locator("#trace-errors .jump[data-state=current]").first.wait_for()
        page.locator('#trace-facts[data-state="settled"]').wait_for()
        assert page.evaluate("window.stayed")
        site.check_quiet()
        site.open("/errors")
        page.locator("#tail .tail-row").first.wait_for()
        assert collector.stop() == 0
