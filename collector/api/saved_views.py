"""Endpoints of saved views."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Annotated, Final
from urllib.parse import parse_qsl, urlsplit

from fastapi import FastAPI, Request, Response
from pydantic import Field

from tracejury.collector.labels.checks import name as checked_name
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.saved_views import MOST_LINK, PAGES, SavedView
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.saved_views import SavedViewJson, SavedViewPage

from .answers import documented, json_answer
from .params import Params
from .paths import SOME

_STEPS: Final = (".", "..")
"""Names that no address can end with: browsers take them for steps of the path."""
_PLACES: Final = ("cursor",)
"""Parameters that a view leaves out: a place in a list moves."""


class SavedViewBody(Params):
    """A page with its parameters, as its address without the host."""

    link: Annotated[str, Field(max_length=MOST_LINK, description="As `/traces?severity=HIGH&range=7d`")]


def add_saved_views(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/views` and `/api/views/{name}`."""

    @app.get("/api/views", responses=documented(SavedViewPage))
    def views() -> Response:
        """All of the project, by name."""
        items = [fill(SavedViewJson, view) for view in reader.saved_views.all()]
        return json_answer({"items": items, "next": None})

    path = f"/api/views/{{view:{SOME}}}"

    @app.get(path, responses=documented(SavedViewJson, 404))
    def one_view(view: str) -> Response:
        """One by its name."""
        return json_answer(fill(SavedViewJson, known_view(reader, view)))

    @app.put(path, responses=documented(SavedViewJson))
    def save(request: Request, view: str, body: SavedViewBody) -> Response:
        """Save a page under a name, in place of what had it."""
        saved = view_of(view, body.link, request.app.state.pages, clock())
        reader.saved_views.save(saved)
        return json_answer(fill(SavedViewJson, saved))

    @app.delete(path, responses=documented(SavedViewJson, 404))
    def delete(view: str) -> Response:
        """Delete one; the answer is what it was."""
        gone = known_view(reader, view)
        reader.saved_views.delete(gone.name)
        return json_answer(fill(SavedViewJson, gone))


def known_view(reader: StoredReader, name: str) -> SavedView:
    """The view of a name. Raises NotFoundError."""
    found = reader.saved_views.get(name.strip())
    if found is None:
        raise NotFoundError(f"no view {name[:60]!r} is saved")
    return found


def view_of(name: str, link: str, pages: Mapping[str, Collection[str]], now: int) -> SavedView:
    """A page under a name. `pages`: the parameters of each page.

    Raises:
        ConfigError: no name; the link is to no page that can be saved, or has a parameter that its page does not have.
    """
    name = checked_name("the view's name", name)
    if name in _STEPS:
        raise ConfigError(f"a view cannot be named {name!r}: no address can end so")
    try:
        parts = urlsplit(link)
    except ValueError:
        raise ConfigError(f"{link[:60]!a} is no address") from None
    if len(link) > MOST_LINK or parts.scheme or parts.netloc or parts.path not in PAGES or parts.path not in pages:
        raise ConfigError(f"{link[:60]!a} is no page that can be saved: a link begins with one of {', '.join(PAGES)}")
    given = [pair for pair in parse_qsl(parts.query) if pair[0] not in _PLACES]
    if unknown := next((key for key, _ in given if key not in pages[parts.path]), None):
        raise ConfigError(f"no parameter {unknown[:40]!r}: {parts.path} has {', '.join(pages[parts.path])}")
    return SavedView(name, parts.path, given, now)
