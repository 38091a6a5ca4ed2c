"""The pages put together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from fastapi import FastAPI

from ... import __version__
from ...schemas.queries.ledger import JudgesStatus
from ..api.security import SecureHeaders, Tokens
from ..otlp.receiver.ports import Endpoint
from ..queries.explain.glossary import find_term
from ..queries.reader import Reader
from ..worker.listeners import Listeners
from .assets import add_assets, load_assets
from .change_feed import Pulse
from .errors import refusal_pages
from .explain import add_explain_pages
from .feedback import add_feedback
from .judges import add_judges
from .labels import add_labels_page
from .overview import add_overview
from .rendering import make_templates
from .sessions import add_sessions
from .site import Site
from .trace.build import add_trace_pages
from .traces import add_traces

if TYPE_CHECKING:
    from ..api.app import JudgeAgain


def add_pages(
    app: FastAPI,
    reader: Reader,
    judge: JudgeAgain,
    judges: Callable[[], JudgesStatus],
    clock: Callable[[], int],
    tokens: Tokens,
    listeners: Listeners,
    endpoints: Callable[[], Sequence[Endpoint]],
) -> None:
    """Serve all pages with the application of the API."""
    assets = load_assets()
    templates = make_templates(assets, find_term, __version__)
    site = Site(reader, judge, judges, clock, templates, tokens, listeners, endpoints)
    app.state.refusal_page = refusal_pages(templates, clock)
    app.add_middleware(SecureHeaders)
    add_assets(app, assets)
    for add in (add_overview, add_explain_pages, add_judges, add_labels_page):
        add(app, site)
    for add in (add_traces, add_sessions):
        add(app, site)
    pulse = app.state.pulse = Pulse(reader.looks)
    listeners.add(pulse)
    add_trace_pages(app, site, pulse)
    add_feedback(app, site, pulse)
