"""Assembly of all pages, and their templates: everything is escaped, and undefined names are errors."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from anyio import CapacityLimiter
from fastapi import FastAPI
from jinja2 import Environment, PackageLoader, StrictUndefined

from tracejury import __version__
from tracejury.collector.api.security import SecureHeaders
from tracejury.collector.api.services import Services
from tracejury.collector.queries.explain.glossary import find_term
from tracejury.schemas.saved_views import PAGES
from tracejury.schemas.taxonomy import with_group
from tracejury.schemas.text.scores import score_words

from .alerts import add_alerts_page
from .assets import Asset, add_assets, load_assets
from .bulk_labels import add_bulk_labels
from .call_graph import add_call_graph
from .change_feed import ChangeFeed
from .clusters import add_clusters
from .compare import add_compare
from .divergence import add_divergence
from .errors import refusal_pages
from .explain import add_explain_pages
from .feedback import add_feedback
from .filters import FILTERS
from .judges import add_judges
from .labels import add_labels_page
from .links import session_link, task_link, trace_link
from .live import add_live
from .overview import add_overview
from .packs import add_packs
from .patterns import add_patterns
from .performance import add_performance_pages
from .saved_views import add_saved_views
from .sessions import add_sessions
from .sign_in import add_sign_in
from .site import Site
from .trace.pages import add_trace
from .trace.raw import add_raw
from .trace.span import add_error, add_span
from .traces import add_traces

REBUILDING_THREADS: Final = 4
"""A trace of 50,000 spans takes seconds to rebuild: requests for one must leave threads to other pages."""


def add_pages(app: FastAPI, services: Services) -> None:
    """Add all pages to the API's application."""
    assets = load_assets()
    templates = make_templates(assets, find_term, __version__)
    reader = services.reader
    change_feed = app.state.change_feed = ChangeFeed(
        reader.trace_queries.cache_judged, reader.tenant, read_again=reader.judged_by_others
    )
    services.listeners.add(change_feed)
    services.listeners.add_for_others(change_feed.judged_by_others)
    site = Site(services, templates, change_feed)
    app.state.refusal_page = refusal_pages(templates, services.clock)
    app.add_middleware(SecureHeaders)
    add_assets(app, assets)
    lists = add_labels_page, add_traces, add_sessions, add_compare, add_divergence, add_saved_views
    derived = add_performance_pages, add_alerts_page, add_clusters, add_patterns, add_call_graph
    for add in (add_overview, add_explain_pages, add_judges, add_packs, *derived, *lists):
        add(app, site)
    few = CapacityLimiter(REBUILDING_THREADS)
    add_trace(app, site, few)
    add_raw(app, site, few)
    add_span(app, site, few)
    add_error(app, site)
    add_live(app, site)
    add_feedback(app, site)
    add_bulk_labels(app, site)
    add_sign_in(app, site)


def make_templates(assets: Mapping[str, Asset], explained: Callable[[str], Any], version: str) -> Environment:
    """The environment over `templates/`. `explained` finds a term of the glossary, or None."""
    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    environment.filters.update(FILTERS)
    environment.filters["json"] = partial(json.dumps, separators=(",", ":"))
    environment.globals.update(score_words=score_words, with_group=with_group)
    environment.globals.update(session_link=session_link, task_link=task_link, trace_link=trace_link)
    environment.globals.update(saved_pages=PAGES)
    environment.globals.update(asset=lambda path: assets[path].url, explained=explained, version=version)
    return environment
