"""URLs of traces and sessions; session ids are arbitrary text of clients."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, urlencode

from starlette.types import Scope

from tracejury.schemas.text.naming import is_whole

from .window import Window

DOTS: Final = frozenset({".", ".."})
"""Ids that no path can end with: browsers resolve them as path steps, even percent-encoded."""


def own_path(scope: Scope) -> str:
    """The path as it was asked for, percent-encoded: a link with it leads to the same name."""
    raw: bytes = scope["raw_path"]
    return raw.decode("latin-1")


def compare_link(service: str, first: str, second: str = "", **more: str) -> str:
    """The URL where two sessions of a service are compared; without the second one it asks for it."""
    given = {"service": service, "first": first, "second": second, **more}
    return f"/compare?{urlencode({name: value for name, value in given.items() if value})}"


def trace_link(window: Window, trace_id: str, **more: str) -> str:
    """The URL of a trace, with the window's parameters."""
    return window.link(f"/traces/{quote(trace_id, safe='')}", **more)


def task_link(window: Window, pack: str, task: str, **more: str) -> str:
    """The URL of the trials of a task; "" where there is none for it: of a name that is cut, or that is a path step."""
    if not task or task in DOTS or not is_whole(task):
        return ""
    return window.link(f"/packs/{quote(pack, safe='')}/tasks/{quote(task, safe='')}", **more)


def session_link(window: Window, session_id: str, service: str = "", **more: str) -> str:
    """The URL of a session, of that service where one is named: an id is unique within a service only.

    "" where a list shows only the beginning of a name: it would ask for another one.
    """
    if not (is_whole(session_id) and is_whole(service)):
        return ""
    of_one = {"service": service or window.service, **more}
    if session_id in DOTS:
        return window.link("/session", id=session_id, **of_one)
    return window.link(f"/sessions/{quote(session_id, safe='')}", **of_one)
