"""Template filters for figures, times and the text of spans.

Each returns plain text, which the templates escape.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Mapping
from typing import Final

from tracejury.schemas.not_judged import reason_words
from tracejury.schemas.rates import Estimate
from tracejury.schemas.text.moments import iso_time
from tracejury.schemas.text.naming import agent_name, agent_names, is_whole
from tracejury.schemas.text.terminal import one_line, safe

SHORT_ID: Final = 6
"""Characters at each end of a long id: those of one time, or of one generator, may begin alike."""
SECOND: Final = 1_000_000_000
NONE: Final = "\u2013"
_AGES: Final = ((365 * 86_400, "y"), (30 * 86_400, "mo"), (86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_FEW: Final = 10
_MINUTE: Final = 60
_HUNDRED: Final = 100
_THOUSAND: Final = 1000


def short(text: str) -> str:
    """An id cut to its first and last characters, safe."""
    shown = safe(text)
    return shown if len(shown) <= 2 * SHORT_ID + 1 else f"{shown[:SHORT_ID]}…{shown[-SHORT_ID:]}"


def shown(text: object) -> str:
    """Text of spans with control characters and bidi overrides made visible; never cut."""
    return safe(str(text))


def line(text: object, limit: int = 160) -> str:
    """Text of spans on one line, safe, cut at `limit` characters."""
    return one_line(str(text), limit)


def shell(name: str) -> str:
    """A name quoted for a shell command; "" where it cannot be: hidden in part, or long."""
    plain = name and is_whole(name) and "\n" not in name and safe(name) == name
    return shlex.quote(name) if plain else ""


def cut(text: object, limit: int = 4000) -> str:
    """Text of spans, safe, cut at `limit` characters."""
    return safe(str(text)[:limit])


def iso(nanos: int | None) -> str:
    """A time in UTC to the second."""
    text = iso_time(nanos or 0)
    return f"{text[:10]} {text[11:19]} UTC" if text else NONE


def stamp(nanos: int | None) -> str:
    """A time in ISO 8601, for `datetime` attributes."""
    return iso_time(nanos or 0) or ""


def ago(nanos: int | None, now: int) -> str:
    """The age of a time at `now` (both unix nanos): `3 min ago`."""
    if not nanos:
        return NONE
    seconds = (now - nanos) // SECOND
    tense = "{} ago" if seconds >= 0 else "in {}"
    for size, name in _AGES:
        if abs(seconds) >= size:
            return tense.format(f"{abs(seconds) // size} {name}")
    return "now"


def duration(nanos: float | None) -> str:
    """A length of time: `12 ms`, `1.24 s`, `3 min 20 s`, `2 h 5 min`."""
    if nanos is None:
        return NONE
    seconds = nanos / SECOND
    if seconds >= _MINUTE:
        return _long(round(seconds))
    if seconds >= 1:
        return f"{seconds:.2f} s" if seconds < _FEW else f"{seconds:.1f} s"
    return f"{seconds * 1000:.0f} ms" if seconds >= 0.001 else f"{seconds * 1e6:.0f} µs"  # noqa: PLR2004  a millisecond


def _long(seconds: int) -> str:
    # The two largest parts.
    sizes = ((86_400, 0, "d"), (3_600, 24, "h"), (_MINUTE, 60, "min"), (1, 60, "s"))
    counts = [(seconds // size % (most or seconds + 1), name) for size, most, name in sizes]
    first = next(index for index, (count, _) in enumerate(counts) if count)
    return " ".join(f"{count} {name}" for count, name in counts[first : first + 2] if count)


def number(value: float | None) -> str:
    """A count with thin spaces between thousands: `12 345`; other numbers with two decimals."""
    if value is None:
        return NONE
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer():
        return f"{int(value):,}".replace(",", "\u202f")
    return f"{value:,.2f}".replace(",", "\u202f") if abs(value) < _THOUSAND else number(round(value))


def counted(value: int, noun: str) -> str:
    """A count with its noun: `1 run`, `12 345 runs`."""
    return f"{number(value)} {noun}{'' if value == 1 else 's'}"


def size(value: int) -> str:
    """A number of bytes: `812 B`, `12 kB`, `1.4 MB`."""
    if value < _THOUSAND:
        return f"{value} B"
    return f"{value / 1e3:.0f} kB" if value < 1_000_000 else f"{value / 1e6:.1f} MB"  # noqa: PLR2004  a megabyte


def percent(value: float | None) -> str:
    """A share: `12.3 %`."""
    if value is None:
        return NONE
    hundredths = value * _HUNDRED
    size = abs(hundredths)
    digits = 0 if size >= _HUNDRED or not size else 1 if size >= 1 else 2
    return f"{hundredths:.{digits}f}\u202f%"


def interval(estimate: Estimate | None, *, share: bool = True) -> str:
    """The 95 % interval in words: `9.1 % to 16.2 %`."""
    if estimate is None:
        return ""
    write = percent if share else number
    return f"{write(estimate.low)} to {write(estimate.high)}"


def usd(value: float | None) -> str:
    """Dollars: `$0.0042`, `$1.20`."""
    if value is None:
        return NONE
    return f"${value:.4f}" if 0 < abs(value) < 0.1 else f"${value:,.2f}"  # noqa: PLR2004  below it cents tell nothing


FILTERS: Final[Mapping[str, Callable[..., str]]] = {
    filter_.__name__: filter_
    for filter_ in (
        short,
        shown,
        line,
        shell,
        cut,
        counted,
        iso,
        stamp,
        ago,
        duration,
        number,
        size,
        percent,
        interval,
        usd,
        reason_words,
    )
} | {"agent": agent_name, "agents": agent_names}
