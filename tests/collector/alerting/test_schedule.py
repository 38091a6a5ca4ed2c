"""Quiet hours and the digest, in the zone of those who are told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.alerting.schedule import AlertSchedule, minutes_of_day, minutes_of_hours

MINUTE = 60 * 10**9
NIGHT = minutes_of_hours("22:00-07:00")
BERLIN = "Europe/Berlin"
minutes = st.integers(0, 24 * 60 - 1)
moments = st.datetimes(datetime(2000, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001  zones follow


def nanos(text: str, zone: str = BERLIN) -> int:
    return round(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp()) * 10**9


@pytest.mark.parametrize(
    ("at", "quiet"),
    [
        ("2026-01-10T21:59:59", False),
        ("2026-01-10T22:00", True),
        ("2026-01-11T06:59", True),
        ("2026-01-11T07:00", False),
        ("2026-07-10T22:30", True),
        ("2026-07-10T07:30", False),
    ],
)
def test_quiet_hours_go_past_midnight_in_their_zone(at: str, quiet: bool) -> None:  # noqa: FBT001  a case
    assert AlertSchedule(BERLIN, NIGHT).is_quiet(nanos(at)) is quiet


def test_what_is_held_back_is_told_at_the_end_or_at_the_digest() -> None:
    night = nanos("2026-01-10T23:00")
    assert AlertSchedule(BERLIN, NIGHT).due(night, waits=False, wakes=False) == nanos("2026-01-11T07:00")
    digest = AlertSchedule(BERLIN, NIGHT, minutes_of_day("08:30"))
    assert digest.due(night, waits=False, wakes=False) == nanos("2026-01-11T08:30")
    assert digest.due(night, waits=False, wakes=True) == night
    noon = nanos("2026-01-11T12:00")
    assert digest.due(noon, waits=False, wakes=False) == noon
    assert digest.due(noon, waits=True, wakes=False) == nanos("2026-01-12T08:30")


def test_a_digest_comes_on_the_day_of_a_clock_change() -> None:
    """02:30 is left out on 29 March 2026 and comes twice on 25 October: it is told, once."""
    schedule = AlertSchedule(BERLIN, None, minutes_of_day("02:30"))
    spring = schedule.next_digest(nanos("2026-03-29T00:00"))
    assert nanos("2026-03-29T01:59") < spring <= nanos("2026-03-29T03:30")
    autumn = schedule.next_digest(nanos("2026-10-25T00:00"))
    assert schedule.next_digest(autumn) - autumn > 20 * 3600 * 10**9


def test_quiet_hours_end_each_time_that_the_clock_shows_their_end() -> None:
    """What is held back at the second 02:10 of 25 October waits for twenty minutes, not for a day."""
    schedule = AlertSchedule(BERLIN, minutes_of_hours("22:00-02:30"))
    second = nanos("2026-10-25T02:10") + 3600 * 10**9
    assert schedule.is_quiet(second)
    assert schedule.next_digest(second) - second == 20 * MINUTE
    assert schedule.next_digest(second - 3600 * 10**9) == second - 3600 * 10**9 + 20 * MINUTE


@given(moments, minutes, minutes, st.none() | minutes, st.sampled_from(["UTC", BERLIN, "Pacific/Chatham"]))
def test_nothing_is_held_for_more_than_a_day_nor_told_in_quiet_hours(
    at: datetime, begin: int, end: int, digest: int | None, zone: str
) -> None:
    now = round(at.timestamp()) * 10**9
    schedule = AlertSchedule(zone, (begin, end) if begin != end else None, digest)
    due = schedule.due(now, waits=False, wakes=False)
    assert now <= due <= now + round(timedelta(hours=25).total_seconds()) * 10**9
    if schedule.is_quiet(now) and digest is None:
        local = datetime.fromtimestamp(due // 10**9, ZoneInfo(zone))
        assert (local.hour * 60 + local.minute - end) % 1440 in (0, 30, 60)  # later where a clock change leaves it out
    elif not schedule.is_quiet(now):
        assert due == now
