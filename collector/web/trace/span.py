"""`/spans/{id}`: what is wrong with this span, in which run, what came before and after."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from anyio import CapacityLimiter
from fastapi import FastAPI, Request, Response

from ....schemas.errors import NotFoundError
from ....schemas.filters import an_id
from ....schemas.findings import Finding
from ..site import Site, rebuilding
from .pages import open_view, render
from .parts import SpanDetail, SpanSection, TurnDetail
from .view import TracePageView, detail_of

MAX_CHOICES = 50


@dataclass(frozen=True, slots=True)
class Mention:
    """A finding at another span that names this one; `how`: in words."""

    finding: Finding
    how: str


@dataclass(frozen=True, slots=True)
class SpanView:
    """A span's page. `section`: what it says; None where the span is an agent run's own (see `trace.detail`)."""

    span_id: str
    home: str
    trace: TracePageView
    here: Sequence[Finding]
    mentions: Sequence[Mention]
    section: SpanSection | None


def add_span(app: FastAPI, site: Site, few: CapacityLimiter) -> None:
    """The page of a span, made on `few` threads; where several traces have a span of that id, a choice of them."""

    @rebuilding(app, "/spans/{span_id}", few)
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
        return render(site, request, "trace/span.html", view, span=span_view(view, wanted, home))


def span_view(view: TracePageView, span_id: str, home: str) -> SpanView:
    """A span's page from that of its trace, where it is selected."""
    here = [f for f in view.findings if f.span_id == span_id]
    detail = view.detail
    section = None
    if isinstance(detail, TurnDetail):
        section = next((s for s in detail.sections if s.span_id == span_id), None)
    elif isinstance(detail, SpanDetail):
        section = detail.section
    return SpanView(span_id, home, view, here, mentions(view.findings, span_id), section)


def mentions(findings: Sequence[Finding], span_id: str) -> list[Mention]:
    """Findings at other spans that name this one."""
    found = []
    for finding in findings:
        if finding.span_id == span_id:
            continue
        if finding.tool_span_id == span_id:
            found.append(Mention(finding, "it is the tool call of this error"))
        elif finding.seen_by_span_id == span_id:
            found.append(Mention(finding, "the error showed here"))
        elif span_id in finding.also_at:
            found.append(Mention(finding, "it relays this error"))
    return found
