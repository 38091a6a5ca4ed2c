"""Caps on spend, and answers, of two processes that judge on one server."""

from __future__ import annotations

from pathlib import Path

import pytest
from several import processes

from tracejury.collector.judging.model.budgeted import READ_EVERY, BudgetedClient
from tracejury.collector.judging.model.cache import CachedClient
from tracejury.collector.judging.model.price import Price
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.judges.llm.budget import DAY, Budget, Caps
from tracejury.judges.llm.client import Prompt, PromptMessage, Reply
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.schemas.errors import OverBudgetError

PRICE = Price(read=0.0, cached=0.0, written=0.01)


def asked(text: str) -> Prompt:
    """A question whose answer costs a dollar at most."""
    return Prompt((PromptMessage("user", text),), max_tokens=100, service="shop")


async def test_a_cap_and_answers_are_of_all_processes(store_folder: Path) -> None:
    """What one has asked the other need not pay; what one has spent counts in the other after some seconds."""
    now = 20_000 * DAY
    with processes(store_folder, 2) as stores:
        inner = ScriptedClient(lambda _: Reply("{}", "m", 100, 0, 100, 1.0))
        clients = []
        for store in stores:
            kept = StoredLlmJudging(store, clock=lambda: now)
            budgeted = BudgetedClient(inner, Budget(Caps(usd_per_day=4.0)), lambda: PRICE, lambda: now, kept.spend)
            clients.append(CachedClient(budgeted, kept, {}, lambda: now))
        first, second = clients
        assert (await first.complete(asked("one"))).cost == 1.0
        known = await second.complete(asked("one"))
        assert (known.known, known.cost, len(inner.prompts)) == (True, 0.0, 1)
        await first.complete(asked("two"))
        now += READ_EVERY
        await second.complete(asked("three"))
        await first.complete(asked("four"))  # it reads that the second has spent, too
        now += READ_EVERY
        for number, client in enumerate(clients):
            with pytest.raises(OverBudgetError, match=r"4\.00 USD of 4\.00 USD"):
                await client.complete(asked(f"more {number}"))
        assert len(inner.prompts) == 4
