"""A store that is away for a while does not end LLM judging."""

from __future__ import annotations

import pytest

from tracejury.collector.judging.llm import build as module
from tracejury.collector.judging.llm.build import retry_until_available
from tracejury.schemas.errors import RetryableError, StoreError


async def test_a_store_that_is_away_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Until it answers; a line tells each time."""
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)
    left = [RetryableError("away", retry_after=0.0)] * 3

    def read() -> str:
        if left:
            raise left.pop()
        return "there"

    assert await retry_until_available(read) == "there"
    assert caplog.text.count("LLM judges wait for the store: away") == 3


async def test_what_does_not_pass_is_raised() -> None:
    """Waiting would not mend it."""

    def read() -> str:
        raise StoreError("no such table")

    with pytest.raises(StoreError, match="no such table"):
        await retry_until_available(read)
