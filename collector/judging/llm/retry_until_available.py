"""Reads that are repeated until the store is available."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Final, TypeVar

from tracejury.schemas.errors import RetryableError

log = logging.getLogger(__name__)

T = TypeVar("T")
LEAST_SECONDS: Final = 1.0
"""The shortest pause: a store that is away is not hammered."""


async def retry_until_available(read: Callable[[], T]) -> T:
    """The result of `read`, which blocks, once the store answers; other errors are raised."""
    while True:
        try:
            return await asyncio.to_thread(read)
        except RetryableError as error:
            log.warning("LLM judges wait for the store: %s", error)
            await asyncio.sleep(max(error.retry_after, LEAST_SECONDS))
