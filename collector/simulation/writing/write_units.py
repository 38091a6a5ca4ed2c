"""Units put before a model that writes for them, several at a time; each is reported when it is finished."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tracejury.collector.judging.llm.run_prompts import run_jobs, run_prompts
from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import open_model
from tracejury.collector.judging.model.cassette import CassetteOptions, open_cassette
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.judges.writing.units import Unit, Writer, WrittenUnit
from tracejury.schemas.errors import TracejuryError


async def write_units(
    units: Iterable[Unit],
    writer: Writer[Unit],
    config: LlmConfig,
    cassette: CassetteOptions,
    finished: Callable[[WrittenUnit[Unit]], None],
) -> None:
    """Have a model write for each unit, in a conversation of its own; what one costs another nothing.

    Raises:
        ConfigError: there is no model, or it cannot be had.
        PromptsLeftError: prompts wait for replies in a folder.
    """
    with open_cassette(cassette, config) as recorded:
        async with open_model(config, cassette=recorded, budget=budget_of(config.budget)) as model:

            async def write(unit: Unit) -> None:
                try:
                    written = await run_prompts(writer(unit), model.client)
                except TracejuryError as error:
                    written = WrittenUnit(unit, failure=" ".join(str(error).split()))
                finished(written)

            await run_jobs(units, write, config.concurrency)
        recorded.all_answered()
