"""A collector whose clock is ours, filled with the gallery: two days of traces, scripted judges, some labels."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any

import httpx
from gallery import HOUR, MINUTE, SLOT_MINUTES, Shown, gallery, part, perform
from gallery_judges import judged
from gallery_runs import FAULTY_ACTS
from llm_server import llm_server

from tracejury.collector.app.service import Collector
from tracejury.collector.config import CollectorConfig, load_config

SECOND = 1_000_000_000
PROTOBUF = {"Content-Type": "application/x-protobuf"}
PATIENCE = 120.0
LABELLED = 80
"""Runs that people have looked at."""


@dataclass
class Hands:
    """A clock that goes on from where it was set."""

    at: int
    _set: int = field(default_factory=time.monotonic_ns)

    def __call__(self) -> int:
        return self.at + time.monotonic_ns() - self._set

    def move(self, at: int) -> None:
        """Never back."""
        self.at, self._set = max(at, self()), time.monotonic_ns()


@dataclass
class Gallery:
    """The collector with what was sent to it. `open` is a trace that is still going on."""

    collector: Collector
    client: httpx.AsyncClient
    hands: Hands
    shown: list[Shown] = field(default_factory=list)
    open: Shown | None = None

    @property
    def url(self) -> str:
        """Of the pages."""
        return f"http://127.0.0.1:{self.collector.api_port}"

    def latest(self, service: str, title: str) -> Shown:
        """The last trace of that kind."""
        return next(one for one in reversed(self.shown) if (one.service, one.act.title) == (service, title))

    async def send(self, one: Shown, request: Any = None) -> None:
        """As a client does; it is stored when this returns."""
        body = (request or one.request).SerializeToString()
        url = f"http://127.0.0.1:{self.collector.http_port}/v1/traces"
        (await self.client.post(url, content=body, headers=PROTOBUF)).raise_for_status()

    async def settle(self) -> None:
        """Wait until the open traces are closed and nothing is left to judge."""
        deadline = time.monotonic() + PATIENCE
        while not self.collector.idle:
            if time.monotonic() > deadline:
                raise TimeoutError("judging takes too long")
            await asyncio.sleep(0.02)

    async def ask(self, method: str, path: str, **how: Any) -> dict[str, Any]:
        """The API's answer."""
        answer = await self.client.request(method, f"{self.url}{path}", **how)
        answer.raise_for_status()
        told: dict[str, Any] = answer.json()
        return told


def gallery_config(folder: Path, model_base: str) -> CollectorConfig:
    """Free ports, a store in `folder` in which nothing expires, judges at the model server, which cost something."""
    price = {"input_usd_per_million": 3, "output_usd_per_million": 15}
    return load_config(None, {
        "store": {"dsn": f"chdb://{folder}/db", "retention_days": None},
        **{name: {"endpoint": "127.0.0.1:0"} for name in ("grpc", "http", "api")},
        "judging": {"quiet_seconds": 0.2},  # of real time: its thread does not see that the clock was moved
        "judges": {
            "model": "openai/scripted-judge", "api_base": model_base, "budget": {"usd_per_day": 5}, **price,
            "policies": [{"service": "help-desk"}, {"service": "*", "rate": 0.5}],
        },
        "prices": {
            "scripted-large": price,
            "scripted-small": {"input_usd_per_million": 0.4, "output_usd_per_million": 1.6},
        },
    })  # fmt: skip


@asynccontextmanager
async def gallery_world(folder: Path, now: int, *, hours: int = 48) -> AsyncIterator[Gallery]:
    """Up to `now` (unix nanos). The judges' key is any: the model is a script on loopback."""
    with llm_server(judged) as model:
        hands = Hands(now - (hours + 1) * HOUR)
        async with (
            httpx.AsyncClient(trust_env=False, timeout=60) as client,
            Collector(gallery_config(folder, model.base), clock=hands) as collector,
        ):
            world = Gallery(collector, client, hands)
            await fill(world, now, hours)
            yield world


async def fill(world: Gallery, now: int, hours: int) -> None:
    """Slot by slot, so that each is judged at its time; then what people say, then a trace that does not end."""
    for _, slot in groupby(gallery(now, hours=hours), key=lambda one: (now - one.at) // (SLOT_MINUTES * MINUTE)):
        for one in sorted(slot, key=lambda one: one.at):
            world.hands.move(one.at)
            await world.send(one)
            world.shown.append(one)
        await world.settle()
    await label(world)
    world.hands.move(now - 4 * SECOND)
    act = next(act for act in FAULTY_ACTS["help-desk"] if act.title == "ledger late")
    chance = random.Random(3)  # noqa: S311  a draw of examples, no secret
    world.open = perform(act, "help-desk", now, chance, version="2.1.0", session="talk-1999")
    await world.send(world.open, part(world.open, world.open.spans[:-3]))
    world.hands.move(now)


async def label(world: Gallery) -> None:
    """Two people look at runs that the queue draws: with most of what is found in traces with a fault they agree."""
    faults = {one.trace_id: one.act.fault for one in world.shown}

    def agreed(finding: dict[str, Any]) -> bool:
        return bool(faults[finding["trace_id"]]) and int(finding["id"], 16) % 9 > 0

    for annotator in ("Ada", "Grace"):
        drawn = await world.ask(
            "GET", "/api/labels/queue", params={"annotator": annotator, "limit": LABELLED // 2, "since": "1d"}
        )
        for item in drawn["items"]:
            found = await world.ask("GET", "/api/findings", params={"trace": item["trace_id"], "limit": 50})
            said = [
                {"annotator": annotator, "finding_id": f["id"], "opinion": ("disagree", "agree")[agreed(f)]}
                for f in found["items"]
            ]
            if said:
                await world.ask("POST", "/api/annotations", json={"items": said})
            review = {"annotator": annotator} | {
                k: item[k] for k in ("trace_id", "agent_run_id", "stratum", "probability")
            }
            await world.ask("POST", "/api/reviews", json={"items": [review]})
