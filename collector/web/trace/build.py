"""The pages of a trace, of its spans, of what happens just now, and what people say of it: all together."""

from __future__ import annotations

from fastapi import FastAPI

from ..feedback import add_feedback
from ..live import add_live
from ..pulse import Pulse
from ..site import Site
from .pages import add_trace
from .raw import add_raw
from .span import add_span


def add_trace_pages(app: FastAPI, site: Site, pulse: Pulse) -> None:
    """Serve them."""
    add_trace(app, site, pulse)
    add_raw(app, site)
    add_span(app, site, pulse)
    add_live(app, site, pulse)
    add_feedback(app, site, pulse)
