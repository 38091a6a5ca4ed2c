"""The models of an evaluation: litellm behind a cassette, or a cassette alone."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

from ...judges.llm.client import Client
from ...schemas.errors import ConfigError
from ..judging.model.config import LlmConfig
from ..judging.model.library import LIBRARY
from ..judging.model.litellm_client import LiteLlmClient
from .cassette import About, Cassette, CassetteClient
from .judges_options import JudgesOptions
from .spend import MeteredClient, Usage

Ledger = defaultdict[str, Usage]


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """One model as an evaluation uses it. `live`: whether it can be asked; else only its cassette answers."""

    about: About
    client: CassetteClient
    live: LiteLlmClient | None

    def of_run(self, run: int, ledger: Ledger) -> Client:
        """Its client for a run, counting what it spends in `ledger`."""
        return MeteredClient(self.client.of_run(run), ledger)

    def count(self, text: str) -> int:
        """Tokens of a text by the model's tokenizer, as far as litellm has it."""
        return int(LIBRARY.module.token_counter(model=self.about.model, text=text))


@dataclass(frozen=True, slots=True)
class Models:
    """The judges' model and the matcher's (the same, where no other is named)."""

    judges: EvaluatedModel
    adjudicator: EvaluatedModel


@asynccontextmanager
async def open_models(options: JudgesOptions) -> AsyncIterator[Models]:
    """The models, ready to be asked; closed, with the cassette, at the end.

    Raises:
        ConfigError: litellm is not installed, a key is missing, there is neither a model nor a cassette to replay, or
            the cassette cannot be used.
    """
    await LIBRARY.ready()
    replayed = options.cassette_mode == "replay"
    with _open_cassette(options) as cassette:
        names = options.llm, replace_model(options.llm, options.adjudicator)
        opened: dict[str, EvaluatedModel] = {}
        try:
            for config in names:
                if config.model not in opened:
                    opened[config.model] = await _open(config, cassette, replayed=replayed)
            judges, adjudicator = (opened[config.model] for config in names)
            yield Models(judges, adjudicator)
        finally:
            await asyncio.gather(*(model.live.close() for model in opened.values() if model.live is not None))


def replace_model(config: LlmConfig, model: str) -> LlmConfig:
    """The configuration with another model ("": unchanged)."""
    return config.model_copy(update={"model": model}) if model else config


async def _open(config: LlmConfig, cassette: Cassette, *, replayed: bool) -> EvaluatedModel:
    if not replayed and config.on:
        live = LiteLlmClient(config)
        await live.prepare()
        about = About(config.model, live.max_input_tokens)
        cassette.describe(about)
        return EvaluatedModel(about, CassetteClient(cassette, live, about.model), live)
    known = [about for about in cassette.about if config.model in {"", about.model}]
    if not known:
        raise ConfigError(
            "name a --model, or replay a --cassette"
            if not cassette.about
            else f"the cassette has no call of {config.model}"
        )
    about = known[0]
    if config.max_input_tokens:
        about = replace(about, max_input_tokens=config.max_input_tokens)
    return EvaluatedModel(about, CassetteClient(cassette, None, about.model), None)


def _open_cassette(options: JudgesOptions) -> Cassette:
    if options.cassette is None:
        if options.cassette_mode == "replay":
            raise ConfigError("name the --cassette to replay")
        return Cassette(None, record=False)
    cassette = Cassette(options.cassette, record=options.cassette_mode != "replay" and options.llm.on)
    if options.cassette_mode == "record" and cassette.replies:
        cassette.close()
        raise ConfigError(f"{options.cassette} holds calls already: use --cassette-mode auto to go on with it")
    return cassette
