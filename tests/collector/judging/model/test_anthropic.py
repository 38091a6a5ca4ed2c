"""A provider with a protocol of its own, through litellm: told which prefixes to keep, and what that saved is known."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
import pytest

from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.judges.llm.client import Prompt, PromptMessage

ANSWER = {
    "id": "x",
    "type": "message",
    "role": "assistant",
    "model": "claude-sonnet-4-5",
    "content": [{"type": "text", "text": '{"score": 2}'}],
    "stop_reason": "end_turn",
    "usage": {
        "input_tokens": 10,
        "cache_read_input_tokens": 2000,
        "cache_creation_input_tokens": 100,
        "output_tokens": 7,
    },
}
SCHEMA = {
    "type": "object",
    "properties": {"score": {"type": "integer"}},
    "required": ["score"],
    "additionalProperties": False,
}
KEPT = {"type": "ephemeral"}


async def test_prefixes_are_marked_and_cached_tokens_cost_less(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where messages say that later calls repeat what is before; tokens and cost are the provider's."""
    monkeypatch.setenv("TRACEJURY_TEST_KEY", "sk-ant-0123456789")
    bodies: list[dict[str, Any]] = []

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
        length = int(head.partition("content-length:")[2].partition("\r\n")[0])
        bodies.append(orjson.loads(await reader.readexactly(length)))
        reply = orjson.dumps(ANSWER)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n\r\n" + reply)
        writer.close()

    async with await asyncio.start_server(handle, "127.0.0.1", 0) as server:
        base = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        model = "anthropic/claude-sonnet-4-5"
        client = LiteLlmClient(LlmConfig(model=model, api_base=base, api_key_env="TRACEJURY_TEST_KEY", retries=0))
        said = (PromptMessage("system", "rules", cache=True), PromptMessage("user", "record", cache=True))
        reply = await client.complete(Prompt((*said, PromptMessage("user", "question")), schema=SCHEMA))
        price = client.price
        await client.close()
    [body] = bodies
    assert body["system"] == [{"type": "text", "text": "rules", "cache_control": KEPT}]
    assert body["messages"][0]["content"] == [
        {"type": "text", "text": "record", "cache_control": KEPT},
        {"type": "text", "text": "question"},
    ]
    assert "score" in str(body.get("output_format") or body.get("tools"))
    assert orjson.loads(reply.text) == {"score": 2}
    assert (reply.input_tokens, reply.cached_tokens, reply.output_tokens) == (2110, 2000, 7)
    assert price is not None
    assert reply.cost is not None
    # What is written into the cache costs a little more than what is only read.
    assert price.of(2110, 7, 2000) < reply.cost < price.of(2110, 7)
