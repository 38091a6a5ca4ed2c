"""litellm, imported at this one place: late, in the background, and quiet.

Importing it takes seconds and, left alone, reads a `.env` file and fetches prices from the network. Here it does
neither: it uses the tables that it ships, sends no telemetry, downloads no tokenizer, and writes no log lines, since
those can hold prompts and keys.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import threading
import warnings
from concurrent.futures import Future
from typing import Any, Final

from tracejury.schemas.errors import ConfigError

from .price import Price, price_of

SETTINGS: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",
    "LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS": "True",
    "LITELLM_MODE": "PRODUCTION",  # any other reads `.env` in the working folder
    "AIOHTTP_SO_KEEPALIVE": "True",  # what stands between drops a silent connection before a late answer
}
QUIET: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "openai", "httpx", "httpcore")
"""Loggers that may write what is sent: prompts, URLs, headers."""


class Library:
    """litellm, once it is there. Shared by all clients of a process; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loaded: Future[Any] | None = None
        self._users = 0
        self._known: dict[str, tuple[Price | None, int]] = {}

    def start(self) -> Future[Any]:
        """Begin to import it in a thread, if that was not begun yet; the future's result is the module."""
        with self._lock:
            if self._loaded is None:
                self._loaded = Future()
                threading.Thread(target=_load, args=(self._loaded,), name="litellm-import", daemon=True).start()
            return self._loaded

    async def ready(self) -> Any:
        """The module, imported in the background; waits for it.

        Raises:
            ConfigError: it is not installed.
        """
        # Shielded: whoever stops waiting must not cancel it for the others.
        return await asyncio.shield(asyncio.wrap_future(self.start()))

    @property
    def module(self) -> Any:
        """The module; blocks until it is there.

        Raises:
            ConfigError: it is not installed.
        """
        return self.start().result()

    def facts(self, model: str) -> tuple[Price | None, int]:
        """The model's price (None: unknown) and how many tokens a prompt may have (0: unknown).

        They are read once, before a Router is built for the model: a Router enters models that litellm does not know
        into its tables, at no cost.
        """
        module = self.module
        with self._lock:
            if model not in self._known:
                self._known[model] = _facts(module, model)
            return self._known[model]

    def sees(self, model: str) -> bool:
        """Whether litellm knows that the model takes pictures."""
        return bool(self.module.supports_vision(model))

    def enter(self) -> None:
        """One more client uses it."""
        with self._lock:
            self._users += 1

    async def leave(self) -> None:
        """A client needs it no longer; the last one closes the connections and background work of litellm."""
        with self._lock:
            self._users -= 1
            last = self._users == 0
        if not last:
            return
        module = self.module
        from litellm.litellm_core_utils.logging_worker import GLOBAL_LOGGING_WORKER

        # What it had going in an earlier loop ended with that loop.
        if getattr(GLOBAL_LOGGING_WORKER, "_bound_loop", None) is asyncio.get_running_loop():
            await GLOBAL_LOGGING_WORKER.stop()
        await module.close_litellm_async_clients()
        module.in_memory_llm_clients_cache.flush_cache()


LIBRARY: Final = Library()
"""The process's: a module is imported once."""


def _load(loaded: Future[Any]) -> None:
    os.environ.update(SETTINGS)
    try:
        module = importlib.import_module("litellm")
        importlib.import_module("litellm.router")
    except ModuleNotFoundError as error:
        loaded.set_exception(ConfigError(f"LLM judges need {error.name}: pip install 'tracejury[llm]'"))
        return
    except BaseException as error:  # noqa: BLE001  whoever waits for it is told
        loaded.set_exception(error)
        return
    _silence(module)
    loaded.set_result(module)


def _silence(module: Any) -> None:
    # Its types make pydantic say this when they are first used.
    warnings.filterwarnings("ignore", message="Item '.*' on TypedDict class", category=UserWarning)
    # Its types again, where a server sends other ones; the warning holds what it sent.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings", category=UserWarning)
    module.suppress_debug_info = True
    module.disable_hf_tokenizer_download = True
    module.turn_off_message_logging = True
    module.disable_streaming_logging = True
    for name in QUIET:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.handlers.clear()


def _facts(module: Any, model: str) -> tuple[Price | None, int]:
    try:
        info = module.get_model_info(model)
    except Exception:  # noqa: BLE001  litellm raises bare ones for a model that it does not know
        return None, 0
    return price_of(info), int(info.get("max_input_tokens") or 0)
