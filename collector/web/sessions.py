"""The list of sessions: those that hold a trace of the filters; and one session as a conversation."""

from __future__ import annotations

from typing import Annotated, Final

from fastapi import FastAPI, Query, Request, Response
from pydantic import ConfigDict

from ...schemas.errors import NotFoundError
from ...schemas.queries.listing import Sort
from ...schemas.queries.reader import Confidence
from ..api.lists import sessions_page
from ..api.params import Text
from ..api.params_lists import SessionParams
from ..api.paths import SOME
from ..queries.present_lists import searched
from .lists import PageParams, explain_nothing, view_of
from .session import SessionPageView, conversation
from .site import Site, page

COLUMNS: Final = (
    ("Session", None, False),
    ("Last arrival", Sort.RECEIVED, False),
    ("Service, agents", None, False),
    ("Findings", Sort.SEVERITY, False),
    ("Traces", None, True),
    ("Turns", None, True),
    ("Took", Sort.DURATION, True),
    ("Tokens", Sort.TOKENS, True),
    ("Cost", Sort.COST, True),
    ("State", None, False),
)


class SessionPageParams(SessionParams):
    """What the address of a session asks, beside what is the window's."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    id: Text = ""


def add_sessions(app: FastAPI, site: Site) -> None:
    """`/sessions`, `/sessions/{id}`, and `/session?id=` for the ids that no path can end with."""

    @page(app, "/sessions")
    def sessions(request: Request, asked: Annotated[PageParams, Query()]) -> Response:
        window = site.window(request)
        query = asked.query(window, site.clock())
        rows, more = sessions_page(site.reader, query)
        view = view_of("/sessions", asked, window, rows, COLUMNS, more, searched(query))
        if not rows and not asked.cursor:
            view = explain_nothing(view, query, window, site.clock(), site.reader.sessions)
        return site.render(request, "lists/sessions.html", view=view)

    @page(app, f"/sessions/{{session_id:{SOME}}}")
    def session(request: Request, session_id: str, asked: Annotated[SessionPageParams, Query()]) -> Response:
        return one_session(request, session_id, asked)

    @page(app, "/session")
    def session_of_any_name(request: Request, asked: Annotated[SessionPageParams, Query()]) -> Response:
        return one_session(request, asked.id, asked)

    def one_session(request: Request, session_id: str, asked: SessionPageParams) -> Response:
        found = site.reader.session(session_id, Confidence.of(asked.profile), asked.service)
        if found is None:
            raise NotFoundError(f"no session {session_id[:64]!r} is stored")
        view: SessionPageView = conversation(found, asked.service, site.window(request), asked.profile)
        return site.render(request, "lists/session.html", view=view)
