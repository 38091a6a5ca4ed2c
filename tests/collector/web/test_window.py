"""The time range and the service that live in the address."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.web.window import DAY, HOUR, MINUTE, POINTS, Window, read_window
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.moments import LAST

NOW = 1_795_169_386_000_000_000


@pytest.mark.parametrize(
    ("name", "length"), [("", DAY), ("1h", HOUR), ("6h", 6 * HOUR), ("7d", 7 * DAY), ("30d", 30 * DAY)]
)
def test_a_range_ends_now(name: str, length: int) -> None:
    """A day where none is named."""
    window = read_window({"range": name}, NOW)
    begin = NOW - length
    assert window.until == NOW
    assert window.since == (begin if name == "1h" else begin // HOUR * HOUR)


def test_ends_of_ones_own() -> None:
    """Both, either one, and lengths back from now."""
    window = read_window({"from": "2026-11-01T10:00", "to": "2026-11-01T11:30", "range": "7d"}, NOW)
    assert window.until - window.since == 90 * MINUTE
    assert window.fields == ("2026-11-01T10:00", "2026-11-01T11:30")
    assert window.words == "2026-11-01 10:00 to 2026-11-01 11:30 UTC"
    assert read_window({"from": "2h"}, NOW).until == NOW
    assert read_window({"to": "1h"}, NOW).since == NOW - HOUR - DAY


@pytest.mark.parametrize(
    ("params", "why"),
    [
        ({"range": "2y"}, "no time range '2y': use 1h, 6h, 24h, 7d, 30d, or from and to"),
        ({"from": "yesterday"}, "'yesterday' is no point in time"),
        ({"from": "1h", "to": "2h"}, "the time range ends before it begins"),
        ({"service": "x" * 1001}, "service: a name of at most 1000 characters can be asked for"),
    ],
)
def test_what_is_none_is_said_in_a_line(params: dict[str, str], why: str) -> None:
    """Nothing is guessed."""
    with pytest.raises(ConfigError, match="^" + why.replace("?", r"\?")):
        read_window(params, NOW)


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ("2026-11-01T10:00:05", "2026-11-01T10:00:40"),
        ("2026-11-01T10:00:05.000001", "2026-11-01T10:00:05.000002"),
        ("2026-11-01T10:00", "2026-11-01T10:00:01"),
        ("90s", "61s"),
    ],
)
def test_links_keep_ends_exactly(start: str, end: str) -> None:
    """A time within one minute stays what it is, from page to page."""
    window = read_window({"from": start, "to": end}, NOW)
    assert read_window(window.params, NOW) == window


def test_an_end_that_is_the_beginning_is_that_minutes() -> None:
    """Fields for dates show no seconds: whoever picks 10:00 to 10:00 means this minute."""
    window = read_window({"from": "2026-11-01T10:00", "to": "2026-11-01T10:00"}, NOW)
    assert (window.until - window.since, window.fields[1]) == (MINUTE, "2026-11-01T10:01")


@pytest.mark.parametrize("start", ["", "1970-01-01", "0001-01-01T00:00", "2026-11-01", "9999-12-31"])
@pytest.mark.parametrize("end", ["", "9999-12-31T23:59", "2262-04-12"])
def test_ends_beyond_what_the_store_holds_are_its_ends(start: str, end: str) -> None:
    """Everything is a range, too; so is the time before it, and links lead to the same."""
    given = {"from": start, "to": end}
    if not end and start.startswith("9"):
        return  # what has not begun has no end yet
    window = read_window(given, NOW)
    assert 0 <= window.since < window.until <= LAST
    assert window.before.since < window.before.until
    again = read_window(window.params, NOW)
    assert (again.since // 1000, again.until // 1000) == (window.since // 1000, window.until // 1000)


def test_links_keep_what_is_not_the_default() -> None:
    """Empty parameters are left out; whatever a name holds stays in its parameter."""
    assert read_window({}, NOW).link("/traces") == "/traces"
    window = read_window({"range": "1h", "service": "a&b=c#d"}, NOW)
    assert window.link("/traces", agent="x y", tool="") == "/traces?range=1h&service=a%26b%3Dc%23d&agent=x+y"
    own = read_window({"from": "2026-11-01T10:00", "to": "2026-11-02T10:00"}, NOW)
    assert own.link("/", page=2) == "/?from=2026-11-01T10%3A00&to=2026-11-02T10%3A00&page=2"


def test_the_time_before_is_as_long() -> None:
    """It ends where this one begins, and keeps the service."""
    window = read_window({"range": "6h", "service": "s"}, NOW)
    before = window.before
    begin = (NOW - 6 * HOUR) // HOUR * HOUR
    assert (before.until, before.service) == (begin, "s")
    assert before.since == (begin - (NOW - begin)) // HOUR * HOUR
    assert Window(HOUR, 3 * HOUR).before.since == 0


@given(since=st.integers(0, 4 * 10**18), length=st.integers(1, 40 * 365 * DAY))
def test_a_chart_has_a_bounded_number_of_points(since: int, length: int) -> None:
    """Whatever the time is, and a step is never shorter than a minute."""
    window = Window(since, since + length, "")
    assert window.step >= MINUTE
    assert length <= window.step * POINTS
