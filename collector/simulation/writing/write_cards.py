"""Cards put before a model, several at a time; each is reported when it is finished."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tracejury.collector.judging.llm.run_prompts import run_prompts
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model
from tracejury.collector.judging.model.cassette import CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.llm.client import Client
from tracejury.judges.packs.rut.users.writing import WrittenTurns
from tracejury.judges.packs.task_cards import TaskCard
from tracejury.schemas.errors import TracejuryError

from .plans import Plan


@dataclass(frozen=True, slots=True)
class WrittenCard:
    """A card with what was written for it. `failure`: why nothing was asked or answered, in one line."""

    card: TaskCard
    written: tuple[WrittenTurns, ...] = ()
    failure: str = ""

    @property
    def complete(self) -> bool:
        """Whether nothing was left out."""
        return not self.failure and not any(one.failure for one in self.written)


async def write_cards(
    cards: Iterable[TaskCard],
    plan: Plan,
    config: LlmConfig,
    cassette: CassetteOptions,
    finished: Callable[[WrittenCard], None],
) -> None:
    """Have a model write what `plan` says for each card; what one costs another nothing.

    Raises:
        ConfigError: there is no model, or it cannot be had.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    places = asyncio.Semaphore(config.concurrency)

    async def write(card: TaskCard, client: Client) -> None:
        async with places:
            finished(await _written(card, plan, client))

    budget = budget_of(config.budget)
    with open_cassette(cassette, config) as recorded:
        async with open_model(config, cassette=recorded, budget=budget) as model, asyncio.TaskGroup() as group:
            for card in cards:
                group.create_task(write(card, model.client))
        recorded.all_answered()


async def _written(card: TaskCard, plan: Plan, client: Client) -> WrittenCard:
    try:
        written = await run_prompts(plan(card), client)
    except TracejuryError as error:
        return WrittenCard(card, failure=" ".join(str(error).split()))
    turns = {**card.user_turns, **{one.behaviour: one.turns for one in written if one.turns}}
    return WrittenCard(card.model_copy(update={"user_turns": turns}), tuple(written))
