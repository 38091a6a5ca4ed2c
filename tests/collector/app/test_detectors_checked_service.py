"""Detectors' errors before LLM judges in the whole collector: OTLP in, model over HTTP, API, pages, command line."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest
from click.testing import CliRunner
from collecting import configured, scripted, send, settled
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans
from reports import items_of, reply
from trace_pages import ANSWER, CALL, MANAGER, TOOL, TRACE_ID, a_span, failing_run, llm

from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.otlp.codec.encode import resource_of, span_message
from tracejury.schemas.spans import Span

REASON = "S3 says where 42 is from."
OTHER = "c" * 32


def claiming_run() -> list[Span]:
    """An agent that reports a sum that nothing holds: a candidate."""
    task, said = "Refund order 7731 if it is late.", "I have refunded 229.00 EUR."
    order = '{"id": "7731", "status": "late", "total": "180.00 EUR"}'
    asked = [("user", task), ("assistant", "I look it up."), ("tool", order)]
    spans = [
        a_span(MANAGER, "", "AGENT", "clerk", 0, 20, attributes={"input.value": task, "output.value": said}),
        llm(CALL, MANAGER, 1, asked[:1], "I look it up.", find_order='{"id": "7731"}'),
        a_span(
            TOOL, MANAGER, "TOOL", "find_order", 3, 1, attributes={"tool.name": "find_order", "output.value": order}
        ),
        llm(ANSWER, MANAGER, 5, asked, said),
    ]
    return [replace(span, trace_id=OTHER) for span in spans]


def says(call: Call) -> Play:
    """No findings of its own; failed calls are confirmed, inventions refuted, candidates confirmed."""
    asked = items_of(str(call.body["messages"][-1]["content"]))
    if "=== items " not in call.prompt:
        return Play(findings=0)
    words = {"could not be opened": "confirmed", "229.00": "confirmed"}
    said = {n: next((w for key, w in words.items() if key in told), "refuted") for n, told in asked.items()}
    return Play(text=reply({n: (word, REASON) for n, word in said.items()}))


def request(spans: list[Span]) -> bytes:
    first = spans[0]
    resource = resource_of({"service.name": first.service}, {})
    scope = ScopeSpans(spans=[span_message(span, "") for span in spans])
    return ExportTraceServiceRequest(
        resource_spans=[ResourceSpans(resource=resource, scope_spans=[scope])]
    ).SerializeToString()


@pytest.fixture
def model() -> Iterator[LlmServer]:
    with llm_server(says) as server:
        yield server


async def test_opinions_show_wherever_errors_do(
    served_dsn: str, model: LlmServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The refuted error leaves balanced and says why, the confirmed one gains, the candidate shows in balanced."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-x")
    async with Collector(configured(served_dsn, judges=scripted(model))) as collector:
        await send(collector, request(failing_run()), request(claiming_run()))
        await settled(collector)
        base = f"http://127.0.0.1:{collector.api_port}"
        async with httpx.AsyncClient(base_url=base, timeout=30) as client:
            balanced = (await client.get("/api/errors")).json()["items"]
            recall = (await client.get("/api/errors", params={"profile": "recall"})).json()["items"]
            (refuted,) = [one for one in recall if one["verification"] == "refuted"]
            page = (await client.get(f"/traces/{TRACE_ID}", params={"profile": "recall"})).text
            spend = (await client.get("/api/ledger")).json()["spend"]["day"]
        told = await asyncio.to_thread(
            CliRunner().invoke, root, ["error", refuted["id"]], env={"TRACEJURY_URL": base, "COLUMNS": "200"}
        )
    assert {(one["trace_id"], one["judge"], one["verification"]) for one in balanced} == {
        (TRACE_ID, "file-error", "verified"),
        (OTHER, "unsupported-detail", "verified"),
    }
    assert refuted["judge"].startswith("ungrounded-")
    assert (refuted["confidence"] <= 0.2, refuted["verification_reason"]) == (True, REASON)
    assert REASON in page
    assert REASON in told.output
    assert spend["calls"] == 2 * 3
