"""Saved views: pages with their filters under names. Stored are path and parameters, never an address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

PAGES: Final = ("/", "/traces", "/sessions", "/errors", "/patterns", "/clusters", "/labels", "/judges", "/packs")
"""Pages that can be saved."""
MOST_VIEWS: Final = 1_000
"""Saved views of a project."""
MOST_LINK: Final = 4_000
"""Characters of path and parameters."""


@dataclass(frozen=True, slots=True)
class SavedView:
    """A page of `PAGES` with its parameters, in order, under a name; `saved_at` in unix nanos."""

    name: str
    page: str
    parameters: Sequence[tuple[str, str]]
    saved_at: int

    @property
    def link(self) -> str:
        """The page's address, without host."""
        return f"{self.page}?{urlencode(self.parameters)}" if self.parameters else self.page
