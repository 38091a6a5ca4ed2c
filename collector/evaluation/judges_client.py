"""The models of an evaluation: litellm behind a cassette, or a cassette alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from functools import partial

from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.judging.model.library import LIBRARY
from tracejury.collector.judging.model.litellm_client import UNKNOWN_LIMIT, LiteLlmClient
from tracejury.judges.llm.client import Client
from tracejury.schemas.errors import ConfigError

from .cassette import About, Cassette, CassetteClient
from .judges_options import JudgesOptions
from .prompt_folder import PromptFolder
from .spend import MeteredClient, Usage

Ledger = defaultdict[str, Usage]


@dataclass(frozen=True, slots=True)
class EvaluatedModel:
    """One model as an evaluation uses it."""

    about: About
    client: CassetteClient
    folder: PromptFolder | None = None

    def all_answered(self) -> None:
        """Stop where prompts wait for replies in a folder.

        Raises:
            PromptsLeftError: some do.
        """
        if self.folder is not None:
            self.folder.all_answered()

    def of_run(self, run: int, ledger: Ledger) -> Client:
        """Its client for a run, counting what it spends in `ledger`."""
        return MeteredClient(self.client.of_run(run), ledger)

    def count(self, text: str) -> int:
        """Tokens of a text by the model's tokenizer, as far as litellm has it."""
        return _tokens(self.about.model, text)


def _tokens(model: str, text: str) -> int:
    return int(LIBRARY.module.token_counter(model=model, text=text))


@asynccontextmanager
async def open_models(options: JudgesOptions) -> AsyncIterator[tuple[EvaluatedModel, EvaluatedModel, EvaluatedModel]]:
    """The judges' model, the verifier's and the matcher's (the same, where no other is named).

    They are closed, with the cassette, at the end.

    Raises:
        ConfigError: litellm is not installed, a key is missing, there is neither a model nor a cassette to replay, or
            the cassette cannot be used.
    """
    await LIBRARY.ready()
    async with AsyncExitStack() as stack:
        cassette = stack.enter_context(_open_cassette(options))
        judges = verifier = adjudicator = await _open(options, options.llm, cassette, stack)
        if (own := options.llm.of_verifier) is not None and own.model != options.llm.model:
            verifier = await _open(options, own, cassette, stack)
        if options.adjudicator not in {"", options.llm.model}:
            config = replace_model(options.llm, options.adjudicator)
            adjudicator = await _open(options, config, cassette, stack)
        yield judges, verifier, adjudicator


def replace_model(config: LlmConfig, model: str) -> LlmConfig:
    """The configuration with another model ("": unchanged)."""
    return config.model_copy(update={"model": model}) if model else config


async def _open(options: JudgesOptions, config: LlmConfig, cassette: Cassette, stack: AsyncExitStack) -> EvaluatedModel:
    if options.cassette_mode == "ask":
        return _open_folder(options, config, cassette)
    if options.cassette_mode != "replay" and config.on:
        live = LiteLlmClient(config)
        stack.push_async_callback(live.close)
        await live.prepare()
        about = About(config.model, live.max_input_tokens)
        cassette.describe(about)
        return EvaluatedModel(about, CassetteClient(cassette, live, about.model))
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
    return EvaluatedModel(about, CassetteClient(cassette, None, about.model))


def _open_folder(options: JudgesOptions, config: LlmConfig, cassette: Cassette) -> EvaluatedModel:
    assert options.prompts is not None  # noqa: S101  `_open_cassette` has seen to it
    about = About(config.model, config.max_input_tokens or UNKNOWN_LIMIT)
    try:
        options.prompts.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(f"--prompts {options.prompts}: {error.strerror}") from error
    cassette.describe(about)
    folder = PromptFolder(options.prompts, about.model, partial(_tokens, about.model))
    return EvaluatedModel(about, CassetteClient(cassette, folder, about.model), folder)


def _open_cassette(options: JudgesOptions) -> Cassette:
    if options.cassette_mode == "ask" and not (options.prompts and options.cassette and options.llm.on):
        raise ConfigError(
            "--cassette-mode ask needs --prompts DIR, --cassette FILE and --model: a name for who answers"
        )
    if options.prompts and options.cassette_mode != "ask":
        raise ConfigError("--prompts needs --cassette-mode ask")
    if options.cassette is None:
        if options.cassette_mode == "replay":
            raise ConfigError("name the --cassette to replay")
        return Cassette(None, record=False)
    cassette = Cassette(options.cassette, record=options.cassette_mode != "replay" and options.llm.on)
    if options.cassette_mode == "record" and cassette.replies:
        cassette.close()
        raise ConfigError(f"{options.cassette} holds calls already: use --cassette-mode auto to go on with it")
    return cassette
