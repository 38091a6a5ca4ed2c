"""The client put together: litellm, spans, budget and answer cache, against a real server and the real store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from llm_server import llm_server
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from tracejury.collector.app.service import Collector
from tracejury.collector.config import load_config
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import build_client, open_model, parameters
from tracejury.collector.judging.model.config import BudgetConfig, LlmConfig
from tracejury.collector.judging.model.litellm_client import LiteLlmClient
from tracejury.collector.judging.model.traced import provider_of
from tracejury.collector.otlp.mark import is_ours
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.budget import HOUR
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.schemas.errors import OverBudgetError

FREE = {"endpoint": "127.0.0.1:0"}
ASKED = Prompt(
    (PromptMessage("user", "S1 tool\n it failed"),),
    schema={"type": "object", "properties": {"score": {"type": "integer"}}},
    max_tokens=100,
    service="shop",
)


async def test_a_known_answer_is_given_at_a_cap_and_has_no_span(store: SharedStore) -> None:
    """It costs nothing and is no call; what is over budget is not sent and has no span either."""
    exporter = InMemorySpanExporter()
    provider = provider_of(SimpleSpanProcessor(exporter))
    with llm_server() as server:
        config = LlmConfig(model="m", api_base=server.base, budget=BudgetConfig(unpriced_tokens_per_day=120))
        llm = LiteLlmClient(config)
        await llm.prepare()
        client = build_client(
            config,
            llm,
            answers=StoredLlmJudging(store),
            budget=budget_of(config.budget),
            tracer=provider.get_tracer("test"),
            secret=b"s",
        )
        first = await client.complete(ASKED)
        await client.complete(replace(ASKED, max_tokens=99))
        with pytest.raises(OverBudgetError):
            await client.complete(replace(ASKED, max_tokens=101))
        again = await client.complete(ASKED)
        await llm.close()
        assert server.counts.calls == 2
    assert (again.text, again.known) == (first.text, True)
    assert len(exporter.get_finished_spans()) == 2
    provider.shutdown()


async def test_what_was_spent_before_a_restart_counts(store: SharedStore) -> None:
    """The budget is loaded from what the store kept."""
    panel, now = StoredLlmJudging(store), 20_000 * 24 * HOUR
    with llm_server() as server:
        config = LlmConfig(model="m", api_base=server.base, budget=BudgetConfig(unpriced_tokens_per_day=100))
        async with open_model(config, answers=panel, budget=budget_of(config.budget), clock=lambda: now) as model:
            await model.client.complete(replace(ASKED, max_tokens=60))
        budget = budget_of(config.budget)
        budget.load(panel.spend(now - HOUR))
        assert budget.spent(now).unpriced == server.counts.input_tokens + server.counts.output_tokens
        async with open_model(config, answers=panel, budget=budget, clock=lambda: now) as model:
            with pytest.raises(OverBudgetError, match="unpriced_tokens_per_day"):
                await model.client.complete(replace(ASKED, max_tokens=90))


async def test_spans_of_judge_calls_reach_a_collector_with_their_mark(served_dsn: str) -> None:
    """Sent over OTLP to the very collector that judges, they are known as its own."""
    config = load_config(None, {"store": {"dsn": served_dsn}, "grpc": FREE, "http": FREE, "api": FREE})
    with llm_server() as server:
        async with Collector(config) as collector:
            judges = LlmConfig(
                model="m", api_base=server.base, telemetry_endpoint=f"http://127.0.0.1:{collector.grpc_port}"
            )
            async with open_model(judges, secret=b"ours") as model:
                await model.client.complete(ASKED)
        store = SharedStore.open(served_dsn, StoreConfig())
        ids = [row[0] for row in store.rows("SELECT DISTINCT TraceId FROM spans")]
        [(spans, _logs)] = StoredJudging(store).load_spans(ids).values()
        store.close()
    [span] = spans
    assert span.name == "chat m"
    assert span.attributes["gen_ai.usage.input_tokens"] == str(server.counts.input_tokens)
    assert is_ours(span, b"ours")
    assert not is_ours(span, b"theirs")


def test_what_decides_an_answer_is_part_of_its_key() -> None:
    """Anything else may change without asking again."""
    plain = parameters(LlmConfig(model="m"))
    assert parameters(LlmConfig(model="m", temperature=0.5)) != plain
    assert parameters(LlmConfig(model="m", reasoning_effort="high")) != plain
    assert parameters(LlmConfig(model="m", structured="json")) != plain
    assert parameters(LlmConfig(model="m", concurrency=99, timeout_seconds=5)) == plain
