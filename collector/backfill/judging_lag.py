"""For how long traces wait for judging in the collector that judges what is backfilled."""

from __future__ import annotations

import re
from types import TracebackType
from typing import Final, Self

import httpx

from tracejury.collector.api.client_connection import opened
from tracejury.schemas.errors import ConfigError, RetryableError

MAX_SECONDS: Final = 5.0
"""Live traces wait no longer for those of a backfill."""
_LAG: Final = re.compile(r"^tracejury_judge_lag_seconds(?:\{.*\})? (\S+)$", re.MULTILINE)


class JudgingLag:
    """Asks the metrics of a collector; to be closed, as a context manager."""

    def __init__(self, url: str) -> None:
        """Raises ConfigError: it is no address of a collector."""
        self._url, self._client = url, opened(url, 10.0, None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.close()

    def too_long(self) -> bool:
        """Whether it is longer than `MAX_SECONDS`.

        Raises:
            ConfigError: there are no such metrics for this key.
            RetryableError: no answer.
        """
        try:
            answer = self._client.get("/metrics")
        except httpx.HTTPError as error:
            raise RetryableError(f"{self._url} does not answer: {error}") from error
        found = _LAG.search(answer.text)
        if not answer.is_success or found is None:
            raise ConfigError(f"{self._url} tells no judging lag (HTTP {answer.status_code}): name the API of a worker")
        return float(found[1]) > MAX_SECONDS
