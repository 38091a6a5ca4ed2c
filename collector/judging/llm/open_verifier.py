"""The verifier with its model: the judges' own, or another that shares their answer cache and budget."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from typing import Any

from tracejury.collector.judging.model.build import Model, open_model
from tracejury.collector.judging.model.config import LlmConfig

from .verification import Verifier


@asynccontextmanager
async def open_verifier(config: LlmConfig, judges: Model, **shared: Any) -> AsyncIterator[Verifier]:
    """The verifier in the running event loop; closed at the end. `shared`: as `open_model` takes it.

    Raises:
        ConfigError: what the user must mend about its model.
    """
    async with AsyncExitStack() as stack:
        own = config.of_verifier
        model = await stack.enter_async_context(open_model(own, **shared)) if own else judges
        verifier = Verifier(model.client, config.verify, max_tokens=config.max_answer_tokens)
        yield await stack.enter_async_context(aclosing(verifier))
