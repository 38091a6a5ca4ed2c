"""Where and when a rule looks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.moments import iso_time

_TO_SECONDS = len("2026-01-31T23:59:59")


@dataclass(frozen=True, slots=True)
class RuleLook:
    """One look of a rule. `reader`: of its project; `now`: unix nanos; `base`: the address of pages, for links.

    `judges`: the state of LLM judges; `urgency`: the severity of what has none.
    """

    reader: StoredReader
    now: int
    base: str
    judges: Callable[[], JudgesStatus]
    urgency: Severity

    def page(self, path: str, since: int = 0, **filters: str) -> str:
        """The link to a page over [`since`, now) (unix nanos; 0: whatever the page shows by itself), with filters."""
        given = {key: value for key, value in filters.items() if value}
        if since:
            given |= {"from": _field(since), "to": _field(self.now)}
        return f"{self.base}{path}?{urlencode(given)}" if given else f"{self.base}{path}"

    def item(self, folder: str, some_id: str, time: str = "") -> str:
        """The link to the page of one thing, such as a pattern; `time`: a range of pages, such as 7d."""
        return self.page(f"/{folder}/{quote(some_id, safe='')}", range=time)


def _field(nanos: int) -> str:
    return (iso_time(nanos) or "")[:_TO_SECONDS]
