"""When an attempt is repeated."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.worker.retry import FIRST, LATEST, LONGEST, pause, retry_after

NOW = 1_700_000_000.0


@given(st.integers(1, 10_000), st.floats(0, 0.999999))
def test_pauses_double_are_jittered_and_bounded(attempts: int, share: float) -> None:
    """Each lies between half and all of the doubled first one, and never beyond the longest."""
    full = min(FIRST * 2.0 ** min(attempts - 1, 20), LONGEST)
    assert full / 2 <= pause(attempts, share) < full


def test_the_receiver_may_ask_for_longer_not_for_shorter() -> None:
    """Retry-After is a least time."""
    assert pause(1, 0.5, 60.0) == 60.0
    assert pause(9, 0.5, 1.0) > 100.0


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        ("120", 120.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2000 22:13:50 GMT", 0.0),
        ("9" * 400, LATEST),
        ("604800", 3_600.0),
        ("Fri, 31 Dec 9999 23:59:59 GMT", LATEST),
        ("", None),
        ("soon", None),
        ("-5", None),
        ("²", None),
        ("\x00", None),
    ],
)
def test_retry_after(value: str, seconds: float | None) -> None:
    """Seconds or a date, bounded; anything else says nothing."""
    assert retry_after(value, NOW) == seconds


@given(st.text(max_size=80))
def test_any_header_is_read(value: str) -> None:
    """A receiver may send what it likes."""
    found = retry_after(value, NOW)
    assert found is None or 0 <= found <= LATEST
