"""The list of sessions, and one session as a conversation."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from typing import Annotated, Final
from urllib.parse import urlencode

from fastapi import FastAPI, Query, Request, Response
from pydantic import ConfigDict

from tracejury.collector.api.lists import sessions_page
from tracejury.collector.api.params import Text
from tracejury.collector.api.params_lists import SessionParams
from tracejury.collector.api.paths import SOME
from tracejury.collector.api.prefixes import whole_session_id
from tracejury.collector.store.scores import SHOWN
from tracejury.judges.measures.session_labels import agreed
from tracejury.judges.packs.grades import mean_grades
from tracejury.schemas.annotations import SessionLabel
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.list_columns import COLUMNS_OF_SESSIONS
from tracejury.schemas.queries.conversation import SessionExchange
from tracejury.schemas.queries.labels import LabelQuery
from tracejury.schemas.queries.listing import SessionRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.text.naming import error_place, is_whole
from tracejury.schemas.verdicts import Verdict

from .links import compare_link
from .lists import PARAMS, PageParams, list_page
from .shown_measures import session_measures
from .site import Site, page
from .trace.opinions import TERMS
from .trace.pages import annotator
from .window import field_time

_ALL: Final = 1_000
"""More people than label one session."""


class SessionPageParams(SessionParams):
    """Parameters of a session's page, besides the window's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Text = ""


def add_sessions(app: FastAPI, site: Site) -> None:
    """`/sessions`, `/sessions/{id}`, and `/session?id=` for ids that no path can end with."""

    @page(app, "/sessions", *PARAMS)
    def sessions(request: Request, asked: Annotated[PageParams, Query()]) -> Response:
        return list_page(site, request, asked, COLUMNS_OF_SESSIONS, sessions_page, site.reader.sessions)

    @page(app, f"/sessions/{{session_id:{SOME}}}", "profile")
    def session(request: Request, session_id: str, asked: Annotated[SessionPageParams, Query()]) -> Response:
        return one_session(request, session_id, asked)

    @page(app, "/session", "id", "profile")
    def session_of_any_name(request: Request, asked: Annotated[SessionPageParams, Query()]) -> Response:
        return one_session(request, asked.id, asked)

    def one_session(request: Request, session_id: str, asked: SessionPageParams) -> Response:
        found = site.reader.session(session_id, Confidence.of(asked.profile), asked.service)
        if found is None and (whole := whole_session_id(site.reader, session_id)) != session_id:
            return one_session(request, whole, asked)
        if found is None:
            raise NotFoundError(f"no session {session_id[:64]!r} is stored")
        several = len(found.services) > 1 or asked.service
        named = asked.service or (found.session.service if is_whole(found.session.service) else "")
        is_alone = found.exchanges[0].trace_id == found.session.session_id
        labels = site.reader.labels.find(SessionLabel, LabelQuery(_ALL, session_id=session_id, service=named))
        return site.render(
            request,
            "lists/session.html",
            view=found,
            session=found.session,
            services=found.services if several else (),
            profile=asked.profile,
            compare=compare_link(named, found.session.session_id),
            traces="" if is_alone else traces_link(found.session, asked.profile),
            named=named,
            who=annotator(request),
            terms=TERMS,
            labels=labels,
            is_contested=None in agreed(labels).values(),
            lowest_scores=lowest_scores,
            error_place=error_place,
            measures=session_measures(found.verdicts, site.reader.measures.packs),
            given=site.reader.scores.of_session(session_id, [one.trace_id for one in found.exchanges], SHOWN),
            item_verdicts=partial(item_verdicts, {one.judge for one in found.progress}),
            grades=mean_grades(verdict for exchange in found.exchanges for verdict in exchange.verdicts),
        )


def item_verdicts(settling: Collection[str], exchange: SessionExchange) -> Sequence[Verdict]:
    """The verdicts of checks on an exchange that have an item below its best answer.

    None of judges whose items settle: they are asked about what is open, and shown for the session.
    """
    return [v for v in exchange.verdicts if v.judge not in settling and any(not item.best for item in v.items)]


def traces_link(session: SessionRow, profile: str) -> str:
    """The list of a session's traces since its first arrival; "" where that cannot be asked for."""
    if not (is_whole(session.session_id) and is_whole(session.service)):
        return ""
    asked = {"session": session.session_id, "service": session.service, "from": field_time(session.first_received)}
    asked["profile"] = profile
    return f"/traces?{urlencode({name: value for name, value in asked.items() if value})}"


def lowest_scores(exchange: SessionExchange) -> list[Verdict]:
    """The verdict with the lowest score of each judge, the worst first."""
    scored = [(verdict.score, verdict.judge, verdict) for verdict in exchange.verdicts if verdict.score is not None]
    lowest: dict[str, Verdict] = {}
    for _, judge, verdict in sorted(scored, key=lambda one: one[:2]):
        lowest.setdefault(judge, verdict)
    return list(lowest.values())
