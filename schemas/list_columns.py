"""The columns of lists, each declared once: for the parameter `columns` of pages and the option of the command line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from .errors import ConfigError
from .queries.listing import Sort


@dataclass(frozen=True, slots=True)
class ListColumn:
    """A column: `name` as it is chosen, `title` on pages; `sort`: the order by it; `number`: it holds numbers.

    `on_page`, `on_terminal`: shown there where nobody chooses. Without a title pages show it in another column.
    """

    name: str
    title: str = ""
    sort: Sort | None = None
    number: bool = False
    on_page: bool = False
    on_terminal: bool = True


COLUMNS_OF_TRACES: Final = (
    ListColumn("trace", "Trace", on_page=True),
    ListColumn("received", "Arrived", Sort.RECEIVED, on_page=True),
    ListColumn("service", "Service, agents", on_page=True),
    ListColumn("agents"),
    ListColumn("question"),
    ListColumn("session", "Session", on_terminal=False),
    ListColumn("version", "Version", on_terminal=False),
    ListColumn("models", "Models", on_terminal=False),
    ListColumn("errors", "Errors", Sort.SEVERITY, on_page=True),
    ListColumn("worst-error"),
    ListColumn("took", "Took", Sort.DURATION, number=True, on_page=True),
    ListColumn("spans", "Spans", number=True),
    ListColumn("turns", "Turns", number=True, on_page=True, on_terminal=False),
    ListColumn("tokens", "Tokens", Sort.TOKENS, number=True, on_page=True, on_terminal=False),
    ListColumn("cost", "Cost", Sort.COST, number=True, on_page=True),
    ListColumn("status", "Status", on_page=True),
)
"""Of lists of traces."""

COLUMNS_OF_SESSIONS: Final = (
    ListColumn("session", "Session", on_page=True),
    ListColumn("received", "Last arrival", Sort.RECEIVED, on_page=True),
    ListColumn("service", "Service, agents", on_page=True),
    ListColumn("errors", "Errors", Sort.SEVERITY, on_page=True),
    ListColumn("worst-error"),
    ListColumn("traces", "Traces", number=True, on_page=True),
    ListColumn("turns", "Turns", number=True, on_page=True),
    ListColumn("took", "Took", Sort.DURATION, number=True, on_page=True),
    ListColumn("tokens", "Tokens", Sort.TOKENS, number=True, on_page=True, on_terminal=False),
    ListColumn("cost", "Cost", Sort.COST, number=True, on_page=True),
    ListColumn("status", "Status", on_page=True),
)
"""Of lists of sessions."""

COLUMNS_OF_ERRORS: Final = (
    ListColumn("error", "Error", on_page=True),
    ListColumn("service", "Service, agent", on_page=True),
    ListColumn("quote", "Quote", on_page=True),
    ListColumn("reason", "Reason", on_page=True),
    ListColumn("judges", "Judges, confidence", on_page=True),
    ListColumn("seen", "First seen, span", on_page=True),
)
"""Of lists of errors, whose rows are blocks on pages."""


def chosen_columns(columns: Sequence[ListColumn], texts: Iterable[str], *, on_page: bool) -> list[ListColumn]:
    """Those that are named, with commas between several, in their order; the first one always. Of none: the usual ones.

    Raises:
        ConfigError: one is none of the list's.
    """
    names = {name.strip() for text in texts for name in text.split(",")} - {""}
    known = [one for one in columns if one.title or not on_page]
    unknown = names - {one.name for one in columns}
    if unknown:
        there = ", ".join(one.name for one in known)
        raise ConfigError(f"no column {min(unknown)[:40]!r}: this list has {there}")
    usual = {one.name for one in known if (one.on_page if on_page else one.on_terminal)}
    return [one for at, one in enumerate(known) if not at or one.name in (names or usual)]
