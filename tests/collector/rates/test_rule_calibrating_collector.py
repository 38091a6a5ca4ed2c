"""Labels that move a detector's confidence on a service, over the whole collector."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest
from collecting import asking, configured, settled
from otlp_parts import span, text, traces

from tracejury.collector.app.service import Collector
from tracejury.collector.otlp.client import replay
from tracejury.collector.otlp.codec.groups import Request
from tracejury.collector.rates import rule_calibrating, upkeep
from tracejury.judges.registry import priors
from tracejury.judges.service_records import ServiceRecord, local_confidence

KIND = "openinference.span.kind"
RULE = "model-rate"


def limited(number: int) -> Request:
    """A run whose call to the model was refused, in a trace of its own."""
    own: dict[str, Any] = {"trace_id": bytes([number]) * 16}
    agent = span(**own, span_id=b"agent001", name="assistant", attributes=[text(KIND, "AGENT")])
    call = span(
        **own, span_id=b"call0001", parent_span_id=b"agent001", name="chat", attributes=[text(KIND, "LLM")],
        status={"code": 2, "message": "Rate limit exceeded: 429 Too Many Requests"},
    )  # fmt: skip
    return traces(agent, call, service="shop")


async def sent(collector: Collector, number: int) -> None:
    await replay([limited(number)], f"127.0.0.1:{collector.grpc_port}", "grpc")
    await settled(collector)


async def confidences(client: httpx.AsyncClient) -> dict[str, float]:
    """By trace, of the rule's findings."""
    answer = await client.get("/api/findings", params={"judge": RULE, "profile": "0"})
    return {one["trace_id"]: one["confidence"] for one in answer.raise_for_status().json()["items"]}


async def test_a_label_lowers_a_rule_on_its_service_and_holds_after_a_restart(
    served_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of what is stored and what comes; where the rule is switched off then, it retracts what it found."""
    monkeypatch.setattr(upkeep, "EVERY", 0.05)
    monkeypatch.setattr(rule_calibrating, "CALIBRATE_EVERY", 0)
    first, second, third = (f"{number:02x}" * 16 for number in range(1, 4))
    lowered = local_confidence(priors()[RULE], ServiceRecord(0, 1))
    async with Collector(configured(served_dsn)) as collector:
        await sent(collector, 1)
        await sent(collector, 2)
        async with asking(collector) as client:
            found = (await client.get("/api/findings", params={"judge": RULE})).json()["items"]
            assert {one["confidence"] for one in found} == {priors()[RULE].mean}
            said = {"annotator": "ann", "opinion": "disagree", "finding_id": found[0]["id"]}
            (await client.post("/api/annotations", json={"items": [said]})).raise_for_status()
            async with asyncio.timeout(60):
                while await confidences(client) != {first: lowered, second: lowered}:  # noqa: ASYNC110  as a user asks
                    await asyncio.sleep(0.2)
            await sent(collector, 3)
            assert (await confidences(client))[third] == lowered
            told = (await client.get(f"/api/explain/{RULE}", params={"service": "shop"})).json()
            assert "version 1, " in told["sections"][-1]["lines"][1]
    off = {"rules": [{"rule": RULE, "enabled": False, "services": ["shop"]}]}
    async with Collector(configured(served_dsn, detectors=off)) as collector, asking(collector) as client:
        async with asyncio.timeout(60):
            while await confidences(client):  # noqa: ASYNC110  as a user asks
                await asyncio.sleep(0.2)
        await sent(collector, 4)
        assert await confidences(client) == {}
        told = (await client.get(f"/api/explain/{RULE}", params={"service": "shop"})).json()
        assert told["sections"][-1]["lines"][0].startswith("switched off on this service by detectors.rules")
