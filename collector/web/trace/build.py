"""The pages of a trace, of its spans, and of what happens just now."""

from __future__ import annotations

from typing import Final

from anyio import CapacityLimiter
from fastapi import FastAPI

from ..change_feed import Pulse
from ..live import add_live
from ..site import Site
from .pages import add_trace
from .raw import add_raw
from .span import add_span

REBUILDING_THREADS: Final = 4
"""A trace of 50,000 spans takes seconds to rebuild: those who wait for one must leave threads to the other pages."""


def add_trace_pages(app: FastAPI, site: Site, pulse: Pulse) -> None:
    """Serve them."""
    few = CapacityLimiter(REBUILDING_THREADS)
    add_trace(app, site, pulse, few)
    add_raw(app, site)
    add_span(app, site, pulse, few)
    add_live(app, site, pulse)
