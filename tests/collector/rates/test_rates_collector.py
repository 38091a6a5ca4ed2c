"""Rates and deletion over the whole collector, by HTTP."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from collecting import asking, configured, settled
from otlp_parts import span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request

KIND = "openinference.span.kind"


def config(dsn: str) -> CollectorConfig:
    return configured(dsn, store={"dsn": dsn, "tombstone_days": 0})


def run_of(number: int) -> Request:
    """One run of an agent, in a trace of its own."""
    trace_id = bytes([number]) * 16
    agent = span(trace_id=trace_id, span_id=b"agent001", name="assistant", attributes=[text(KIND, "AGENT")])
    said = [text(KIND, "LLM"), text("input.value", "Hello"), text("output.value", "Hi")]
    return traces(agent, span(trace_id=trace_id, span_id=b"model001", parent_span_id=b"agent001", attributes=said))


async def asked(client: httpx.AsyncClient, path: str, **params: str) -> Any:
    """The JSON of an answer."""
    return (await client.get(path, params=params)).raise_for_status().json()


async def test_a_run_counts_until_it_is_deleted(served_dsn: str) -> None:
    """From spans over OTLP to a rate, and from a deletion to none; an unknown trace is one line."""
    async with Collector(config(served_dsn)) as collector:
        await replay([run_of(1), run_of(2), run_of(3)], f"127.0.0.1:{collector.grpc_port}", "grpc")
        await settled(collector)
        async with asking(collector) as client:
            assert (await asked(client, "/api/rates", by="agent"))["total"]["judged"] == 3
            one = "01" * 16
            gone = await client.request("DELETE", f"/api/traces/{one}", json={})
            assert (gone.status_code, gone.json()["deleted"]) == (200, 1)
            again = await client.request("DELETE", f"/api/traces/{one}", json={})
            assert again.status_code == 404
            assert again.json()["detail"].startswith(f"no trace '{one}' is stored")
            assert (await asked(client, "/api/rates"))["total"]["judged"] == 2
            assert {t["trace_id"] for t in (await asked(client, "/api/traces"))["items"]} == {"02" * 16, "03" * 16}
            await settled(collector)
            await replay([run_of(1)], f"127.0.0.1:{collector.grpc_port}", "grpc")
            await settled(collector)
            assert (await asked(client, "/api/rates"))["total"]["judged"] == 3


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ({}, "name one of user, session, or service and before"),
        ({"service": "shop"}, "name one of user, session, or service and before"),
        ({"session": "s", "service": "shop", "before": "1h"}, "name one of user, session, or service and before"),
        ({"service": "shop", "before": "soon"}, "before: 'soon' is no point in time"),
        ({"service": "shop", "before": "1970-01-01"}, "before: nothing arrived before 1970"),
    ],
)
async def test_a_deletion_that_names_too_much_or_too_little(served_dsn: str, body: dict[str, str], why: str) -> None:
    """Nothing is deleted."""
    async with Collector(config(served_dsn)) as collector, asking(collector) as client:
        refused = await client.post("/api/delete", json=body)
    assert refused.status_code == 422
    assert why in refused.json()["detail"]
