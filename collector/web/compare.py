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
        said = preferences(site, service, asked.first, asked.second)
        mine = next((one for one in said if one.annotator == who), None)
        # Once it is said nothing is hidden, and the sides stay as the form had them: whose name is new had no order.
        sides = (asked.first, asked.second) if mine else in_chance_order(asked.first, asked.second, who)
        return site.render(
            request,
            "compare.html",
            service=service,
            sides=sides,
            conversations=[conversation(site, service, one) for one in sides],
            who=who,
            mine=mine,
            said=[StatedPreference(one, better_side(one, sides)) for one in said],
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


def preferences(site: Site, service: str, first: str, second: str) -> Sequence[Preference]:
    """What people said of the two, latest first."""
    found = site.reader.labels.find(Preference, LabelQuery(_ALL, session_id=first, service=service))
    return [one for one in found if one.service == service and {*one.session_ids} == {first, second}]


def better_side(one: Preference, sides: tuple[str, str]) -> int | None:
    """Which of the sides is the better one; None for neither."""
    if one.better is Better.SAME:
        return None
    return sides.index(one.session_id if one.better is Better.FIRST else one.other_session_id)
