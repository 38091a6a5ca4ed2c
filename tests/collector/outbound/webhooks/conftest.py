"""A webhook over the real store, posting to a real receiver; waits are for events, never for time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from hook_server import SECRET
from store_parts import a_judged_trace

from tracejury.collector.outbound.webhooks.config import WebhookConfig
from tracejury.collector.outbound.webhooks.metrics import WebhookMetrics
from tracejury.collector.outbound.webhooks.posting import Poster
from tracejury.collector.outbound.webhooks.rules import WebhookRules
from tracejury.collector.outbound.webhooks.signing import key_of
from tracejury.collector.outbound.webhooks.webhook import Webhook
from tracejury.collector.outbound.webhooks.webhook_spec import WebhookSpec
from tracejury.collector.store.deliveries import StoredDeliveries
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.telemetry import Telemetry
from tracejury.collector.worker.retry import RetryPolicy
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.webhook_events import Delivered

SINCE, NOW = 1_000, 2_000
"""When the webhook was set up, and the time, in nanos; findings of `store_parts` are first seen at 1,000."""
PATIENCE = 60.0


class Marked(StoredDeliveries):
    """Tells when something was marked."""

    def __init__(self, store: SharedStore) -> None:
        super().__init__(store, clock=lambda: SINCE)
        self.marked: list[Delivered] = []
        self.loop = asyncio.get_running_loop()
        self.more = asyncio.Event()

    def mark(self, delivered: Sequence[Delivered]) -> None:
        super().mark(delivered)
        self.marked += delivered
        self.loop.call_soon_threadsafe(self.more.set)

    async def wait(self, count: int) -> list[Delivered]:
        """All that was marked, once it is so much."""
        async with asyncio.timeout(PATIENCE):
            while len(self.marked) < count:
                self.more.clear()
                if len(self.marked) < count:
                    await self.more.wait()
        return self.marked


class Impatient(RetryPolicy):
    """Waits not at all, whatever the receiver asks for; that is noted."""

    asked: list[float]

    def __init__(self, asked: list[float]) -> None:
        super().__init__()
        object.__setattr__(self, "asked", asked)

    def delay(self, _attempt: int, asked: float = 0.0, _share: float | None = None) -> float:
        self.asked.append(asked)
        return 0.0


class Bench:
    """One webhook at work."""

    webhook: Webhook

    def __init__(self, store: SharedStore, deliveries: Marked, telemetry: Telemetry) -> None:
        self.store, self.deliveries, self._telemetry = store, deliveries, telemetry
        self.asked: list[float] = []

    def judge(self, *findings: Finding, retracted: Sequence[Finding] = (), judged_at: int = NOW, **of: Any) -> None:
        """Store what was judged and say so, as the judging thread does."""
        for trace_id in dict.fromkeys(f.trace_id for f in (*findings, *retracted)):
            mine = {"trace_id": trace_id, "judged_at": judged_at, "received": NOW, **of}
            here = [f for f in findings if f.trace_id == trace_id]
            judged = a_judged_trace(*here, retracted=tuple(f for f in retracted if f.trace_id == trace_id), **mine)
            StoredJudging(self.store).save([judged])
            self.webhook.hint([trace_id])

    def metric(self, name: str) -> float:
        """The sum of a metric over its labels."""
        lines = self._telemetry.prometheus().decode().splitlines()
        return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith((f"{name}{{", f"{name} ")))


At = Callable[..., Any]


@pytest.fixture
def at_work(store: SharedStore) -> At:
    """Starts a webhook for a block: its URL, then keys of its configuration."""

    @asynccontextmanager
    async def start(
        url: str, *, clock: Callable[[], int] = lambda: NOW, retry: RetryPolicy | None = None, **settings: Any
    ) -> AsyncIterator[Bench]:
        config = WebhookConfig.model_validate({"name": "ops", "url": url, "secret": "${S}", "profile": "0", **settings})
        telemetry = Telemetry("test")
        metrics = WebhookMetrics(telemetry)
        metrics.declare(config.name)
        max_age = round(config.max_age_seconds * 1e9)
        rules = WebhookRules.of(config)
        spec = WebhookSpec(config.name, rules, (key_of(SECRET),), "http://pages", max_age, config.concurrency)
        tls = httpx.create_ssl_context(trust_env=False)
        deliveries = Marked(store)
        async with Poster(
            url, timeout=config.timeout_seconds, connections=config.concurrency, any_address=False, tls=tls
        ) as poster:
            bench = Bench(store, deliveries, telemetry)
            bench.webhook = Webhook(
                spec, deliveries, poster, metrics, clock=clock, retry=retry or Impatient(bench.asked)
            )
            bench.webhook.start()
            try:
                yield bench
            finally:
                await bench.webhook.stop(PATIENCE)
                telemetry.shutdown()

    return start
