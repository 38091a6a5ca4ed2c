"""A whole collector in this process: on free ports, quick to settle, sent to over OTLP/HTTP and asked by its API."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from google.protobuf.message import Message
from llm_server import LlmServer

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config

FREE = {name: {"endpoint": "127.0.0.1:0"} for name in ("grpc", "http", "api")}
QUICK = {"quiet_seconds": 0.2, "rootless_seconds": 0.2}


def configured(dsn: str, **sections: Any) -> CollectorConfig:
    """On free ports, traces settle after a fifth of a second; `sections` of the file take the place of these."""
    return load_config(None, {"store": {"dsn": dsn}, "judging": QUICK} | FREE | sections)


def scripted(model: LlmServer, **more: Any) -> dict[str, Any]:
    """The section `judges` for a model of ours, whose key stands in SCRIPTED_KEY; it is asked once a run is over."""
    key = {"api_base": model.base, "api_key_env": "SCRIPTED_KEY"}
    return {"model": "openai/scripted", **key, "streaming": False} | more


def asking(collector: Collector) -> httpx.AsyncClient:
    """A client of the API."""
    return httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.api_port}", timeout=60)


async def ask(collector: Collector, path: str, **params: str) -> Any:
    """What the API says."""
    async with asking(collector) as client:
        return (await client.get(path, params=params)).raise_for_status().json()


async def send(collector: Collector, *requests: Message | bytes, signal: str = "traces") -> None:
    """Requests over OTLP/HTTP, each acknowledged."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{collector.http_port}", timeout=60) as client:
        for request in requests:
            body = request if isinstance(request, bytes) else request.SerializeToString()
            headers = {"content-type": "application/x-protobuf"}
            (await client.post(f"/v1/{signal}", content=body, headers=headers)).raise_for_status()


async def settled(collector: Collector) -> None:
    """Wait until everything is judged and closed."""
    async with asyncio.timeout(60):
        while not collector.idle:  # noqa: ASYNC110  idleness is asked for, as any user of the collector does
            await asyncio.sleep(0.02)
