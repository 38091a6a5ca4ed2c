"""The whole collector with the pack RUT: users of conversations over OTLP, one of them simulated, in its rates."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import httpx
import pytest
from collecting import asking, configured, scripted, send, settled
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from pack_bench import CHAT, SERVICE, FairChecker, Fault, exchange
from pack_service import otlp

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig

STATED = {"tracejury.simulated": "true", "tracejury.behaviour": "goal-switching"}
ROOT, *OTHERS = exchange("c", "Hurry up", [], "Well.", session="played", at=60)
PLAYED = replace(ROOT, attributes={**ROOT.attributes, **STATED}, attribute_types={"tracejury.simulated": "bool"})
TRACES = (
    exchange("a", "What do you sell?", [], "Lamps."),
    exchange("b", "Hurry up, a lamp.", [], "Here it is.", at=30),
    [PLAYED, *OTHERS],
)
CHECKER = FairChecker((Fault("rut-behaviour", "impatience-and-hostility", "Hurry up", "They press."),))
REAL = {"ideal": 1, "impatience-and-hostility": 1}


def script(call: Call) -> Play:
    """Checks are answered by the checker, which finds the quote in the second conversation and the third."""
    last = call.prompt.rpartition("user\n")[2]
    return Play(text=CHECKER.reply(last)) if "# rut-" in last else Play(findings=0)


def config(dsn: str, model: LlmServer) -> CollectorConfig:
    """One model; only behaviours are asked about."""
    settings = {"rut": {"checks": ["rut-behaviour"]}}
    judges = scripted(model, packs=["rut"], judges=["goal-fulfilment"], pack_settings=settings)
    return configured(dsn, judges=judges)


async def labelled(client: httpx.AsyncClient, simulated: str, wanted: dict[str, int]) -> dict[str, int]:
    """Judged runs by behaviour, as wanted or, after a while, as they are."""
    given = {"by": "behaviour", "population": "detectors", "simulated": simulated, "since": "2020-01-01"}
    found: dict[str, int] = {}
    for _ in range(240):
        page: Any = (await client.get("/api/rates", params=given)).raise_for_status().json()
        found = {row["key"]: row["judged"] for row in page["items"]}
        if found == wanted:
            break
        await asyncio.sleep(0.25)
    return found


async def test_users_are_labelled_and_a_simulated_one_counts_apart(
    served_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From spans to rates by behaviour; judged again and after a restart the figures are the same."""
    monkeypatch.setenv("SCRIPTED_KEY", "sk-1")
    played = {"goal-switching": 1}
    with llm_server(script) as model:
        async with Collector(config(served_dsn, model)) as collector:
            await send(collector, *map(otlp, TRACES))
            async with asking(collector) as api:
                assert await labelled(api, "false", REAL) == REAL
                assert await labelled(api, "true", played) == played
                (await api.post("/api/judge", json={"session": CHAT, "service": SERVICE})).raise_for_status()
                await settled(collector)
                assert await labelled(api, "false", REAL) == REAL
                queue = (await api.get("/api/labels/queue", params={"simulated": "true"})).raise_for_status().json()
                assert {item["trace_id"] for item in queue["items"]} == {"c" * 32}
        async with Collector(config(served_dsn, model)) as collector, asking(collector) as api:
            assert await labelled(api, "false", REAL) == REAL
            assert await labelled(api, "true", played) == played
