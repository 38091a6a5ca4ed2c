"""What happens just now: the stream of one trace, and the live tail of findings with its stream.

A stream never holds what it has not sent: it is told that something changed and asks the store for what is new. A slow
browser therefore costs a mark and a bounded list of ids, and misses only what stood in between.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from anyio import to_thread
from fastapi import FastAPI, Request, Response

from ...schemas.errors import ConfigError, OverloadedError, RetryableError
from ...schemas.taxonomy import Severity
from ..api.params import an_id
from ..reader import Confidence, ErrorQuery, Position, Sighting
from .pulse import Pulse
from .site import Site, page
from .streams import BEAT, HEARTBEAT, event, opening, stream

SHOWN: Final = 100
"""Findings that the page begins with, and that one look brings."""

OVERLAP: Final = 10_000_000_000
"""Nanos by which each look goes back: findings become readable in about the order of their times, not exactly."""

REMEMBERED: Final = 2_000

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
        mark = request.headers.get("last-event-id") or request.query_params.get("mark", "")
        pulse.must_have_room()
        return stream(_trace_events(pulse, an_id(trace_id), mark))

    @page(app, "/live")
    def live(request: Request) -> Response:
        filters = Filters.of(request.query_params)
        found = site.reader.errors(filters.query(SHOWN))
        after = max((s.finding.first_seen for s in found), default=0) or site.clock()
        return site.render(request, "live.html", filters=filters, found=found, after=after)

    @page(app, "/live/events")
    async def tail(request: Request) -> Response:
        query = Filters.of(request.query_params).query(SHOWN)
        since = request.headers.get("last-event-id") or request.query_params.get("after", "")
        after = int(since[:20]) if since.isascii() and since.isdecimal() else site.clock()
        pulse.must_have_room()
        return stream(_Tail(site, request, query, after).events(pulse))


async def _trace_events(pulse: Pulse, trace_id: str, mark: str) -> AsyncIterator[str]:
    """Sends `changed` whenever the trace was judged, with what became of its findings."""
    try:
        subscriber = pulse.subscribe(trace_id)
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


class _Tail:
    """One stream of findings: those that the store has from a time on, each once."""

    def __init__(self, site: Site, request: Request, query: ErrorQuery, after: int) -> None:
        self._site, self._request, self._query = site, request, query
        self._after = after
        self._sent: dict[str, int] = {}

    async def events(self, pulse: Pulse) -> AsyncIterator[str]:
        """Sends `found` with a row of the page for what is new, `state` where a finding became current or went."""
        try:
            subscriber = pulse.subscribe()
        except OverloadedError:  # as above
            return
        async with subscriber:
            yield opening()
            states: Mapping[str, str] | None = {}
            while not subscriber.closed:
                texts = [BEAT] if states is None else await self._look(states)
                for text in texts:
                    yield text
                await subscriber.rest(PAUSE if states is not None else 0)
                states = {} if len(texts) >= SHOWN else await subscriber.changed(HEARTBEAT)

    async def _look(self, states: Mapping[str, str]) -> list[str]:
        try:
            found = await to_thread.run_sync(self._find)
        except RetryableError:  # the next look finds it
            return []
        texts = [event("found", {"html": await self._row(one)}, str(one.finding.first_seen)) for one in found]
        known = {i: state for i, state in states.items() if i in self._sent}
        return [*texts, event("state", known)] if known else texts

    def _find(self) -> Sequence[Sighting]:
        """What was not sent yet, earliest first; goes on until nothing is left."""
        fresh: list[Sighting] = []
        place = Position(max(self._after - OVERLAP, 0))  # the page knows which of them it shows already
        while rows := self._site.reader.errors(replace(self._query, after=place)):
            fresh += [row for row in rows if row.finding.id not in self._sent]
            place = Position(rows[-1].finding.first_seen, rows[-1].finding.id)
            self._sent.update((row.finding.id, row.finding.first_seen) for row in rows)
            if len(fresh) >= SHOWN:
                break
        self._after = max(self._after, place.time)
        while len(self._sent) > REMEMBERED:
            self._sent.pop(next(iter(self._sent)))
        return fresh

    async def _row(self, one: Sighting) -> str:
        template = self._site.templates.get_template("live_row.html")
        context = {"one": one, "now": self._site.clock(), "window": self._site.window(self._request), "params": []}
        return template.render({**context, "path": "/live", "csrf": ""})
