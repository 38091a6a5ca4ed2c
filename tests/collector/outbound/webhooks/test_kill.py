"""kill -9 between sending and marking, with a real collector: nothing is lost, and ids stay the same."""

from __future__ import annotations

import asyncio
import json
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from hook_server import SECRET, Received, answer, hook_server
from opentelemetry.proto.trace.v1.trace_pb2 import Status
from otlp_parts import START, span, text, traces
from processes import serving

from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request

pytest.importorskip("chdb", reason="the embedded engine is not installed")

AGENTS = 12


def failing_agent(number: int) -> Request:
    """An agent whose tool takes no argument `town`."""
    trace_id, kind = number.to_bytes(16), "openinference.span.kind"
    call = "llm.output_messages.0.message.tool_calls.0.tool_call.function"
    schema = {"name": "weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}
    asks = [
        text(kind, "LLM"), text("llm.output_messages.0.message.role", "assistant"), text(f"{call}.name", "weather"),
        text(f"{call}.arguments", '{"town": "Oslo"}'), text("llm.tools.0.tool.json_schema", json.dumps(schema)),
    ]  # fmt: skip
    problem = "TypeError: weather() got an unexpected keyword argument 'town'"
    tool = span(
        trace_id=trace_id, span_id=b"tool0001", parent_span_id=b"agent001", name="weather",
        attributes=[text(kind, "TOOL"), text("tool.name", "weather"), text("input.value", '{"town": "Oslo"}')],
        status=Status(code=Status.STATUS_CODE_ERROR, message=problem), start_time_unix_nano=START + 2,
        end_time_unix_nano=START + 3,
    )  # fmt: skip
    agent = [text(kind, "AGENT"), text("agent.name", "assistant"), text("input.value", "How warm is it in Oslo?")]
    return traces(
        span(trace_id=trace_id, span_id=b"llm00001", parent_span_id=b"agent001", name="chat", attributes=asks),
        tool,
        span(trace_id=trace_id, span_id=b"agent001", name="run", attributes=agent, end_time_unix_nano=START + 9),
    )


def test_what_was_sent_and_not_marked_comes_again_with_the_same_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The receiver takes some and refuses the rest; the collector is killed and started again."""
    taken: set[str] = set()

    def takes_half(handler: BaseHTTPRequestHandler, received: Received) -> None:
        if len(taken) < AGENTS // 2:
            taken.add(received.id)
        answer(204 if received.id in taken else 500)(handler, received)

    with hook_server(takes_half) as server:
        monkeypatch.setenv("HOOK_SECRET", SECRET)
        config = tmp_path / "tracejury.yaml"
        hook = {"name": "ops", "url": server.url, "secret": "${HOOK_SECRET}", "profile": "0"}
        config.write_text(json.dumps({"webhooks": [hook], "judging": {"quiet_seconds": 0.2}}))
        with serving(tmp_path, "--config", str(config)) as collector:
            requests = [failing_agent(number) for number in range(1, AGENTS + 1)]
            asyncio.run(replay(requests, f"127.0.0.1:{collector.ports['grpc']}", "grpc"))
            before = {r.id for r in server.wait(AGENTS)}
            collector.process.kill()
            collector.process.wait()
        server.received.clear()
        server.behave = answer(204)
        with serving(tmp_path, "--config", str(config)):
            missing = before - taken
            count = len(missing)
            while missing - {r.id for r in server.wait(count)}:
                count += 1
    assert len(before) >= AGENTS // 2
    assert missing, "some were refused before the kill"
    assert all(r.signed for r in server.received)
    told = [r.said["data"]["finding"]["fingerprint"] for r in server.received]
    assert len(told) == len(set(told)), "no fingerprint twice in one life of the collector"
