"""How figures, times and text are written."""

from __future__ import annotations

import shlex
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.web.filters import (
    FILTERS,
    ago,
    counted,
    cut,
    duration,
    interval,
    iso,
    line,
    number,
    percent,
    shell,
    short,
    shown,
    usd,
)
from tracejury.schemas.rates import Estimate

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("nanos", "told"),
    [
        (None, "\u2013"),
        (0, "0 µs"),
        (1_500, "2 µs"),
        (1_000_000, "1 ms"),
        (999_000_000, "999 ms"),
        (SECOND, "1.00 s"),
        (9_990_000_000, "9.99 s"),
        (59.9 * SECOND, "59.9 s"),
        (60 * SECOND, "1 min"),
        (61 * SECOND, "1 min 1 s"),
        (3600 * SECOND, "1 h"),
        (3660 * SECOND, "1 h 1 min"),
        (86_400 * SECOND, "1 d"),
        (90_000 * SECOND, "1 d 1 h"),
        (400 * 86_400 * SECOND, "400 d"),
    ],
)
def test_durations(nanos: float | None, told: str) -> None:
    """In the two largest parts."""
    assert duration(nanos) == told


@pytest.mark.parametrize(
    ("share", "told"),
    [
        (None, "\u2013"),
        (0.0, "0\u202f%"),
        (0.0041, "0.41\u202f%"),
        (0.0999, "10.0\u202f%"),
        (0.5, "50.0\u202f%"),
        (1.0, "100\u202f%"),
    ],
)
def test_shares(share: float | None, told: str) -> None:
    """Small ones to two digits."""
    assert percent(share) == told


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (None, "\u2013"),
        (0, "0"),
        (12_345, "12\u202f345"),
        (3.456, "3.46"),
        (1e6 + 0.5, "1\u202f000\u202f000"),
        (float("inf"), "inf"),
    ],
)
def test_numbers(value: float | None, told: str) -> None:
    """In groups of three."""
    assert number(value) == told


@pytest.mark.parametrize(
    ("value", "told"), [(None, "\u2013"), (0.0, "$0.00"), (0.0042, "$0.0042"), (1234.5, "$1,234.50")]
)
def test_dollars(value: float | None, told: str) -> None:
    """To cents, and below ten cents further."""
    assert usd(value) == told


@pytest.mark.parametrize(
    ("before", "told"),
    [
        (0, "now"),
        (1, "1 s ago"),
        (59, "59 s ago"),
        (60, "1 min ago"),
        (3600, "1 h ago"),
        (86_400 * 3, "3 d ago"),
        (-7200, "in 2 h"),
    ],
)
def test_ages(before: int, told: str) -> None:
    """In the largest unit; what is to come is said so."""
    now = 1_795_169_386 * SECOND
    assert ago(now - before * SECOND, now) == told
    assert ago(0, now) == "\u2013"


def test_times_are_utc_and_whole_seconds() -> None:
    """As the pages say."""
    assert iso(1_795_169_386_999_999_999) == "2026-11-20 10:09:46 UTC"
    assert iso(None) == "\u2013"


def test_intervals_in_words() -> None:
    """Of shares and of other figures."""
    estimate = Estimate(0.5, 0.25, 0.75)
    assert interval(estimate) == "25.0\u202f% to 75.0\u202f%"
    assert interval(estimate, share=False) == "0.25 to 0.75"
    assert interval(None) == ""


@pytest.mark.parametrize("name", ["svc", "it's", "a b; rm -rf ~ $(x) `y` !z", '"', "-x", "über\\"])
def test_a_name_is_one_word_to_a_shell(name: str) -> None:
    """Whoever copies the command names this, and runs nothing else."""
    assert shlex.split(shell(name)) == [name]


@pytest.mark.parametrize("name", ["", "a\nb", "a\tb", "\x1b[2J", "a\u202eb", "x" * 257])
def test_a_name_that_cannot_be_copied_makes_no_command(name: str) -> None:
    """What a page cannot show as it is would be another name in a terminal."""
    assert shell(name) == ""


def test_ids_are_cut_to_their_beginning() -> None:
    """Short ones are whole."""
    assert short("0af7651916cd43dd8448eb211c80319c") == "0af765\u202680319c"
    assert short("run-1") == "run-1"
    assert short("\u202eabc") == "\\u202eabc"


@given(st.text())
def test_text_holds_nothing_hidden(text: str) -> None:
    """No control character, bidi override or line separator is left, whatever the filter; only line feeds stay."""
    for told in (shown(text), line(text), cut(text, 50), short(text), shell(text)):
        hidden = {c for c in told if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp")}
        assert hidden <= {"\n"}


def test_long_text_is_cut() -> None:
    """At the limit, before anything else looks at all of it."""
    assert cut("x" * 20_000_000, 10) == "x" * 10
    assert line("word " * 5_000_000, 20).endswith("\u2026")


@pytest.mark.parametrize(
    ("value", "told"), [(0, "0 runs"), (1, "1 run"), (2, "2 runs"), (12_345, "12\u202f345 runs"), (-1, "-1 runs")]
)
def test_a_count_has_its_noun_in_the_right_number(value: int, told: str) -> None:
    """One is one run; all others are several."""
    assert counted(value, "run") == told


def test_an_agent_without_a_name_is_called_so() -> None:
    """By one name everywhere."""
    agent = FILTERS["agent"]
    assert (agent("planner"), agent("")) == ("planner", "unnamed agent")
