"""Hostile but storable traces through the whole collector: stored, shown, judged, and the next one is not harmed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from collecting import asking, configured, settled
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, ArrayValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from otlp_parts import span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.otlp.client import replay

DAY = 86_400 * 10**9
MODEL = text("openinference.span.kind", "LLM")


def numbered(count: int, **fields: Any) -> list[Span]:
    return [span(span_id=n.to_bytes(8), **fields) for n in range(1, count + 1)]


def nested(depth: int) -> AnyValue:
    value = AnyValue(string_value="deep")
    for _ in range(depth):
        value = AnyValue(array_value=ArrayValue(values=[value]))
    return value


def cycle() -> list[Span]:
    return [span(span_id=n.to_bytes(8), parent_span_id=(n % 3 + 1).to_bytes(8), attributes=[MODEL]) for n in (1, 2, 3)]


def chain(length: int) -> list[Span]:
    agent = text("openinference.span.kind", "AGENT")
    return [
        span(span_id=n.to_bytes(8), parent_span_id=(n - 1).to_bytes(8) if n > 1 else b"", attributes=[agent])
        for n in range(1, length + 1)
    ]


HOSTILE: dict[str, Iterable[Span]] = {
    "no times": numbered(1, start_time_unix_nano=0, end_time_unix_nano=0),
    "end before start": numbered(1, end_time_unix_nano=1),
    "1970": numbered(1, start_time_unix_nano=1, end_time_unix_nano=2),
    "2262 and later": numbered(1, start_time_unix_nano=2**63 - 1, end_time_unix_nano=2**64 - 1),
    "150 days": [
        span(span_id=n.to_bytes(8), start_time_unix_nano=n * DAY, end_time_unix_nano=n * DAY + 1) for n in range(1, 151)
    ],
    "10,000 spans": numbered(10_000, attributes=[MODEL]),
    "agents 10,000 deep": chain(10_000),
    "a 20 MB attribute": numbered(1, attributes=[MODEL, text("input.value", "x" * 20_000_000)]),
    "10,000 attributes": numbered(1, attributes=[MODEL, *(text(f"a{n}", "v") for n in range(10_000))]),
    "nested 40 deep": numbered(1, attributes=[KeyValue(key="deep", value=nested(40))]),
    "a cycle of parents": cycle(),
    "an absurd message index": numbered(
        1, attributes=[MODEL, text(f"llm.input_messages.{10**18}.message.content", "hello")]
    ),
    "markup, SQL and terminal codes": numbered(
        1,
        name="'; DROP TABLE spans; --",
        attributes=[MODEL, text("output.value", "<script>alert(1)</script>\x1b[2J\x00\u202e{0}%s\\")],
    ),
    "an agent's name that is a pattern": numbered(
        1, attributes=[text("openinference.span.kind", "AGENT"), text("agent.name", "(a+)+$" * 500)]
    ),
    "broken JSON everywhere": numbered(
        1,
        attributes=[
            MODEL,
            text("input.value", '{"messages": [' * 5000),
            text("llm.tools.0.tool.json_schema", "{]"),
            text("llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments", "[[[[" * 10_000),
        ],
    ),
}


async def test_a_hostile_trace_is_stored_and_shown(served_dsn: str) -> None:
    """Every span of it is there, it settles, and a neighbour that comes after it is taken as ever."""
    async with Collector(configured(served_dsn)) as collector, asking(collector) as client:
        for number, (name, spans) in enumerate(HOSTILE.items(), 1):
            hostile = list(spans)
            own, neighbour = bytes([number]) * 16, bytes([100 + number]) * 16
            for one in hostile:
                one.trace_id = own
            requests = [traces(*hostile), traces(span(trace_id=neighbour))]
            sent = await replay(requests, f"127.0.0.1:{collector.grpc_port}", "grpc")
            assert sent.rejected == 0, name
            await settled(collector)
            for trace_id, count in ((own, len(hostile)), (neighbour, 1)):
                trace = (await client.get(f"/api/traces/{trace_id.hex()}")).raise_for_status().json()
                assert trace["spans"] == count, name
                assert trace["state"] in {"settled", "incomplete"}, name
            rows = (await client.get("/api/traces")).raise_for_status().json()["items"]
            assert {row["state"] for row in rows} <= {"settled", "incomplete"}, name
            assert len(rows) == 2 * number, name
