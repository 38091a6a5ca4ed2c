"""Points in time as people write and read them: how long ago ("90s", "30m", "1h", "2d", "1w") or ISO 8601."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

LAST: Final = 2**63 - 1
"""The latest time that the store holds, in unix nanos: in April 2262. Later ones are taken for it."""

_AGO = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([smhdw])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LENGTH = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*(ms|[smhdw])", re.ASCII)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def parse_since(text: str, now: int) -> int:
    """The point in time in unix nanos; `now` likewise. What lies before 1970 is 0; no zone means UTC.

    Raises:
        ValueError: neither a length of time nor ISO 8601; the text is one clear line.
    """
    text = text.strip()
    ago = _AGO.fullmatch(text)
    if ago:
        return max(0, now - int(float(ago[1]) * _SECONDS[ago[2]] * 1_000_000_000))
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"{text[:40]!r} is no point in time: use a length such as 30m, 1h or 2d, or ISO 8601"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    delta = moment - _EPOCH
    return max(0, (delta.days * 86_400 + delta.seconds) * 1_000_000_000 + delta.microseconds * 1_000)


def parse_length(text: str) -> int:
    """A length of time in nanos: "500ms", "30s", "5m", "1h".

    Raises:
        ValueError: something else; the text is one clear line.
    """
    found = _LENGTH.fullmatch(text.strip())
    if not found:
        raise ValueError(f"{text[:40]!r} is no length of time: use a number with ms, s, m, h, d or w")
    seconds = 0.001 if found[2] == "ms" else _SECONDS[found[2]]
    return int(float(found[1]) * seconds * 1_000_000_000)


def iso_time(nanos: int) -> str | None:
    """Unix nanos as ISO 8601 in UTC with microseconds, cut and not rounded; None for 0 (not known)."""
    if not nanos:
        return None
    return (_EPOCH + timedelta(microseconds=nanos // 1000)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
