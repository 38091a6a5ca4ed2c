"""Any litellm model behind the client protocol: its Router does fallbacks, cooldowns, retries and time-outs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from tracejury.collector.otlp.secrets import secret_values
from tracejury.judges.llm.client import NoAnswerError, Prompt, Reply
from tracejury.schemas.errors import ConfigError, LlmError, TracejuryError

from .config import LlmConfig, ModelConfig
from .failures import failure, late, refuses_form
from .library import LIBRARY, Library
from .price import CHARACTERS_PER_TOKEN, Price, set_price, tokens_in
from .routing import build_router, full_name, group, marks_prefixes, missing_keys, place
from .structured import FORMS, Form, answer_text, at_most, messages, plain, response_format, tool_calls

UNKNOWN_LIMIT: Final = 128_000
"""Tokens of a prompt for a model that litellm does not know."""
SLACK_SECONDS: Final = 60.0
MOST_TOKENS: Final = 100_000_000
"""Tokens of one call that are believed."""
LONGEST_REASON: Final = 40

MINUTE: Final = 60.0

log = logging.getLogger(__name__)


class LiteLlmClient:
    """Asks `config.model`, then its fallbacks. Belongs to one event loop; `close` it there.

    Tokens of a reply that the provider did not count are estimated. `missing_keys`: as of `routing.missing_keys`, once
    it is prepared.

    `price`, `max_input_tokens`, `sees` and `count_tokens` block until litellm is imported: await `prepare` first.
    """

    def __init__(self, config: LlmConfig, library: Library = LIBRARY) -> None:
        if not config.on:
            raise ConfigError("judges.model: no model is named")
        self.missing_keys = ""
        self._config, self.model = config, config.model
        self._chain = config.chain
        self._library = library
        self._secrets = secret_values(m.api_key_env for m in self._chain)
        self._places = asyncio.Semaphore(config.concurrency)
        self._pace = Pace(config.requests_per_minute, config.tokens_per_minute)
        self._router: Any = None
        self._marked = False
        self._known: dict[int, tuple[Price | None, int, bool]] = {}
        self._forms: Sequence[Form] = FORMS if config.structured == "auto" else (config.structured,)
        self._proven = config.structured != "auto"

    @property
    def price(self) -> Price | None:
        """The cost of its tokens; None where neither litellm nor the configuration knows."""
        return self._facts(0)[0]

    @property
    def max_input_tokens(self) -> int:
        """Tokens that a prompt may have."""
        return self._config.max_input_tokens or self._facts(0)[1] or UNKNOWN_LIMIT

    @property
    def sees(self) -> bool:
        """Whether the model and all its fallbacks take pictures, as far as litellm knows."""
        module = self._library.module
        return all(self._library.sees(full_name(module, asked)) for asked in self._chain)

    def count_tokens(self, text: str) -> int:
        """Tokens of `text`, by the tokenizer that litellm has for the model."""
        module = self._library.module
        return int(module.token_counter(model=full_name(module, self._chain[0]), text=text))

    async def prepare(self) -> None:
        """Wait for litellm and get ready to call.

        Raises:
            ConfigError: litellm is not installed, knows no such provider, or a key's variable is not set.
        """
        module = await self._library.ready()
        if self._router is None:
            names = [full_name(module, asked) for asked in self._chain]
            for number in range(len(names)):
                self._facts(number)  # while there is no Router; see Library.facts
            self._marked = marks_prefixes(module, names[0])
            self.missing_keys = missing_keys(module, self._chain, names)
            self._router = build_router(module, self._config, names)
            self._library.enter()

    async def complete(self, prompt: Prompt) -> Reply:
        """The model's reply; see `Client`."""
        try:
            if self._router is None:
                await self.prepare()
        except ConfigError as error:
            raise LlmError(str(error)) from None
        async with self._places:
            await self._pace.turn(tokens_in(prompt) + self._longest(prompt))
            return await self._asked(prompt)

    async def close(self) -> None:
        """Release connections and background work; cancel calls in flight before. It can be used again."""
        if self._router is not None:
            self._router.discard()
            self._router = None
            await self._library.leave()

    async def _asked(self, prompt: Prompt) -> Reply:
        """The reply in the strictest form of answer that the model takes; which one that is, is remembered."""
        forms = self._forms if prompt.schema else ("none",)
        # While that is not known, the model is asked alone: a fallback would hide that it takes a laxer form only.
        alone = len(forms) > 1 and len(self._chain) > 1 and not self._proven
        failed: TracejuryError | None = None
        refused = False
        for form in forms:
            outcome = await self._sent(prompt, form, alone=alone)
            if not isinstance(outcome, Exception):
                if prompt.schema and not self._proven:
                    self._proven, self._forms = True, at_most(form)
                return self._reply(prompt, outcome)
            # The first refusal is the one to tell: a laxer form may fail of something else.
            failed = failed or self._failure(outcome)
            refused, says_so = refuses_form(outcome)
            if not (says_so or (refused and not self._proven)):
                failed = self._failure(outcome)
                break
        if alone:
            outcome = await self._sent(prompt, forms[0])
            if not isinstance(outcome, Exception):
                return self._reply(prompt, outcome)
        if refused and prompt.pictures:  # a provider may object to what no header tells
            log.warning("%s refused a prompt with pictures: it is asked without them", self.model)
            return await self._asked(prompt.without_pictures())
        # Raised here, outside any handler: no exception with the provider's own words hangs on it.
        raise failed or LlmError(f"{self.model} was not asked")

    async def _sent(self, prompt: Prompt, form: Form, *, alone: bool = False) -> Any:
        """The response of litellm, or the error; `alone`: without fallbacks."""
        config = self._config
        request = {
            "messages": messages(prompt, form, marked=self._marked),
            "response_format": response_format(prompt, form),
            "max_tokens": self._longest(prompt),
            **({} if prompt.request else self._sampling(prompt)),
            "reasoning_effort": config.reasoning_effort or None,
            "disable_fallbacks": alone or None,
        }
        given = {key: value for key, value in request.items() if value is not None}
        if prompt.request:
            # litellm's gateway would run tools of MCP servers itself; even to look for them it needs their package.
            given |= {**prompt.request, "_skip_mcp_handler": True}
        # A time-out of the transport starts again with every byte; this one does not.
        most = (config.timeout_seconds + SLACK_SECONDS) * (config.retries + 1) * len(self._chain)
        try:
            async with asyncio.timeout(most):
                return await self._router.acompletion(model=group(0), **given)
        except TimeoutError:
            return late(self.model)
        except Exception as error:  # noqa: BLE001  litellm lets through whatever its parts raise
            return error

    def _reply(self, prompt: Prompt, response: Any) -> Reply:
        number = place(response, len(self._chain))
        asked = self._chain[number]
        choice = next(iter(response.choices or ()), None)
        asked_key = next(iter(prompt.schema.get("properties", ())), "")
        text, missing = answer_text(choice.message, asked_key) if choice is not None else ("", "answered nothing")
        calls: tuple[Mapping[str, str], ...] = ()
        if prompt.request and choice is not None:
            text, calls = plain(getattr(choice.message, "content", None)), tool_calls(choice.message)
        reason = plain(choice.finish_reason)[:LONGEST_REASON] if choice is not None else ""
        read, written, cached = usage_of(response)
        # A server that counts nothing is not free.
        read, written = read or tokens_in(prompt), written or round(len(text) / CHARACTERS_PER_TOKEN)
        reply = Reply(
            text=text,
            model=asked.model,
            input_tokens=read,
            cached_tokens=cached,
            output_tokens=written,
            cost=self._cost(number, response, read, written, cached),
            finish_reason=reason,
            calls=calls,
        )
        if reason == "content_filter":
            raise NoAnswerError(f"{asked.model}: the provider's content filter withheld the answer", reply)
        if not text and not calls and reason != "length":
            raise NoAnswerError(f"{asked.model} {missing}", reply)
        return reply

    def _cost(self, number: int, response: Any, read: int, written: int, cached: int) -> float | None:
        price, _limit, stated = self._facts(number)
        if price is None:
            return None
        # litellm knows of tiers and cache writes, too.
        computed = None if stated else response._hidden_params.get("response_cost")  # noqa: SLF001  documented
        counted = usage_of(response)[:2] == (read, written)
        return float(computed) if computed is not None and counted else price.of(read, written, cached)

    def _facts(self, number: int) -> tuple[Price | None, int, bool]:
        """Price and limit of a model of the chain, and whether the price is the configuration's (the first's only)."""
        if number not in self._known:
            price, limit = self._library.facts(full_name(self._library.module, self._chain[number]))
            stated = set_price(self._config) if price is None and number == 0 else None
            self._known[number] = (price or stated, limit, stated is not None)
        return self._known[number]

    def _sampling(self, prompt: Prompt) -> Mapping[str, float | None]:
        """Temperature and top_p; neither for a model that refuses them, whatever the prompt asks for."""
        if (usual := self._config.temperature) is None:
            return {}
        return {"temperature": usual if prompt.temperature is None else prompt.temperature, "top_p": prompt.top_p}

    def _longest(self, prompt: Prompt) -> int:
        return min(prompt.max_tokens, self._config.max_answer_tokens)

    def _failure(self, error: Exception) -> TracejuryError:
        if isinstance(error, TracejuryError):
            return error
        return failure(error, self._whose(error), self._secrets)

    def _whose(self, error: Exception) -> ModelConfig:
        """The model that the error is of, as far as it tells."""
        said = str(getattr(error, "model", None) or "")
        return next((asked for asked in self._chain if said and asked.model.endswith(said)), self._chain[0])


def usage_of(response: Any) -> tuple[int, int, int]:
    """Tokens read, written, and read from the provider's cache; 0 where it counts none, or nonsense."""
    usage = getattr(response, "usage", None)
    details = getattr(usage, "prompt_tokens_details", None)
    read, written = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    return read, written, min(_count(details, "cached_tokens"), read)


def _count(counted: Any, name: str) -> int:
    number = getattr(counted, name, 0)
    # What no model reads would not fit the store, and less than nothing would make room under a cap.
    return number if isinstance(number, int) and 0 <= number <= MOST_TOKENS else 0


class Pace:
    """Spreads calls so that neither limit is passed; litellm's own limits refuse instead, and a refused call is lost.

    `requests`, `tokens`: a minute, 0 for no limit. A call larger than a whole minute's tokens is let through alone.
    """

    def __init__(
        self,
        requests: int,
        tokens: int,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._limits = (requests, tokens)
        self._clock = clock
        self._sleep = sleep
        self._free_at = [0.0, 0.0]

    async def turn(self, tokens: int) -> None:
        """Wait until a call of so many tokens may be sent."""
        now = self._clock()
        # Each limit is a queue served at an even rate: a call takes its place at once, and then waits for it.
        starts = now
        for i, (limit, units) in enumerate(zip(self._limits, (1, tokens), strict=True)):
            if limit:
                start = max(self._free_at[i], now)
                self._free_at[i] = start + MINUTE * min(units, limit) / limit
                starts = max(starts, start)
        if starts > now:
            await self._sleep(starts - now)
