"""Addresses of traces and sessions, whatever these are called: names and ids of sessions are the clients' own."""

from __future__ import annotations

from typing import Final
from urllib.parse import quote

from ...schemas.text.naming import is_whole
from .window import Window

DOTS: Final = frozenset({".", ".."})
"""What no address can end with: browsers take them for steps in the path, also where they are quoted."""


def trace_link(window: Window, trace_id: str, **more: str) -> str:
    """The page of a trace; the time and the service go along."""
    return window.link(f"/traces/{quote(trace_id, safe='')}", **more)


def session_link(window: Window, session_id: str, service: str = "", **more: str) -> str:
    """The page of a session, of that service where one is named, since an id is unique within a service only.

    "" where a list shows only the beginning of a name: it would ask for another one.
    """
    if not (is_whole(session_id) and is_whole(service)):
        return ""
    of_one = {"service": service or window.service, **more}
    if session_id in DOTS:
        return window.link("/session", id=session_id, **of_one)
    return window.link(f"/sessions/{quote(session_id, safe='')}", **of_one)
