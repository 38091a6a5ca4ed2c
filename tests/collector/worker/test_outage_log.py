"""Log lines about an outage."""

from __future__ import annotations

import logging

import pytest

from tracejury.collector.worker.outage_log import SECOND, OutageLog

DAY = 24 * 3600 * SECOND


def test_what_comes_and_goes_is_not_told_each_time(caplog: pytest.LogCaptureFixture) -> None:
    """Once in ten minutes, its end with it; it counts all the same."""
    caplog.set_level(logging.INFO)
    now = [DAY]
    outage = OutageLog("backend there", "is away", "is back", lambda: now[0])
    for _ in range(3):
        outage.failed("HTTP 503")
        now[0] += SECOND
        outage.failed("HTTP 503")
        assert (outage.failures, outage.since) == (2, now[0] - SECOND)
        outage.ended()
        assert not outage.failures
    now[0] += 600 * SECOND
    outage.failed("HTTP 429")
    assert [r.getMessage() for r in caplog.records] == [
        "backend there is away: HTTP 503",
        "backend there is back, after 1 s",
        "backend there is away: HTTP 429",
    ]
