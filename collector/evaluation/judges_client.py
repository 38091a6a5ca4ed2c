"""The models of an evaluation, on one cassette."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass

from tracejury.collector.judging.model.budgeted import budget_of
from tracejury.collector.judging.model.build import Model, open_model
from tracejury.collector.judging.model.cassette import Cassette, open_cassette
from tracejury.collector.judging.model.config import LlmConfig

from .judges_options import JudgesOptions


@dataclass(frozen=True, slots=True)
class EvaluationModels:
    """The judges' model, the verifier's and the matcher's: the same, where no other is named."""

    cassette: Cassette
    judges: Model
    verifier: Model
    adjudicator: Model


@asynccontextmanager
async def open_models(options: JudgesOptions) -> AsyncIterator[EvaluationModels]:
    """The models, which share a budget; they are closed, with the cassette, at the end.

    Raises:
        ConfigError: litellm is not installed, a key is missing, there is neither a model nor a cassette to replay, or
            the cassette cannot be used.
    """
    llm, budget = options.llm, budget_of(options.llm.budget)
    async with AsyncExitStack() as stack:
        cassette = stack.enter_context(open_cassette(options.cassette, llm))

        async def opened(config: LlmConfig) -> Model:
            return await stack.enter_async_context(open_model(config, cassette=cassette, budget=budget))

        judges = verifier = adjudicator = await opened(llm)
        if (own := llm.of_verifier) is not None and own.model != llm.model:
            verifier = await opened(own)
        if options.adjudicator not in {"", llm.model}:
            adjudicator = await opened(llm.model_copy(update={"model": options.adjudicator}))
        yield EvaluationModels(cassette, judges, verifier, adjudicator)
