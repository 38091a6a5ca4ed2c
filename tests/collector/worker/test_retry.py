"""When an attempt is repeated."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.worker.retry import RetryPolicy, retry_after

NOW = datetime(2026, 1, 1, tzinfo=UTC).timestamp()
DAY = 86_400.0
POLICY = RetryPolicy(first=1.0, longest=300.0, longest_asked=3_600.0)


@given(st.integers(1, 10_000), st.floats(0, 0.999999))
def test_delays_double_are_jittered_and_bounded(attempt: int, share: float) -> None:
    """Each lies between half and all of the doubled first one, and never beyond the longest."""
    full = min(POLICY.first * 2.0 ** min(attempt - 1, 20), POLICY.longest)
    assert full / 2 <= POLICY.delay(attempt, share=share) < full


def test_delays_of_many_clients_differ() -> None:
    """Without a share, the jitter is drawn."""
    assert len({POLICY.delay(5) for _ in range(20)}) > 1
    assert 150.0 <= POLICY.delay(100_000) <= 300.0, "also after days"


def test_the_server_may_ask_for_longer_not_for_shorter() -> None:
    """Retry-After is a least time, up to a bound."""
    assert POLICY.delay(1, 60.0, 0.5) == 60.0
    assert POLICY.delay(9, 1.0, 0.5) > 100.0
    assert POLICY.delay(1, 1e9) == POLICY.longest_asked


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("", None),
        ("0", 0.0),
        ("7", 7.0),
        ("120", 120.0),
        ("-3", None),
        ("soon", None),
        ("²", None),
        ("\x00", None),
        ("Thu, 01 Jan 2026 00:00:05 GMT", 5.0),
        ("Wed, 31 Dec 2025 00:00:00 GMT", 0.0),
        ("Thu, 01 Jan 2026 00:00:05 -0000", 5.0),
        ("Thu, 01 Jan 2026 00:00:05 -0100", 3_605.0),
        ("nan", None),
        ("-inf", None),
        ("1e400", DAY),
        ("9" * 400, DAY),
        ("604800", DAY),
        ("Fri, 31 Dec 9999 23:59:59 GMT", DAY),
        ("Fri, 31 Dec 9999 23:59:59 -2359", DAY),
        (f"Fri, 31 Dec {'9' * 20} 23:59:59 GMT", None),
        (f"Fri, 31 Dec 2026 23:59:59 +{'9' * 14}", None),
    ],
)
def test_retry_after(header: str, seconds: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds or an HTTP date in UTC, bounded, whatever the machine's zone; anything else asks for nothing."""
    monkeypatch.setenv("TZ", "America/New_York")
    time.tzset()
    try:
        assert retry_after(header, NOW, DAY) == seconds
    finally:
        monkeypatch.undo()
        time.tzset()


@given(st.text(max_size=80))
def test_any_header_is_read(header: str) -> None:
    """A server may send what it likes."""
    found = retry_after(header, NOW, DAY)
    assert found is None or 0 <= found <= DAY
