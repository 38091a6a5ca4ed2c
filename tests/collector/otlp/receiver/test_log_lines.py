"""Log lines about bad requests."""

from __future__ import annotations

import logging

import pytest
from otlp_clients import Client
from otlp_parts import RecordingSink, span, spans, traces

from tracejury.schemas.errors import OverloadedError


async def test_many_bad_requests_are_one_line_a_kind(
    client: Client, sink: RecordingSink, caplog: pytest.LogCaptureFixture
) -> None:
    """Rejected spans, refused requests and back-pressure are told, but nobody can fill the log."""
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            await client.send(traces(span(trace_id=b"x"), *spans(1)))
            await client.send_bytes(b"\xff")
            sink.errors = [OverloadedError("the disk is nearly full")]
            await client.send(traces(span()))
    transport = "grpc" if client.protocol == "grpc" else "http"
    lines = [record.getMessage() for record in caplog.records if record.name.startswith("tracejury")]
    assert lines[0] == f"{transport}: 1 spans rejected: trace id is not 16 bytes (1)"
    assert lines[1].startswith(f"{transport}: refused a request of traces: ")
    assert lines[2] == f"{transport}: refused a request of traces: the disk is nearly full"
    assert len(lines) == 3
