"""Quiet hours and the digest: when a change may be told. Pure; times are unix nanos."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final
from zoneinfo import ZoneInfo

SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class AlertSchedule:
    """`quiet`: the beginning and end of quiet hours, `digest`: when it is told, in minutes of the day of `zone`."""

    zone: str = "UTC"
    quiet: tuple[int, int] | None = None
    digest: int | None = None

    def is_quiet_at(self, minute: int) -> bool:
        """Whether that minute of the day is in quiet hours, which may go past midnight."""
        if self.quiet is None:
            return False
        begin, end = self.quiet
        return begin <= minute < end if begin < end else minute >= begin or minute < end

    def is_quiet(self, now: int) -> bool:
        """Whether it is quiet hours."""
        local = self._local(now)
        return self.is_quiet_at(local.hour * 60 + local.minute)

    def next_digest(self, now: int) -> int:
        """When what is held back at `now` is told: at the digest's time, without one at the end of quiet hours.

        Without either it is `now`. On the day that a clock change leaves that time out, as much later as the clock was
        put forward.
        """
        minute = self.digest if self.digest is not None else self.quiet[1] if self.quiet else None
        if minute is None:
            return now
        local = self._local(now)
        days = (local.date(), local.date() + timedelta(days=1))
        times = [datetime(day.year, day.month, day.day, minute // 60, minute % 60, tzinfo=local.tzinfo) for day in days]
        if self.digest is None:  # quiet hours end each time that the clock shows their end
            times += [again for time in times if (again := time.replace(fold=1)).timestamp() > time.timestamp()]
        return min(at for at in (round(time.timestamp()) * SECOND for time in times) if at > now)

    def due(self, at: int, *, waits: bool, wakes: bool) -> int:
        """When what changed at `at` is told: then, or with the next digest, as of a rule that `waits` for it.

        `wakes`: the rule tells in quiet hours, too.
        """
        return self.next_digest(at) if waits or (self.is_quiet(at) and not wakes) else at

    def _local(self, now: int) -> datetime:
        return datetime.fromtimestamp(now / SECOND, zone_of(self.zone))


def zone_of(name: str) -> tzinfo:
    """The time zone of that name; UTC needs no database of time zones.

    Raises:
        KeyError, ValueError, OSError: the system knows none of that name.
    """
    return UTC if name == "UTC" else ZoneInfo(name)


def minutes_of_day(text: str) -> int:
    """The minute of the day of `08:30`."""
    hours, _, minutes = text.partition(":")
    return int(hours) * 60 + int(minutes)


def minutes_of_hours(text: str) -> tuple[int, int]:
    """The beginning and end of `22:00-07:00`, in minutes of the day."""
    begin, _, end = text.partition("-")
    return minutes_of_day(begin), minutes_of_day(end)
