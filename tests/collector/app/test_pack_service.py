"""The whole collector with a pack: real receivers, real store, litellm, and a real HTTP server as the model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from collecting import asking, configured, send, settled
from hook_server import SECRET, hook_server
from llm_server import llm_server
from pack_bench import CHAT, SERVICE, Called, exchange
from pack_service import CONVERSATION, VALUES, judges, otlp, script

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig


def config(dsn: str, judging: Mapping[str, Any], **more: Any) -> CollectorConfig:
    """Quick to settle; what lacks its root waits for it."""
    return configured(dsn, judging={"quiet_seconds": 0.2}, judges=judging, **more)


async def ask(collector: Collector, path: str, body: Any = None) -> Any:
    """An answer of the API."""
    async with asking(collector) as client:
        answer = await (client.get(path) if body is None else client.post(path, json=body))
        assert answer.status_code == httpx.codes.OK, answer.text
        return answer.json()


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's key stands in the environment."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")


async def test_a_conversation_sent_over_otlp_is_measured_and_its_fault_found(served_dsn: str) -> None:
    """Exchanges are judged as they end; somebody closes the session; a restart changes nothing."""
    with llm_server(script) as model:
        async with Collector(config(served_dsn, judges(model.base))) as collector:
            for spans in CONVERSATION:
                await send(collector, otlp(spans))
            await settled(collector)
            assert (await ask(collector, "/api/measures?pack=pipa"))["items"][0]["worst"] == []
            judged = await ask(collector, "/api/judge", {"session": CHAT, "service": SERVICE})
            assert {item["trace_id"] for item in judged["items"]} == {"a" * 32, "b" * 32}
            (measured,) = await closed(collector)
            found = (await ask(collector, "/api/errors?judge=pipa-state"))["items"]
        async with Collector(config(served_dsn, judges(model.base))) as collector:
            await settled(collector)
            (again,) = await closed(collector)
    assert measured["values"] == again["values"] == VALUES
    assert (measured["service"], measured["session_id"]) == (SERVICE, CHAT)
    ((title, quote),) = {(error["category"], error["evidence"]) for error in found}
    assert (title, quote) == ("inconsistent state", "look_up_order")


CARD = {
    "id": "t1",
    "oracle": {
        "steps": [{"id": "look", "tool": "look_up_order"}, {"id": "pay", "tool": "refund", "write": True}],
        "order": [["look", "pay"]],
        "forbidden": [{"tool": "delete_account"}],
    },
}
BUSY = exchange("a", "Refund it.", [Called("delete_account", "{}", "deleted")], "Done.", extra={"task_id": "t1"})


async def test_a_forbidden_call_is_told_while_the_agent_works_and_decides_the_task(
    served_dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is named. The root is announced, and the next LLM call has begun.

    After a restart the session has the same measure.
    """
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    card = tmp_path / "card.json"
    card.write_text(json.dumps(CARD))
    root, *others = BUSY
    begun = replace(root, end=root.start, attributes={**root.attributes, "tracejury.pending": "true"})
    begun = replace(begun, attribute_types={"tracejury.pending": "bool"})
    with hook_server() as server:
        hook = {"name": "stop", "url": server.url, "secret": "${HOOK_SECRET}", "judges": ["rut-oracle"]}
        alone = {"packs": ["rut"], "pack_settings": {"rut": {"checks": ["rut-oracle"]}}, "tasks": [str(card)]}
        async with Collector(config(served_dsn, alone, webhooks=[hook])) as collector:
            await send(collector, otlp([begun, *others]))
            ((said),) = [received.said for received in await asyncio.to_thread(server.wait, 1)]
            await send(collector, otlp([root]))
            await settled(collector)
            await ask(collector, "/api/judge", {"session": CHAT, "service": SERVICE})
            (measured,) = await closed(collector)
        async with Collector(config(served_dsn, alone, webhooks=[hook])) as collector:
            await settled(collector)
            (again,) = await closed(collector)
    assert "unauthorised tool" in json.dumps(said)
    assert others[1].span_id in json.dumps(said)
    assert measured["values"] == again["values"]
    assert measured["values"]["SR"] == 0


async def closed(collector: Collector) -> list[dict[str, Any]]:
    """The measured sessions, once there are any."""
    for _ in range(240):
        await asyncio.sleep(0.25)
        packs = (await ask(collector, "/api/measures"))["items"]
        if worst := [one for pack in packs if pack["unit"] == "session" for one in pack["worst"]]:
            return worst
    pytest.fail("the session is not judged")
