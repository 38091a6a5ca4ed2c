"""The page of a span: its errors, its run, the turns before and after; `/errors/{id}` leads to that of an error."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import quote, urlencode

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.api.prefixes import whole_error_id
from tracejury.collector.web.site import Site, page, rebuilding
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.reader import Confidence

from .pages import open_view, render
from .parts import Detail, SpanDetail, SpanSection, TurnDetail
from .shown_errors import NO_ERRORS, by_span
from .view import PARAMS, detail_of

MAX_CHOICES = 50


def add_span(app: FastAPI, site: Site, few: CapacityLimiter) -> None:
    """`/spans/{id}`, on `few` threads; where several traces have a span of that id, a choice of them."""

    @rebuilding(app, "/spans/{span_id}", few, *PARAMS, "trace")
    def span(request: Request, span_id: str) -> Response:
        wanted = an_id(span_id)
        traces = site.reader.trace_queries.trace_ids_of_span(wanted)
        chosen = an_id(request.query_params.get("trace", ""))
        if not traces or (chosen and chosen not in traces):
            raise NotFoundError(f"no span {wanted[:64]!r} is stored{' of that trace' if chosen and traces else ''}")
        if not chosen and len(traces) > 1:
            return site.render(request, "trace/choice.html", span_id=wanted, traces=traces[:MAX_CHOICES])
        home = chosen or traces[0]
        view = open_view(site, request, home, span_id=wanted)
        view = replace(view, detail=detail_of(site.reader.trace_queries, view), lazy=False)
        return render(
            site,
            request,
            "trace/span.html",
            view,
            span_id=wanted,
            home=home,
            errors=by_span(view.errors).get(wanted, NO_ERRORS),
            section=section_of(view.detail, wanted),
        )


def section_of(detail: Detail | None, span_id: str) -> SpanSection | None:
    """The section of a span; None where the span is an agent run's own."""
    if isinstance(detail, TurnDetail):
        return next((section for section in detail.sections if section.span_id == span_id), None)
    return detail.section if isinstance(detail, SpanDetail) else None


def add_error(app: FastAPI, site: Site) -> None:
    """`/errors/{id}`, which leads to the error at its primary span; the id of a finding leads to its error."""

    @page(app, "/errors/{some_id}", "profile")
    def error(request: Request, some_id: str) -> Response:
        profile = request.query_params.get("profile", "")
        found = site.reader.error(whole_error_id(site.reader, some_id), Confidence.of(profile))
        if found is None:
            raise NotFoundError(f"no error {some_id[:64]!r} is stored")
        error = found.located.error
        gone = error.id if found.withdrawn is not None else ""
        asked = {name: one for name, one in {"span": error.span_id, "profile": profile, "gone": gone}.items() if one}
        target = f"/traces/{quote(found.located.whole, safe='')}?{urlencode(asked)}#error-{error.id}"
        return RedirectResponse(target, status_code=303)
