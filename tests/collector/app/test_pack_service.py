"""The whole collector with a pack: real receivers, real store, litellm, and a real HTTP server as the model."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import httpx
import pytest
from llm_server import LlmServer, llm_server
from pack_bench import CHAT, SERVICE
from pack_service import CONVERSATION, VALUES, judges, otlp, script

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config
from tracejury.schemas.spans import Span

pytestmark = pytest.mark.store


def config(dsn: str, model: LlmServer) -> CollectorConfig:
    """Free ports, quick to settle."""
    free = {name: {"endpoint": "127.0.0.1:0"} for name in ("grpc", "http", "api")}
    return load_config(
        None, {"store": {"dsn": dsn}, "judging": {"quiet_seconds": 0.2}, **free, "judges": judges(model.base)}
    )


async def send(collector: Collector, spans: Sequence[Span]) -> None:
    """A trace over OTLP/HTTP."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.http_port}") as client:
        headers = {"Content-Type": "application/x-protobuf"}
        answer = await client.post("/v1/traces", content=otlp(spans), headers=headers)
        assert answer.status_code == httpx.codes.OK


async def ask(collector: Collector, path: str, body: Any = None) -> Any:
    """An answer of the API."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.api_port}", timeout=30) as client:
        answer = await (client.get(path) if body is None else client.post(path, json=body))
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()


async def idle(collector: Collector) -> None:
    """Wait until all is judged."""
    for _ in range(3000):
        await asyncio.sleep(0.01)
        if collector.idle:
            return
    pytest.fail("it takes too long")


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's key stands in the environment."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")


async def test_a_conversation_sent_over_otlp_is_measured_and_its_fault_found(served_dsn: str) -> None:
    """Exchanges are judged as they end; somebody closes the session; a restart changes nothing."""
    with llm_server(script) as model:
        async with Collector(config(served_dsn, model)) as collector:
            for spans in CONVERSATION:
                await send(collector, spans)
            await idle(collector)
            assert (await ask(collector, "/api/measures?pack=pipa"))["items"][0]["worst"] == []
            judged = await ask(collector, "/api/judge", {"session": CHAT, "service": SERVICE})
            assert {item["trace_id"] for item in judged["items"]} == {"a" * 32, "b" * 32}
            (measured,) = await closed(collector)
            found = (await ask(collector, "/api/errors?judge=pipa-state"))["items"]
        async with Collector(config(served_dsn, model)) as collector:
            await idle(collector)
            (again,) = await closed(collector)
    assert measured["values"] == again["values"] == VALUES
    assert (measured["service"], measured["session_id"]) == (SERVICE, CHAT)
    ((title, quote),) = {(error["category"], error["evidence"]) for error in found}
    assert (title, quote) == ("inconsistent state", "look_up_order")


async def closed(collector: Collector) -> list[dict[str, Any]]:
    """The measured sessions, once there are any."""
    for _ in range(600):
        await asyncio.sleep(0.05)
        (pack,) = (await ask(collector, "/api/measures?pack=pipa"))["items"]
        if pack["worst"]:
            worst: list[dict[str, Any]] = pack["worst"]
            return worst
    pytest.fail("the session is not judged")
