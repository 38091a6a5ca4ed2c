"""Live pages: the event stream of one trace, and the tail of errors with its stream.

The tail follows findings; a line shows the error that a finding is of, and further findings of it update that line.

A stream never holds what it has not sent: it is told that something changed and asks the store for what is new. A slow
browser therefore costs a mark and a bounded list of ids, and misses only what stood in between; of findings it is told
how many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, Final

from anyio import to_thread
from fastapi import FastAPI, Query, Request, Response
from fastapi.responses import RedirectResponse
from fastapi.sse import EventSourceResponse, format_sse_event
from pydantic import ConfigDict, field_validator

from tracejury.collector.api.params import Params, Profile, Text, with_filters
from tracejury.schemas.errors import OverloadedError, RetryableError
from tracejury.schemas.filters import ERROR_FILTERS, an_id, field_values
from tracejury.schemas.list_columns import COLUMNS_OF_ERRORS, chosen_columns
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, LocatedFinding, Position
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.jsontext import text_of

from .change_feed import ChangeFeed
from .site import Site, page
from .tail import SHOWN, Tail, read_place, write_place
from .tail_lines import TailLine, one_each, tail_lines
from .trace.pages import annotator
from .window import Window

PAUSE: Final = 0.3
"""Least seconds between two events of one stream: a page need not be redrawn more often."""

KEEPALIVE_SECONDS: Final = 15.0
"""Seconds after which an idle stream sends a comment: proxies drop silent connections."""

OPENING: Final = format_sse_event(retry=2000)
"""Opens every stream: the milliseconds after which a browser reconnects."""

KEEPALIVE: Final = format_sse_event(comment="beat")
HEADERS: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}


@with_filters(*ERROR_FILTERS)
class _TailFilters(Params):
    model_config = ConfigDict(extra="ignore", frozen=True)


class TailParams(_TailFilters):
    """Parameters of the list of errors, besides the window's."""

    profile: Profile = ""
    columns: tuple[Text, ...] = ()

    @property
    def shown(self) -> list[str]:
        """The names of the columns that show. Raises ConfigError for a column that there is not."""
        return [one.name for one in chosen_columns(COLUMNS_OF_ERRORS, self.columns, on_page=True)]

    @field_validator("severity", mode="before", check_fields=False)
    @classmethod
    def _in_any_case(cls, value: str) -> str:
        return value.upper() or Severity.LOW

    def query(self, window: Window) -> ErrorQuery:
        """The query for the reader. Raises ConfigError for an invalid value."""
        return ErrorQuery(
            Confidence.of(self.profile),
            SHOWN,
            **field_values(ERROR_FILTERS, self) | {"service": window.service},
            since=window.since,
            # A range that ends now has no end: what is found while one reads belongs to it.
            before=None if window.range else Position(window.until),
        )


PARAMS: Final = tuple(TailParams.model_fields)


def add_live(app: FastAPI, site: Site) -> None:
    """`/errors`, which follows new ones, and the streams."""

    @page(app, "/live/traces/{trace_id}/events", "mark")
    async def trace_events(request: Request, trace_id: str) -> Response:
        mark, client = request.headers.get("last-event-id") or request.query_params.get("mark", ""), _client(request)
        site.change_feed.check_capacity(client)
        return EventSourceResponse(_trace_events(site.change_feed, an_id(trace_id), mark, client), headers=HEADERS)

    @page(app, "/live", *PARAMS)
    def earlier_name(request: Request) -> Response:
        query = f"?{request.url.query}" if request.url.query else ""
        return RedirectResponse(f"/errors{query}", status_code=308)

    @page(app, "/errors", *PARAMS)
    def live(request: Request, asked: Annotated[TailParams, Query()]) -> Response:
        window = site.window(request)
        query = asked.query(window)
        found = site.reader.findings(query)
        place = found[0].position if found else Position(site.clock())
        lines = one_each(tail_lines(site.reader, found, query.confidence))
        # What is found from now on lies in no time that has ended.
        after = "" if query.before else write_place(place)
        return site.render(
            request,
            "live.html",
            asked=asked,
            found=lines,
            after=after,
            more=len(found) == SHOWN,
            columns=COLUMNS_OF_ERRORS[1:],
            shown_columns=asked.shown,
            annotator=annotator(request),
        )

    @page(app, "/live/events", *PARAMS, "after")
    async def tail(request: Request, asked: Annotated[TailParams, Query()]) -> Response:
        window, client = site.window(request), _client(request)
        query = replace(asked.query(window), before=None)
        since = request.headers.get("last-event-id") or request.query_params.get("after", "")
        place = read_place(since) or Position(site.clock())
        site.change_feed.check_capacity(client)
        events = _TailEvents(site, window, query, place, asked.shown).stream(site.change_feed, client)
        return EventSourceResponse(events, headers=HEADERS)


def _event(name: str, data: Any, event_id: str = "") -> bytes:
    return format_sse_event(event=name, data_str=text_of(data), id=event_id or None)


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


async def _trace_events(change_feed: ChangeFeed, trace_id: str, mark: str, client: str = "") -> AsyncIterator[bytes]:
    """Send `changed` after each judgement of the trace, with the states of its findings."""
    try:
        subscriber = change_feed.subscribe(trace_id, client)
    except OverloadedError:  # the last place went since there was room: who asks again is told
        return
    async with subscriber:
        yield OPENING
        if change_feed.is_behind(trace_id, mark):
            yield _event("changed", {}, change_feed.version(trace_id))
        while True:
            states = await subscriber.wait(KEEPALIVE_SECONDS)
            if subscriber.closed:
                return
            yield (
                KEEPALIVE if states is None else _event("changed", {"findings": states}, change_feed.version(trace_id))
            )
            await subscriber.pause(PAUSE)


class _TailEvents:
    """The stream of findings after a position, each once, as lines of their errors."""

    def __init__(self, site: Site, window: Window, query: ErrorQuery, place: Position, columns: Sequence[str]) -> None:
        self._site, self._window, self._query, self._place = site, window, query, place
        self._columns = columns
        self._tail: Tail | None = None

    async def stream(self, change_feed: ChangeFeed, client: str) -> AsyncIterator[bytes]:
        """Send `found` with a row of the page, `skipped` with a count, `state` where a finding became current or went.

        An event's id is the latest place that was told: where a browser that comes back goes on.
        """
        try:
            subscriber = change_feed.subscribe("", client)
        except OverloadedError:  # as above
            return
        async with subscriber:
            yield OPENING
            states: Mapping[str, str] | None = {}
            while not subscriber.closed:
                more = False
                if states is None:
                    yield KEEPALIVE
                else:
                    texts, more = await to_thread.run_sync(self._poll, states)
                    for text in texts:
                        yield text
                    await subscriber.pause(PAUSE)
                states = {} if more else await subscriber.wait(KEEPALIVE_SECONDS)

    def _poll(self, states: Mapping[str, str]) -> tuple[list[bytes], bool]:
        try:
            self._tail = self._tail or Tail(self._site.reader, self._query, self._place)
            batch = self._tail.poll()
        except RetryableError:  # the next poll finds it
            return [], False
        texts = self._lines(self._tail, batch.found)
        if batch.skipped:
            texts.append(_event("skipped", {"count": batch.skipped}))
        texts += self._lines(self._tail, batch.latest)
        known = {finding_id: state for finding_id, state in states.items() if self._tail.knows(finding_id)}
        return [*texts, _event("state", known)] if known else texts, batch.more

    def _lines(self, tail: Tail, rows: Sequence[LocatedFinding]) -> list[bytes]:
        lines = tail_lines(self._site.reader, rows, self._query.confidence)
        tail.leave({row.finding.id for row in rows} - {line.located.finding.id for line in lines})
        return [self._found(line) for line in lines]

    def _found(self, one: TailLine) -> bytes:
        template = self._site.templates.get_template("live_row.html")
        context = {"one": one, "now": self._site.clock(), "window": self._window, "params": []}
        html = template.render({**context, "path": "/errors", "csrf": "", "shown_columns": self._columns})
        place = one.located.position
        late = place < self._place
        if not late:
            self._place = place
        return _event("found", {"html": html}, "" if late else write_place(place))
