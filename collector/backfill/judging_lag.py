"""For how long traces wait for judging in the collector that judges what is backfilled."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from tracejury.collector.api.client_connection import opened
from tracejury.schemas.errors import ConfigError, RetryableError

MAX_SECONDS: Final = 5.0
"""Live traces wait no longer for those of a backfill."""
_LAG: Final = re.compile(r"^tracejury_judge_lag_seconds(?:\{.*\})? (\S+)$", re.MULTILINE)


@contextmanager
def lagging(url: str) -> Iterator[Callable[[], bool]]:
    """Gives a function that asks the metrics at `url` whether it is longer than `MAX_SECONDS`; "" for none: never.

    Raises:
        ConfigError: no address of a collector; by the function: there are no such metrics for this key.
        RetryableError: by the function: no answer.
    """
    if not url:
        yield lambda: False
        return
    with opened(url, 10.0, None) as client:

        def is_lagging() -> bool:
            try:
                answer = client.get("/metrics")
            except httpx.HTTPError as error:
                raise RetryableError(f"{url} does not answer: {error}") from error
            found = _LAG.search(answer.text)
            if not answer.is_success or found is None:
                raise ConfigError(f"{url} tells no judging lag (HTTP {answer.status_code}): name the API of a worker")
            return float(found[1]) > MAX_SECONDS

        yield is_lagging
