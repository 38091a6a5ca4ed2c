"""The whole collector: traces over OTLP, a rule, and a chat endpoint that refuses at first."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from chat_endpoints import chat_endpoint
from click.testing import CliRunner
from collecting import ask, configured, send, settled
from hook_server import answer
from two_projects import Tenant

from tracejury.collector.alerting import alerting, sender
from tracejury.collector.app.service import Collector
from tracejury.collector.cli.root import root
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.text.moments import parse_since

HOUR = 3600 * 10**9
RULES = [
    {
        "name": "failing",
        "channels": ["chat"],
        "rate": {"above": 0.02, "service": "shop-service", "certainty": 0.9, "least": 5, "profile": "0"},
    }
]
CHANNELS = [{"name": "chat", "kind": "slack", "url": "${CHAT}"}]


QUICK = {
    **(sender.ChannelSender.__init__.__kwdefaults__ or {}),
    "retry": RetryPolicy(first=0.01, longest=0.02, longest_asked=0.02),
}


@dataclass
class Clock:
    """The real time and some hours more."""

    more: int = 0

    def __call__(self) -> int:
        return time.time_ns() + self.more


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks and retries as soon as can be; what they ask for is heeded as milliseconds."""
    monkeypatch.setattr(alerting, "STEP", 0.02)
    monkeypatch.setattr(alerting, "EVERY", 0.02)
    monkeypatch.setattr(alerting, "SHARE", 0)
    monkeypatch.setattr(sender.ChannelSender.__init__, "__kwdefaults__", QUICK)


@asynccontextmanager
async def collecting(dsn: str, clock: Clock, **alerts: Any) -> AsyncIterator[Collector]:
    config = configured(dsn, channels=CHANNELS, alerts={"rules": RULES, **alerts})
    async with Collector(config, clock=clock) as collector:
        yield collector


async def looked(collector: Collector, clock: Clock) -> Any:
    """What the API says of the rule once it has looked at the present time."""
    now = clock()
    async with asyncio.timeout(60):
        while True:
            rules = (await ask(collector, "/api/alerts"))["rules"]
            if rules and nanos(rules[0]["looked_at"]) > now:
                return rules[0]
            await asyncio.sleep(0.02)


def nanos(iso: str) -> int:
    return parse_since(iso, 0)


async def test_a_rule_tells_once_and_is_resolved_over_restarts(
    served_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    with chat_endpoint("slack") as chat:
        monkeypatch.setenv("CHAT", chat.url)
        refusals = [answer(500), answer(429, {"retry-after": "1"}), answer(500)]

        def at_first(handler: Any, received: Any) -> None:
            (refusals.pop(0) if refusals else chat)(handler, received)

        chat.server.behave = at_first
        async with collecting(served_dsn, clock) as collector:
            for number in range(1, 9):
                await send(collector, Tenant("shop", "", bytes([number]) * 16).request())
            await settled(collector)
            await asyncio.to_thread(chat.server.wait, 4)
            rule = await looked(collector, clock)
            assert [state["state"] for state in rule["states"]] == ["firing"]
            await shown(collector)
        assert len({json.dumps(said) for said in chat.said}) == 1  # the same, until it is taken
        assert "had an error in the last hour" in json.dumps(chat.said[-1])
        async with collecting(served_dsn, clock) as collector:  # neither forgotten nor told again
            clock.more += HOUR + 10 * 60 * 10**9
            assert (await looked(collector, clock))["states"][0]["state"] == "firing"
            assert len(chat.said) == 4
            clock.more += 2 * HOUR
            await asyncio.to_thread(chat.server.wait, 5)
            history = (await ask(collector, "/api/alerts"))["history"]
            assert [told["state"] for told in history] == ["resolved", "firing"]
        assert chat.problems == []


async def shown(collector: Collector) -> None:
    """On the page and by the command, as by the API."""
    url = f"http://127.0.0.1:{collector.api_port}"
    told = await asyncio.to_thread(CliRunner().invoke, root, ["alerts", "list", "--url", url], env={"COLUMNS": "300"})
    assert told.exit_code == 0
    assert "firing" in told.output
    assert "chat: sent" in told.output


async def test_a_channel_that_hangs_stops_neither_judging_nor_looking(
    served_dsn: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the stop of the collector; the next one tells what it left."""
    clock = Clock()
    with chat_endpoint("slack") as chat:
        monkeypatch.setenv("CHAT", chat.url)
        taking: Any = chat.server.behave
        chat.server.behave = lambda _handler, _received: asyncio.run(asyncio.sleep(3))
        async with collecting(served_dsn, clock) as collector:
            for number in range(1, 9):
                await send(collector, Tenant("shop", "", bytes([number]) * 16).request())
            await settled(collector)
            await asyncio.to_thread(chat.server.wait, 1)
            await looked(collector, clock)
            await send(collector, Tenant("shop", "", bytes([9]) * 16).request())
            await settled(collector)
        first = chat.said[0]
        chat.server.behave = taking
        before = len(chat.said)
        async with collecting(served_dsn, clock):
            await asyncio.to_thread(chat.server.wait, before + 1)
        assert chat.said[-1] == first
