"""The budget around a client: nothing is sent at a cap, and what was not used is free again."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest
from pictures import picture

from tracejury.collector.judging.model.budgeted import BudgetedClient, budget_of
from tracejury.collector.judging.model.config import BudgetConfig, ServiceCaps
from tracejury.collector.judging.model.price import Price
from tracejury.judges.llm.budget import DAY, Budget, Caps
from tracejury.judges.llm.client import NoAnswerError, Prompt, PromptMessage, Reply
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.schemas.errors import LlmError, OverBudgetError

NOW = 20_000 * DAY
PRICE = Price(read=0.001, cached=0.0001, written=0.002)
ASKED = Prompt((PromptMessage("user", "x" * 350),), max_tokens=100, service="shop")
"""Reads about 100 tokens and may write 100: at most about 0.3 USD."""


async def test_nothing_is_sent_at_a_cap() -> None:
    """The error says until when."""
    inner = ScriptedClient(lambda _: Reply("{}", "m", 100, 0, 50, 0.2))
    client = BudgetedClient(inner, Budget(Caps(usd_per_day=0.5)), lambda: PRICE, lambda: NOW)
    await client.complete(ASKED)
    with pytest.raises(OverBudgetError) as caught:
        await client.complete(ASKED)
    assert caught.value.until == NOW + DAY
    assert len(inner.prompts) == 1


async def test_pictures_are_held_back_for() -> None:
    """A prompt that fits a cap without its picture does not fit with it."""
    inner = ScriptedClient(lambda _: "{}")
    client = BudgetedClient(inner, Budget(Caps(tokens_per_day=1_000)), lambda: PRICE, lambda: NOW)
    pictured = replace(ASKED, messages=(replace(ASKED.messages[0], pictures=(picture(1_000, 1_000),)),))
    with pytest.raises(OverBudgetError, match="tokens_per_day"):
        await client.complete(pictured)
    await client.complete(pictured.without_pictures())
    assert inner.prompts == [ASKED]


async def test_a_failed_call_costs_nothing() -> None:
    """No tokens were counted for it."""
    budget = Budget(Caps(usd_per_day=0.5))
    client = BudgetedClient(ScriptedClient.playing([LlmError("no")]), budget, lambda: PRICE, lambda: NOW)
    with pytest.raises(LlmError, match="no"):
        await client.complete(ASKED)
    assert budget.held(NOW).usd == pytest.approx(0.0)
    assert budget.spent(NOW).usd == 0


async def test_without_a_price_tokens_count_as_such() -> None:
    """The caps on tokens hold where dollars cannot be counted."""
    budget = Budget(Caps(usd_per_day=0.0, unpriced_tokens_per_day=250))
    inner = ScriptedClient(lambda _: Reply("{}", "m", 100, 0, 50))
    client = BudgetedClient(inner, budget, lambda: None, lambda: NOW)
    await client.complete(ASKED)
    assert (budget.spent(NOW).tokens, budget.spent(NOW).unpriced) == (150, 150)
    with pytest.raises(OverBudgetError, match="unpriced"):
        await client.complete(ASKED)


async def test_a_fallback_without_a_price_is_charged_like_the_model() -> None:
    """Otherwise it would escape the cap on dollars."""
    budget = Budget(Caps())
    inner = ScriptedClient(lambda _: Reply("{}", "other", 100, 40, 50))
    await BudgetedClient(inner, budget, lambda: PRICE, lambda: NOW).complete(ASKED)
    assert budget.spent(NOW).usd == pytest.approx(60 * 0.001 + 40 * 0.0001 + 50 * 0.002)


async def test_the_configured_caps_are_those_that_hold() -> None:
    """In all and of services; by default dollars a day, and tokens a day where there is no price."""
    config = BudgetConfig(usd_per_day=None, per_service={"shop": ServiceCaps(tokens_per_hour=150)})
    inner = ScriptedClient(lambda _: "{}")
    client = BudgetedClient(inner, budget_of(config), lambda: PRICE, lambda: NOW)
    with pytest.raises(OverBudgetError, match="tokens_per_hour of service 'shop'"):
        await client.complete(ASKED)
    await client.complete(replace(ASKED, service="bank"))
    default = BudgetedClient(inner, budget_of(BudgetConfig()), lambda: PRICE, lambda: NOW)
    with pytest.raises(OverBudgetError, match="usd_per_day"):
        await default.complete(replace(ASKED, max_tokens=10_000))
    unpriced = BudgetedClient(inner, budget_of(BudgetConfig()), lambda: None, lambda: NOW)
    with pytest.raises(OverBudgetError, match="unpriced_tokens_per_day"):
        await unpriced.complete(replace(ASKED, max_tokens=200_000_000))


class GatedClient:
    """Answers when the gate opens; counts calls and the most at one time."""

    model = "m"

    def __init__(self) -> None:
        self.gate = asyncio.Event()
        self.calls = self.now = self.most = 0

    async def complete(self, prompt: Prompt) -> Reply:
        del prompt
        self.calls, self.now = self.calls + 1, self.now + 1
        self.most = max(self.most, self.now)
        await self.gate.wait()
        await asyncio.sleep(0)
        self.now -= 1
        return Reply("{}", "m", 90, 0, 10)


async def test_what_is_only_held_back_is_waited_for() -> None:
    """Calls that came together use a cap up, fewer at a time; what then passes it is refused, and none is left over."""
    inner, budget = GatedClient(), Budget(Caps(tokens_per_day=1000))
    client = BudgetedClient(inner, budget, lambda: None, lambda: NOW)
    asked = [asyncio.create_task(client.complete(ASKED)) for _ in range(20)]
    for _ in range(5):
        await asyncio.sleep(0)
    assert (inner.most, sum(task.done() for task in asked)) == (4, 0)
    inner.gate.set()
    answers = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(answer, Reply) for answer in answers) == 8
    assert sum(isinstance(answer, OverBudgetError) for answer in answers) == 12
    assert budget.spent(NOW).tokens == 800
    assert budget.held(NOW).tokens == 0


async def test_who_waits_for_room_can_give_up() -> None:
    """And holds nothing back."""
    inner, budget = GatedClient(), Budget(Caps(tokens_per_day=250))
    client = BudgetedClient(inner, budget, lambda: None, lambda: NOW)
    first, second = (asyncio.create_task(client.complete(ASKED)) for _ in range(2))
    for _ in range(5):
        await asyncio.sleep(0)
    second.cancel()  # it may take more than is left beside the first
    inner.gate.set()
    assert (await first).text == "{}"
    assert (inner.calls, budget.held(NOW).tokens) == (1, 0)


async def test_an_answer_that_says_nothing_is_paid_for() -> None:
    """A model that thinks and then says nothing, or whose answer is withheld, would otherwise escape every cap."""
    budget, reply = Budget(Caps()), Reply("", "m", 100, 0, 50, 0.2)
    client = BudgetedClient(
        ScriptedClient.playing([NoAnswerError("nothing", reply)]), budget, lambda: PRICE, lambda: NOW
    )
    with pytest.raises(LlmError, match="nothing"):
        await client.complete(ASKED)
    assert budget.spent(NOW).tokens == 150
    assert budget.spent(NOW).usd == pytest.approx(0.2)
    assert budget.held(NOW).tokens == 0
