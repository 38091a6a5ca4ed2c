"""Lists of traces and sessions: parameters, columns, filter chips, pages.

All state lives in the URL, so a list can be shared and the back button works.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final, Literal
from urllib.parse import urlencode

from fastapi import Request, Response
from pydantic import ConfigDict, Field

from tracejury.collector.api.params import Text
from tracejury.collector.api.params_lists import FilterParams, ListParams, Order
from tracejury.collector.queries.present_lists import searched
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.list_columns import ListColumn, chosen_columns
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.listing import SessionRow, Sort
from tracejury.schemas.queries.reader import Confidence, TraceQuery, TraceRow
from tracejury.schemas.trace_status import TraceStatus

from .site import Site
from .window import DAY, RANGES, Window, field_time

ROWS: Final = 50
"""Rows of a page."""
LOOKS: Final = 8
"""Filters that are dropped one by one to explain an empty list."""

NAMES: Final[Mapping[str, str]] = {
    "q": "text",
    "status": "status",
    "state": "state",
    "judged": "judged",
    "severity": "severity",
    "category": "category",
    "taxonomy": "taxonomy",
    "judge": "judge",
    "dimension": "dimension",
    "pattern": "issue",
    "agent": "agent",
    "role": "role",
    "tool": "tool",
    "model": "model",
    "prompt": "prompt",
    "inferred": "inferred run",
    "score": "score",
    "other_score": "score by others",
    "version": "version",
    "session": "session",
    "min_duration": "lasting at least",
    "attribute": "attribute",
    "tag": "tag",
    "user": "user",
}
"""Labels of the filters by parameter, without those of the window."""


class PageParams(FilterParams):
    """Parameters of a list, besides the window's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    q: Annotated[Text, Field(description="Text, or the beginning of an id")] = ""
    sort: Sort | Literal[""] = ""
    order: Order | Literal[""] = ""
    cursor: Text = ""
    columns: tuple[Text, ...] = ()

    @property
    def shown_sort(self) -> Sort:
        """The order of the list."""
        return Sort(self.sort) if self.sort else Sort.RECEIVED

    @property
    def ascending(self) -> bool:
        """Whether the list ascends."""
        return self.order == "asc"

    def query(self, window: Window, now: int) -> TraceQuery:
        """The query for the reader. Raises ConfigError for an invalid value."""
        given = {name: getattr(self, name) for name in FilterParams.model_fields}
        given |= {"text": self.q, "since": "", "until": "", "service": window.service}
        asked = ListParams(**given, sort=self.shown_sort, order=self.order or "desc", cursor=self.cursor, limit=ROWS)
        # A range that ends now has no end: what arrives while one reads belongs to it.
        return replace(asked.query(now), since=window.since, until=0 if window.range else window.until)


PARAMS: Final = (*NAMES, "profile", "sort", "order", "cursor", "columns")


@dataclass(frozen=True, slots=True)
class Chip:
    """An active filter: parameter, label, value, and the URL without it."""

    name: str
    label: str
    value: str
    without: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column head; `href` sorts by it, or reverses the order."""

    name: str
    title: str
    sort: Sort | None = None
    href: str = ""
    way: Literal["", "ascending", "descending"] = ""
    number: bool = False


@dataclass(frozen=True, slots=True)
class ListView:
    """View of a list.

    Where it is empty, `culprits`: filters without which there is something; `newest`: the last arrival (unix nanos) of
    what would show in a longer time, and `wider`: the address of a time that holds it; `sessionless`: of sessions, that
    there are traces, which name none. `choices`: all columns that there are, but for the first, which always shows.
    """

    path: str
    asked: PageParams
    rows: Sequence[Any]
    columns: Sequence[Column]
    choices: Sequence[ListColumn]
    chips: Sequence[Chip]
    next: str = ""
    first: str = ""
    searched: str = ""
    culprits: Sequence[Chip] = ()
    wider: str = ""
    newest: int = 0
    sessionless: bool = False
    statuses: Sequence[tuple[str, str]] = tuple((one.value, one.words) for one in TraceStatus)
    judged: Sequence[tuple[str, str]] = (
        ("yes", "yes"),
        ("no", "no"),
        *((why, f"no: {why.words}") for why in NotJudged),
    )


Values = Mapping[str, str | Sequence[str]]
"""Parameters of an address; one that is repeated has several values."""
Rows = Sequence[TraceRow] | Sequence[SessionRow]


def list_page(
    site: Site,
    request: Request,
    asked: PageParams,
    heads: Sequence[ListColumn],
    find_page: Callable[[StoredReader, TraceQuery], tuple[Rows, str | None]],
    find: Callable[[TraceQuery], Rows],
) -> Response:
    """A list's page; the template has the name of its path."""
    path = request.url.path
    window = site.window(request)
    query = asked.query(window, site.clock())
    rows, more = find_page(site.reader, query)
    view = view_of(path, asked, window, rows, heads, more, searched(query))
    if not rows and not asked.cursor:
        # Filters of a session are not those of a trace: only without any is the comparison exact.
        unfiltered = {chip.name for chip in view.chips} <= {"service"}
        sessionless = unfiltered and bool(site.reader.traces(replace(query, limit=1)))
        view = replace(explain_nothing(view, query, window, site.clock(), find), sessionless=sessionless)
    return site.render(request, f"lists{path}.html", view=view)


def view_of(
    path: str,
    asked: PageParams,
    window: Window,
    rows: Sequence[Any],
    heads: Sequence[ListColumn],
    more: str | None,
    searched: str | None,
) -> ListView:
    """The view of one page of rows."""
    params: Values = {**window.params, **asked_params(asked)}
    return ListView(
        path,
        asked,
        rows,
        [_column(path, params, asked, head) for head in chosen_columns(heads, asked.columns, on_page=True)],
        [head for head in heads[1:] if head.title],
        list(_chips(path, params)),
        next=_link(path, {**params, "cursor": more}) if more else "",
        first=_link(path, params) if asked.cursor else "",
        searched=searched or "",
    )


def asked_params(asked: PageParams) -> dict[str, str | Sequence[str]]:
    """The list's own parameters, without the window and the cursor."""
    given = {name: getattr(asked, name) for name in (*NAMES, "profile", "sort", "order")}
    shown = {name: str(value) for name, value in given.items() if value and name != "attribute"}
    several = {name: [text for text in getattr(asked, name) if text] for name in ("attribute", "columns")}
    return {**shown, **{name: texts for name, texts in several.items() if texts}}


def explain_nothing(
    view: ListView,
    query: TraceQuery,
    window: Window,
    now: int,
    rows: Callable[[TraceQuery], Rows],
) -> ListView:
    """Explain an empty list: the filters without which, and the time in which, there would be rows."""
    found = [chip for chip in view.chips[:LOOKS] if rows(_drop(query, chip))]
    latest = replace(query, since=0, until=0, limit=1, before=None, sort=Sort.RECEIVED, ascending=False)
    newest = rows(latest)
    if not newest:
        return replace(view, culprits=found)
    at = newest[0].received
    kept = {"service": window.service} if window.service else {}
    return replace(view, newest=at, wider=_link(view.path, {**asked_params(view.asked), **kept, **_time_of(at, now)}))


def _time_of(at: int, now: int) -> dict[str, str]:
    """Parameters of the shortest range until now that holds a time (both unix nanos), else of its day."""
    for name, length in RANGES.items():
        if now - length <= at < now:
            return {"range": name}
    begin = at // DAY * DAY
    return {"from": field_time(begin), "to": field_time(begin + DAY)}


def _drop(query: TraceQuery, chip: Chip) -> TraceQuery:
    name = chip.name
    if name == "attribute":
        left = [pair for pair in query.attributes if "=".join(pair) != chip.value]
        return replace(query, attributes=left, limit=1, before=None)
    fields = {"q": "text", "session": "session_id", "profile": "confidence"}
    empty: dict[str, Any] = {
        "state": None,
        "status": None,
        "severity": None,
        "min_duration": 0,
        "score": (),
        "other_score": (),
        "profile": Confidence.of(""),
    }
    return replace(query, **{fields.get(name, name): empty.get(name, "")}, limit=1, before=None)


def _chips(path: str, params: Values) -> Iterator[Chip]:
    for name, label in {**NAMES, "service": "service", "profile": "profile"}.items():
        given = params.get(name, ())
        values = [given] if isinstance(given, str) else given
        for value in values:
            left = [one for one in values if one != value]
            yield Chip(name, label, value, _link(path, {**params, name: left}))


def _column(path: str, params: Values, asked: PageParams, head: ListColumn) -> Column:
    sort = head.sort
    if sort is None:
        return Column(head.name, head.title, number=head.number)
    current = asked.shown_sort is sort
    ascending = current and not asked.ascending
    way: Literal["", "ascending", "descending"] = ""
    if current:
        way = "ascending" if asked.ascending else "descending"
    rest = {name: value for name, value in params.items() if name not in ("sort", "order")}
    wanted = ({} if sort is Sort.RECEIVED else {"sort": sort.value}) | ({"order": "asc"} if ascending else {})
    return Column(head.name, head.title, sort, _link(path, {**rest, **wanted}), way, head.number)


def _link(path: str, params: Values) -> str:
    query = urlencode(params, doseq=True)
    return f"{path}?{query}" if query else path
