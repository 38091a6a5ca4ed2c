"""Points in time as people write and read them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.schemas.text.moments import iso_time, parse_since

NOW = 1_795_169_386_000_000_000
SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("0s", NOW),
        ("90s", NOW - 90 * SECOND),
        ("30m", NOW - 1_800 * SECOND),
        ("1h", NOW - 3_600 * SECOND),
        ("1.5h", NOW - 5_400 * SECOND),
        (" 2d ", NOW - 172_800 * SECOND),
        ("1w", NOW - 604_800 * SECOND),
        ("999999999w", 0),
        ("1970-01-01T00:00:00Z", 0),
        ("1969-12-31", 0),
        ("2026-11-20", 1_795_132_800 * SECOND),
        ("2026-11-20T10:09:46Z", NOW),
        ("2026-11-20T12:09:46+02:00", NOW),
        ("2026-11-20T10:09:46.123456Z", NOW + 123_456_000),
        ("2262-04-11T23:47:16Z", 9_223_372_036 * SECOND),
    ],
)
def test_lengths_and_iso_times_are_understood(text: str, moment: int) -> None:
    """Lengths count back from now; times without a zone are UTC; what lies before 1970 is 1970."""
    assert parse_since(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "h", "1", "1x", "-1h", "1h30m", "yesterday", "٣h", "2026-13-01", "1e3s"])
def test_other_texts_are_refused_in_one_line(text: str) -> None:
    """The message quotes the text and says what is expected."""
    with pytest.raises(ValueError, match="is no point in time") as caught:
        parse_since(text, NOW)
    assert "\n" not in str(caught.value)


@given(st.integers(min_value=1, max_value=2**63 - 1))
def test_times_are_written_in_utc_to_the_microsecond(nanos: int) -> None:
    """What is written reads back as the same microsecond."""
    text = iso_time(nanos)
    assert text is not None
    assert text.endswith("Z")
    assert parse_since(text, NOW) == nanos // 1000 * 1000


def test_an_unknown_time_is_null() -> None:
    """0 stands for not known."""
    assert iso_time(0) is None
