"""What happens just now: the stream of one trace, and the live tail of findings with its stream.

A stream never holds what it has not sent: it is told that something changed and asks the store for what is new. A slow
browser therefore costs a mark and a bounded list of ids, and misses only what stood in between; of findings it is told
how many.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final

from anyio import to_thread
from fastapi import FastAPI, Request, Response

from ...schemas.errors import ConfigError, OverloadedError, RetryableError
from ...schemas.queries.reader import Confidence, ErrorQuery, Position, Sighting
from ...schemas.taxonomy import Severity
from ..api.params import an_id
from .change_feed import Pulse
from .site import Site, page
from .streams import BEAT, HEARTBEAT, event, opening, stream
from .tail import SHOWN, Tail, place_of, read_place, write_place
from .window import Window

PAUSE: Final = 0.3
"""Seconds between two events of one stream at least: a busy collector need not redraw a page more often."""


@dataclass(frozen=True, slots=True)
class Filters:
    """What the tail shows; "" does not filter."""

    severity: str = ""
    service: str = ""
    judge: str = ""
    category: str = ""
    profile: str = ""

    @classmethod
    def of(cls, params: Mapping[str, str]) -> Filters:
        """From an address."""
        return cls(*(params.get(name, "")[:200] for name in ("severity", "service", "judge", "category", "profile")))

    def query(self, limit: int) -> ErrorQuery:
        """What to ask of the store. Raises ConfigError for a severity or profile that there is not."""
        try:
            severity = Severity(self.severity.upper()) if self.severity else Severity.LOW
        except ValueError:
            raise ConfigError("a severity is LOW, MEDIUM or HIGH") from None
        return ErrorQuery(
            Confidence.of(self.profile),
            limit,
            service=self.service,
            judge=self.judge,
            category=self.category,
            severity=severity,
        )


def add_live(app: FastAPI, site: Site, pulse: Pulse) -> None:
    """`/live`, and the streams."""

    @page(app, "/live/traces/{trace_id}/events")
    async def trace_events(request: Request, trace_id: str) -> Response:
        mark, client = request.headers.get("last-event-id") or request.query_params.get("mark", ""), _client(request)
        pulse.must_have_room(client)
        return stream(_trace_events(pulse, an_id(trace_id), mark, client))

    @page(app, "/live")
    def live(request: Request) -> Response:
        filters = Filters.of(request.query_params)
        found = site.reader.errors(filters.query(SHOWN))
        place = place_of(found[0]) if found else Position(site.clock())
        return site.render(request, "live.html", filters=filters, found=found, after=write_place(place))

    @page(app, "/live/events")
    async def tail(request: Request) -> Response:
        query, window, client = Filters.of(request.query_params).query(SHOWN), site.window(request), _client(request)
        since = request.headers.get("last-event-id") or request.query_params.get("after", "")
        place = read_place(since) or Position(site.clock())
        pulse.must_have_room(client)
        return stream(_TailEvents(site, window, query, place).sent(pulse, client))


def _client(request: Request) -> str:
    return request.client.host if request.client else ""


async def _trace_events(pulse: Pulse, trace_id: str, mark: str, client: str = "") -> AsyncIterator[str]:
    """Sends `changed` whenever the trace was judged, with what became of its findings."""
    try:
        subscriber = pulse.subscribe(trace_id, client)
    except OverloadedError:  # the last place went since there was room: who asks again is told
        return
    async with subscriber:
        yield opening()
        if pulse.is_behind(trace_id, mark):
            yield event("changed", {}, pulse.mark(trace_id))
        while True:
            states = await subscriber.changed(HEARTBEAT)
            if subscriber.closed:
                return
            yield BEAT if states is None else event("changed", {"findings": states}, pulse.mark(trace_id))
            await subscriber.rest(PAUSE)


class _TailEvents:
    """One stream of findings: those after a place, each once."""

    def __init__(self, site: Site, window: Window, query: ErrorQuery, place: Position) -> None:
        self._site, self._window, self._query, self._place = site, window, query, place
        self._tail: Tail | None = None

    async def sent(self, pulse: Pulse, client: str) -> AsyncIterator[str]:
        """Sends `found` with a row of the page, `skipped` with a count, `state` where a finding became current or went.

        An event's id is the latest place that was told: where a browser that comes back goes on.
        """
        try:
            subscriber = pulse.subscribe("", client)
        except OverloadedError:  # as above
            return
        async with subscriber:
            yield opening()
            states: Mapping[str, str] | None = {}
            while not subscriber.closed:
                more = False
                if states is None:
                    yield BEAT
                else:
                    texts, more = await to_thread.run_sync(self._look, states)
                    for text in texts:
                        yield text
                    await subscriber.rest(PAUSE)
                states = {} if more else await subscriber.changed(HEARTBEAT)

    def _look(self, states: Mapping[str, str]) -> tuple[list[str], bool]:
        try:
            self._tail = self._tail or Tail(self._site.reader, self._query, self._place)
            look = self._tail.look()
        except RetryableError:  # the next look finds it
            return [], False
        texts = [self._found(row) for row in look.found]
        if look.skipped:
            texts.append(event("skipped", {"count": look.skipped}))
        texts += [self._found(row) for row in look.latest]
        known = {finding_id: state for finding_id, state in states.items() if self._tail.knows(finding_id)}
        return [*texts, event("state", known)] if known else texts, look.more

    def _found(self, one: Sighting) -> str:
        template = self._site.templates.get_template("live_row.html")
        context = {"one": one, "now": self._site.clock(), "window": self._window, "params": []}
        html = template.render({**context, "path": "/live", "csrf": ""})
        place = place_of(one)
        late = (place.time, place.id) < (self._place.time, self._place.id)
        if not late:
            self._place = place
        return event("found", {"html": html}, "" if late else write_place(place))
