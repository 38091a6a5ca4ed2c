"""Texts of alerts as services take them: without hidden characters, escaped, cut to what they take. Pure."""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any, Final
from urllib.parse import quote

from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.text.terminal import one_line, safe

MOST_FACTS: Final = 10
"""Facts of one alert that are sent."""
MOST_LISTED: Final = 10
"""Alerts of a digest that are listed; of the others their number is told."""
LONGEST_LINK: Final = 1_000
CUT: Final = "…"
_IN_LINKS: Final = ":/?#[]@!$&+,;=%~-._"  # without quotes, angle brackets and bars: markup somewhere

JsonObject = dict[str, Any]
Escape = Callable[[str], str]
Size = Callable[[str], int]


def units(text: str) -> int:
    """The length in UTF-16, as services count characters or more strictly than they do."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def fitted(text: str, most: int, escape: Escape = str, size: Size = units) -> str:
    """`text` without hidden characters, in `most` units of `size` at most; what is cut is marked with "…".

    `escape` is given one character at a time; what it returns is never cut in two.
    """
    pieces = [escape(char) for char in safe(text[: most + 1])]  # each takes one unit or more

    def size_of(count: int) -> int:
        return size("".join(pieces[:count]))

    if size_of(len(pieces)) <= most:
        return "".join(pieces)
    fitting = bisect_right(range(len(pieces)), most - size(CUT), key=size_of) - 1
    return "".join(pieces[:fitting]) + CUT


def fitted_line(text: str, most: int, escape: Escape = str, size: Size = units) -> str:
    """The same on one line."""
    return fitted(one_line(text, most), most, escape, size)


def headline(alert: Alert) -> str:
    """The title with state and severity before it, which no text can forge."""
    state = f"Firing, {alert.severity}" if alert.state is AlertState.FIRING else "Resolved"
    return f"{state}: {one_line(alert.title, 1_000)}"


def digest_headline(alerts: Sequence[Alert]) -> str:
    """The title of a digest."""
    firing = sum(alert.state is AlertState.FIRING for alert in alerts)
    return f"{counted(len(alerts), 'alert')}: {firing} firing, {len(alerts) - firing} resolved"


def unlisted(alerts: Sequence[Alert]) -> str:
    """What a digest says of the alerts that it does not list, "" where it lists all."""
    more = len(alerts) - MOST_LISTED
    return f"and {more} more" if more > 0 else ""


def web_link(alert: Alert) -> str:
    """The alert's page, "" where its address is none of http(s): characters that could end it are escaped."""
    link = quote(safe(alert.link[:LONGEST_LINK]), safe=_IN_LINKS)
    is_whole = len(alert.link) <= LONGEST_LINK and len(link) <= LONGEST_LINK
    return link if is_whole and link.startswith(("http://", "https://")) else ""


def incident_of(alert: Alert) -> str:
    """What an alert and its resolution have in common, in 74 characters of ASCII: by it pagers close an incident."""
    return f"tracejury-{digest_of(alert.project, alert.rule, alert.key)}"


def digest_of(*parts: str) -> str:
    """SHA-256 of texts, in hex: an id that no text of theirs can shape."""
    return hashlib.sha256(bytes_of(parts)).hexdigest()
