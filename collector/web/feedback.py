"""What people say of findings, spans and runs: forms that answer with the same widget, or lead back to the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from ...schemas.annotations import Annotation
from ...schemas.errors import ConfigError, NotFoundError
from ...schemas.findings import Finding
from ..labels import Labelled, LabelQuery
from .pulse import Pulse
from .site import Form, Site, action, is_fragment
from .trace.opinions import TERMS, a_missed_error, a_review, a_score, an_opinion, annotator_of
from .trace.pages import ANNOTATOR
from .trace.view import Ask, Opinions

YEAR = 365 * 86_400


def add_feedback(app: FastAPI, site: Site, pulse: Pulse) -> None:
    """`/feedback/…`."""
    _add_saving(app, site, pulse)
    _add_withdrawing(app, site, pulse)


def _add_saving(app: FastAPI, site: Site, pulse: Pulse) -> None:
    labels = site.reader.labels

    @action(app, "/feedback/opinion")
    def opinion(request: Request, form: Form) -> Response:
        who = annotator_of(form)
        finding = _finding(site, form)
        made = an_opinion(form, finding, who, site.clock())
        if made.span_id != finding.span_id and not site.reader.knows(made.trace_id, made.span_id):
            raise NotFoundError(f"this trace has no span {made.span_id[:64]!r}")
        labels.save(Labelled(annotations=(made,)))
        pulse.touched(finding.trace_id)
        return _answer(site, request, form, who, finding=finding)

    @action(app, "/feedback/missed")
    def missed(request: Request, form: Form) -> Response:
        who = annotator_of(form)
        made = a_missed_error(form, who, site.clock())
        if not site.reader.knows(made.trace_id, made.span_id):
            raise NotFoundError(f"no such span {made.span_id[:64]!r} is stored")
        labels.save(Labelled(annotations=(made,)))
        pulse.touched(made.trace_id)
        return _answer(site, request, form, who, span_id=made.span_id, run_id=made.agent_run_id)

    @action(app, "/feedback/score")
    def score(request: Request, form: Form) -> Response:
        who = annotator_of(form)
        made = a_score(form, who, site.clock())
        _must_know(site, made.trace_id)
        labels.save(Labelled(scores=(made,)))
        pulse.touched(made.trace_id)
        return _answer(site, request, form, who, run_id=made.agent_run_id)

    @action(app, "/feedback/review")
    def review(request: Request, form: Form) -> Response:
        who = annotator_of(form)
        made = a_review(form, who, site.clock())
        _must_know(site, made.trace_id)
        labels.save(Labelled(reviews=(made,)))
        pulse.touched(made.trace_id)
        return _answer(site, request, form, who, run_id=made.agent_run_id)


def _add_withdrawing(app: FastAPI, site: Site, pulse: Pulse) -> None:
    @action(app, "/feedback/withdraw")
    def withdraw(request: Request, form: Form) -> Response:
        who = annotator_of(form)
        query = LabelQuery(1, id=form.get("annotation", ""), trace_id=form.get("trace", ""), annotator=who)
        found: Sequence[Annotation] = site.reader.labels.annotations(query) if query.id else ()
        if not found:
            raise NotFoundError("there is no such opinion of yours")
        one = replace(found[0], withdrawn=True, changed_at=max(site.clock(), found[0].changed_at + 1))
        site.reader.labels.save(Labelled(annotations=(one,)))
        pulse.touched(one.trace_id)
        finding = site.reader.labels.finding(one.finding_id) if one.finding_id else None
        return _answer(site, request, form, who, finding=finding, span_id=one.span_id, run_id=one.agent_run_id)


def _finding(site: Site, form: Form) -> Finding:
    found = site.reader.labels.finding(form.get("finding", ""))
    if found is None:
        raise NotFoundError("there is no such finding")
    return found


def _must_know(site: Site, trace_id: str) -> None:
    if not site.reader.knows(trace_id, ""):
        raise NotFoundError(f"no trace {trace_id[:64]!r} is stored")


def _answer(
    site: Site,
    request: Request,
    form: Form,
    who: str,
    *,
    finding: Finding | None = None,
    span_id: str = "",
    run_id: str = "",
) -> Response:
    """The widget as it is now, or, without scripts, the way back; the name is remembered."""
    trace_id = finding.trace_id if finding else form.get("trace", "")
    base = _page(form.get("base", ""), trace_id)
    response: Response
    if is_fragment(request.headers):
        response = site.render(
            request,
            "trace/said.html",
            opinions=Opinions.of(site.reader.labels.of_traces([trace_id])),
            finding=finding,
            span_id=span_id,
            run_id=run_id,
            trace_id=trace_id,
            base=base,
            annotator=who,
            terms=TERMS,
            ask=Ask(stratum=form.get("stratum", ""), probability=form.get("probability", "")),
        )
    else:
        at = finding.span_id if finding else span_id or run_id
        response = RedirectResponse(f"{base}?span={quote(at, safe='')}", status_code=303)
    response.set_cookie(ANNOTATOR, quote(who), max_age=YEAR, httponly=True, samesite="strict", path="/")
    return response


def _page(base: str, trace_id: str) -> str:
    """The page of a trace that the form is of; nothing else is led to."""
    head, _, rest = base.rpartition("/")
    if head != "/traces" or not rest or "\\" in rest:
        if not trace_id:
            raise ConfigError("the form does not say of which trace it is")
        return f"/traces/{quote(trace_id, safe='')}"
    return f"/traces/{quote(rest, safe='%')}"
