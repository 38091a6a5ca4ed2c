"""`/compare`: two conversations side by side, for people to say which is better.

What would tell their versions apart stays hidden (ids, agents, models, times, errors, measures, links), as does what
others said until one has said something oneself; which conversation stands on the left is chance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from fastapi import FastAPI, Query, Request, Response
from pydantic import ConfigDict, Field

from tracejury.collector.api.params import Params, Text
from tracejury.collector.labels.checks import MAX_SESSION
from tracejury.collector.labels.surroundings import Surroundings
from tracejury.schemas.annotations import Better, Preference
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.findings import digest
from tracejury.schemas.queries.conversation import SessionView
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.text.naming import is_whole

from .site import Site, page
from .trace.pages import annotator

OFFERED: Final = 20
"""Sessions that the form for the other one offers, the latest."""
_ALL: Final = 1_000
"""More people than compare two sessions."""

SessionId = Annotated[str, Field(max_length=MAX_SESSION)]


class CompareParams(Params):
    """Parameters of the page, besides the window's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    service: Text = ""
    first: SessionId = ""
    second: SessionId = ""


@dataclass(frozen=True, slots=True)
class StatedPreference:
    """What somebody said of the two. `side`: the better one as it stands here, 0 left, 1 right; None: neither."""

    label: Preference
    side: int | None


def add_compare(app: FastAPI, site: Site) -> None:
    """`/compare?first=&second=`; without the second one a form that asks for it."""

    @page(app, "/compare", "first", "second")
    def compare(request: Request, asked: Annotated[CompareParams, Query()]) -> Response:
        if not asked.first:
            raise ConfigError("name the first session: the page of a session leads here")
        if not asked.second:
            query = TraceQuery(Confidence.of(""), OFFERED + 1, service=asked.service)
            others = [row.session_id for row in site.reader.sessions(query) if row.session_id != asked.first]
            return site.render(
                request, "compare_with.html", first=asked.first, others=list(filter(is_whole, others))[:OFFERED]
            )
        if asked.first == asked.second:
            raise ConfigError("a session cannot be compared with itself")
        service = Surroundings(site.reader).service(asked.service, (asked.first, asked.second))
        who = annotator(request)
        sides = in_chance_order(asked.first, asked.second, who)
        said = stated(site, service, sides)
        return site.render(
            request,
            "compare.html",
            service=service,
            sides=sides,
            conversations=[conversation(site, service, one) for one in sides],
            who=who,
            mine=next((one for one in said if one.label.annotator == who), None),
            said=said,
        )


def in_chance_order(first: str, second: str, who: str) -> tuple[str, str]:
    """The two, by a hash of them and the annotator: the same each time, and in whichever order they are named."""
    lower, upper = sorted((first, second))
    return (lower, upper) if int(digest(("left", who, lower, upper)), 16) % 2 else (upper, lower)


def conversation(site: Site, service: str, session_id: str) -> SessionView:
    """The conversation of a session. Raises NotFoundError."""
    found = site.reader.session(session_id, Confidence.of(""), service)
    if found is None:
        raise NotFoundError(f"no session {session_id[:64]!r} is stored")
    return found


def stated(site: Site, service: str, sides: tuple[str, str]) -> Sequence[StatedPreference]:
    """What people said of the two, latest first."""
    query = LabelQuery(_ALL, session_id=sides[0], service=service)
    found = [one for one in site.reader.labels.find(Preference, query) if {*one.session_ids} == {*sides}]
    better = {Better.FIRST: 0, Better.SECOND: 1}
    return [
        StatedPreference(one, None if one.better is Better.SAME else sides.index(one.session_ids[better[one.better]]))
        for one in found
        if one.service == service
    ]
