"""The time range and service that all pages share; they live in the URL and pass on with every link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlencode

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.moments import LAST, iso_time, parse_since

MINUTE: Final = 60_000_000_000
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
RANGES: Final[Mapping[str, int]] = {"1h": HOUR, "6h": 6 * HOUR, "24h": DAY, "7d": 7 * DAY, "30d": 30 * DAY}
DEFAULT_RANGE: Final = "24h"
KEPT: Final = ("range", "from", "to", "service")
"""Parameters of the window."""

STEPS: Final = (MINUTE, 5 * MINUTE, 15 * MINUTE, HOUR, 3 * HOUR, 6 * HOUR, DAY, 7 * DAY)
POINTS: Final = 62
"""Points of a chart at most."""
_TO_SECONDS: Final = len("2026-01-31T23:59:59")
_LONGEST: Final = 1000
"""Characters of a service's name in a URL at most."""


@dataclass(frozen=True, slots=True)
class Window:
    """[`since`, `until`) in unix nanos, and the service ("": all). `range`: a key of RANGES, "" where it has set ends.

    Ranges from six hours on begin with a full hour, so they may be up to one longer than they say.

    `params`: what the address says of it, without what is the default.
    """

    since: int
    until: int
    range: str = DEFAULT_RANGE
    service: str = ""

    @property
    def params(self) -> dict[str, str]:
        """Parameters that select the same time and service."""
        named: dict[str, str] = {}
        if not self.range:
            named = {"from": field_time(self.since), "to": field_time(self.until)}
        elif self.range != DEFAULT_RANGE:
            named = {"range": self.range}
        return named | ({"service": self.service} if self.service else {})

    def link(self, path: str, **more: str | int | Sequence[str] | None) -> str:
        """`path` with the window and further parameters; empty ones and None are left out."""
        given = {name.rstrip("_"): value for name, value in more.items() if value not in (None, "", (), [])}
        query = urlencode({**self.params, **given}, doseq=True)
        return f"{path}?{query}" if query else path

    @property
    def before(self) -> Window:
        """The window of about the same length that ends where this one begins."""
        until = max(self.since, MINUTE)
        return replace(self, since=_begin(until, self.until - self.since), until=until, range="")

    @property
    def step(self) -> int:
        """Nanoseconds of a chart's step: a round time that makes at most `POINTS` points."""
        length = max(1, self.until - self.since)
        return next((step for step in STEPS if length <= step * POINTS), -(-length // (POINTS * DAY)) * DAY)

    @property
    def steps(self) -> Sequence[int]:
        """The beginnings of a chart's steps."""
        return range(self.since // self.step * self.step, self.until, self.step)

    @property
    def words(self) -> str:
        """The time in words: `the last 24 hours`."""
        spoken = {"1h": "hour", "6h": "6 hours", "24h": "24 hours", "7d": "7 days", "30d": "30 days"}
        if self.range:
            return f"the last {spoken[self.range]}"
        since, until = (at.replace("T", " ") for at in self.fields)
        return f"{since} to {until} UTC"

    @property
    def fields(self) -> tuple[str, str]:
        """Both ends for date fields, in UTC, to the second."""
        return field_time(self.since)[:_TO_SECONDS], field_time(self.until)[:_TO_SECONDS]


def read_window(params: Mapping[str, str], now: int) -> Window:
    """The window of a URL's parameters; `now` in unix nanos.

    Raises:
        ConfigError: no such range, no such time, it ends before it begins, or too long a name; one line.
    """
    service = params.get("service", "")
    if len(service) > _LONGEST:
        raise ConfigError(f"service: a name of at most {_LONGEST} characters can be asked for")
    start, end = params.get("from", "").strip(), params.get("to", "").strip()
    if start or end:
        return _between(start, end, service, now)
    name = params.get("range") or DEFAULT_RANGE
    if name not in RANGES:
        raise ConfigError(f"no time range {name[:40]!r}: use {', '.join(RANGES)}, or from and to")
    return Window(_begin(now, RANGES[name]), now, name, service)


def field_time(nanos: int) -> str:
    """Unix nanos for a URL, in UTC: `2026-01-31T23:59`; with seconds and microseconds where there are some."""
    text = (iso_time(nanos) or "1970-01-01T00:00:00.000000Z").removesuffix("Z")
    return text.removesuffix(".000000").removesuffix(":00")


def _begin(end: int, length: int) -> int:
    # At the full hour before, where that is hardly more: whole hours are summed already.
    since = max(0, end - length)
    return since // HOUR * HOUR if length >= RANGES["6h"] else since


def _between(start: str, end: str, service: str, now: int) -> Window:
    try:
        until = min(parse_since(end, now), LAST) if end else now
        since = min(parse_since(start, now), LAST - MINUTE) if start else max(0, until - RANGES[DEFAULT_RANGE])
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if until < since:
        raise ConfigError("the time range ends before it begins")
    # Fields for dates show minutes: an end that is the beginning is this minute's.
    return Window(since, until if until > since else since + MINUTE, "", service)
