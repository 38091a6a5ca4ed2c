"""`/traces/{id}`: the page, and the fragments that it is made of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final
from urllib.parse import quote, unquote

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from fastapi.responses import PlainTextResponse, RedirectResponse

from tracejury.collector.api.prefixes import whole_trace_id
from tracejury.collector.labels.checks import MAX_NAME
from tracejury.collector.queries.trace.stored import StoredTraceQueries
from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.collector.queries.unproven import is_unproven
from tracejury.collector.store.scores import SHOWN
from tracejury.collector.web.shown_measures import session_measures
from tracejury.collector.web.site import Site, page, rebuilding
from tracejury.processors.trace_outline import TraceOutline
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.queries.ledger import JudgedState, why_unscored
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome

from .detail import Details
from .opinions import TERMS
from .tree import TreeOptions, TreeView
from .view import PARAMS, Ask, TracePageView, detail_of, view_of

ANNOTATOR: Final = "tracejury_annotator"
"""The cookie with the annotator's name."""

DOWNLOAD: Final[Mapping[str, str]] = {
    "Content-Security-Policy": "sandbox; default-src 'none'",
    "X-Content-Type-Options": "nosniff",
}
"""Headers of raw texts: nothing in them runs, whatever a browser takes them for."""

MAX_START: Final = 10**7
SCORING: Final = (Outcome.DONE, Outcome.CACHED)

PAGE_THREADS: Final = 8
"""Threads for pages from an outline, which seldom rebuild the trace."""


def add_trace(app: FastAPI, site: Site, few: CapacityLimiter) -> None:
    """The page of a trace; fragments that need the rebuilt trace run on `few` threads."""
    trace_queries = site.reader.trace_queries
    some = CapacityLimiter(PAGE_THREADS)

    @rebuilding(app, "/traces/{trace_id}", some, *PARAMS)
    def trace(request: Request, trace_id: str) -> Response:
        try:
            view = open_view(site, request, trace_id)
        except NotFoundError as error:
            return to_whole_id(site, request, trace_id, error)
        if view.lazy and not view.ask.whole:
            return render(site, request, "trace/page.html", view)
        return render(
            site, request, "trace/page.html", replace(view, detail=detail_of(trace_queries, view), lazy=False)
        )

    @rebuilding(app, "/traces/{trace_id}/panel", few, *PARAMS)
    def panel(request: Request, trace_id: str) -> Response:
        view = open_view(site, request, trace_id)
        return render(
            site, request, "trace/panel.html", replace(view, detail=detail_of(trace_queries, view), lazy=False)
        )

    @rebuilding(app, "/traces/{trace_id}/tree", some, *PARAMS)
    def tree(request: Request, trace_id: str) -> Response:
        return render(site, request, "trace/live.html", open_view(site, request, trace_id))

    @rebuilding(app, "/traces/{trace_id}/branch", some, *PARAMS, "key", "start")
    def branch(request: Request, trace_id: str) -> Response:
        ask = Ask.of(request.query_params)
        view = view_of(trace_queries, {}, trace_index_of(site, trace_id), ask)
        key = request.query_params.get("key", "")
        shown = TreeView(view.trace_index, TreeOptions("", view.errors, bool(ask.only))).branch(key, _start(request))
        return site.render(request, "trace/branch.html", view=view, branch=shown)

    @page(app, "/traces/{trace_id}/spans/{span_id}", *PARAMS)
    def span(request: Request, trace_id: str, span_id: str) -> Response:
        ask = Ask.of(request.query_params)
        target = f"/traces/{an_id(trace_id)}?span={an_id(span_id)}{ask.kept}"
        return RedirectResponse(_local(target), status_code=303)

    @rebuilding(app, "/traces/{trace_id}/text", few, *PARAMS, "part")
    def text(request: Request, trace_id: str) -> Response:
        trace_index = trace_index_of(site, trace_id)
        key, part = request.query_params.get("at", ""), request.query_params.get("part", "")
        found = trace_queries.part(trace_index, key)
        blocks = Details(found, trace_index, ()).blocks_at(key) if found else ()
        if not (part.isascii() and part.isdecimal()) or int(part[:9]) >= len(blocks):
            raise NotFoundError("there is no such text")
        return plain(blocks[int(part[:9])].text, f"tracejury-text-{part[:9]}.txt")


def open_view(site: Site, request: Request, trace_id: str, span_id: str = "") -> TracePageView:
    """The view of a trace's page, at `span_id` where one is given; blocks.

    Raises:
        NotFoundError: no such trace, or it has no such span.
        ConfigError: no such profile.
        RetryableError, StoreError: the store failed.
    """
    mark = site.change_feed.version(an_id(trace_id))
    trace_index = trace_index_of(site, trace_id)
    outline = trace_index.outline
    if outline.trace_id != an_id(trace_id):
        mark = site.change_feed.version(outline.trace_id)
    ask = Ask.of(request.query_params, request.query_params.getlist("open"))
    ask = replace(ask, span=span_id) if span_id else ask
    view = view_of(site.reader.trace_queries, labelled(site, outline), trace_index, ask)
    trace_queries = site.reader.trace_queries
    unseen = 0
    if outline.large:
        unseen = max(trace_queries.count_spans(outline.trace_id) - outline.spans, 0)
    known = site.reader.calibrations.of(outline.service)
    judged = site.reader.ledger.judged_trace(outline.trace_id)
    leads = dict.fromkeys(shown.error.lead.judge for shown in view.errors)
    gone = site.reader.error(an_id(ask.gone), Confidence.of(ask.profile)) if ask.gone else None
    alone = () if outline.session_id else site.reader.session_measures(outline.service, outline.trace_id)
    return replace(
        view,
        measures=session_measures(alone, site.reader.measures.packs),
        given=site.reader.scores.of_traces(outline.trace_ids, SHOWN),
        lazy=not trace_queries.loads_at_once(outline),
        why=None if view.assessment.verdicts else _why(site, view, judged),
        not_judged=judged.not_judged if judged else NotJudged.WAITING,
        unscored=unscored(trace_queries, view),
        mark=mark,
        unseen=unseen,
        unproven=[rule for rule in leads if is_unproven(rule, known)],
        withdrawn=gone.withdrawn if gone is not None and gone.located.whole == outline.trace_id else None,
    )


def to_whole_id(site: Site, request: Request, trace_id: str, error: NotFoundError) -> RedirectResponse:
    """The page of the one trace whose id begins so.

    Raises:
        NotFoundError: none does, or it is the whole id: `error`. ConfigError: several do.
    """
    whole = whole_trace_id(site.reader, trace_id)
    if whole == an_id(trace_id):
        raise error
    return RedirectResponse(f"/traces/{quote(whole)}?{request.url.query}", status_code=303)


def trace_index_of(site: Site, trace_id: str) -> TraceIndex:
    """A trace in outline. Raises NotFoundError, RetryableError, StoreError."""
    found = site.reader.trace_queries.trace_index(an_id(trace_id))
    if found is None:
        raise NotFoundError(f"no trace {an_id(trace_id)[:64]!r} is stored")
    return found


def labelled(site: Site, outline: TraceOutline) -> Mapping[str, Labelled]:
    """Labels of a trace."""
    return site.reader.labels.of_traces(outline.trace_ids)


def render(site: Site, request: Request, template: str, view: TracePageView, **more: Any) -> Response:
    """A page or fragment of the trace."""
    live = view.outline.state is TraceState.OPEN or bool(site.services.judges().pending)
    return site.render(request, template, view=view, live=live, annotator=annotator(request), terms=TERMS, **more)


def annotator(request: Request) -> str:
    """The annotator's name in the cookie, "" for none."""
    return unquote(request.cookies.get(ANNOTATOR, ""))[:MAX_NAME]


def plain(text: str, name: str) -> Response:
    """A text as a download under a fixed name."""
    content = text.encode("utf-8", "replace")
    headers = {**DOWNLOAD, "Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return PlainTextResponse(content, headers=headers)


def _why(site: Site, view: TracePageView, judged: JudgedState | None) -> str | None:
    words = site.reader.trace_queries.ledger_rows(view.outline)
    return why_unscored(words, judged, site.services.judges(), view.outline.trace_id)


def unscored(queries: StoredTraceQueries, view: TracePageView) -> Sequence[tuple[str, str]]:
    """Outcomes and reasons for which judges left the selected run without a score, each once; blocks."""
    kind, _, run_id = view.selected.partition(":")
    if kind != "run" or view.verdicts.get(run_id):
        return ()
    rows = [row for row in queries.ledger_rows(view.outline) if row.subject_id == run_id]
    return sorted({(row.outcome.value, row.reason) for row in rows if row.outcome not in SCORING})


def _start(request: Request) -> int:
    text = request.query_params.get("start", "0")
    return min(int(text[:9]), MAX_START) if text.isascii() and text.isdecimal() else 0


def _local(target: str) -> str:
    """The URL kept on this site: two leading slashes would name another host."""
    return "/" + target.lstrip("/\\")
