"""What people say of findings, spans and runs: forms that answer with the same widget, or lead back to the page.

The name that stands beside it is kept in a cookie, and is whatever the latest form says.
"""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from ...schemas.errors import ConfigError
from ...schemas.findings import Finding
from ..labels.labelling import Labelling
from .site import Form, Site, action, is_fragment
from .trace.opinions import TERMS, a_missed_error, a_review, a_score, an_opinion, annotator_of
from .trace.pages import ANNOTATOR, annotator
from .trace.view import Ask, Opinions
from .window import KEPT

YEAR = 365 * 86_400


def add_feedback(app: FastAPI, site: Site) -> None:
    """`/feedback/…`."""
    _add_saving(app, site)
    _add_withdrawing(app, site)

    @action(app, "/feedback/name")
    def name(form: Form) -> Response:
        back = [(field, form[field]) for field in (*KEPT, "purpose") if form.get(field)]
        response = RedirectResponse(f"/labels?{urlencode(back)}" if back else "/labels", status_code=303)
        return _remember(response, annotator_of(form))


def _add_saving(app: FastAPI, site: Site) -> None:
    @action(app, "/feedback/opinion")
    def opinion(request: Request, form: Form) -> Response:
        who, labelling = _who(request, form), _labelling(site)
        made = labelling.take_opinion(an_opinion(form, who))
        _save(site, labelling, made.trace_id)
        return _answer(site, request, form, who, finding=site.reader.labels.finding(made.finding_id))

    @action(app, "/feedback/missed")
    def missed(request: Request, form: Form) -> Response:
        who, labelling = _who(request, form), _labelling(site)
        made = labelling.take_opinion(a_missed_error(form, who))
        _save(site, labelling, made.trace_id)
        return _answer(site, request, form, who, span_id=made.span_id, run_id=made.agent_run_id)

    @action(app, "/feedback/score")
    def score(request: Request, form: Form) -> Response:
        who, labelling = _who(request, form), _labelling(site)
        made = labelling.take_score(a_score(form, who))
        _save(site, labelling, made.trace_id)
        return _answer(site, request, form, who, run_id=made.agent_run_id)

    @action(app, "/feedback/review")
    def review(request: Request, form: Form) -> Response:
        who, labelling = _who(request, form), _labelling(site)
        made = labelling.take_review(a_review(form, who))
        _save(site, labelling, made.trace_id)
        return _answer(site, request, form, who, run_id=made.agent_run_id)


def _add_withdrawing(app: FastAPI, site: Site) -> None:
    @action(app, "/feedback/withdraw")
    def withdraw(request: Request, form: Form) -> Response:
        who, labelling = _who(request, form), _labelling(site)
        gone = labelling.withdraw(form.get("annotation", ""), who, form.get("trace", ""))
        _save(site, labelling, gone.trace_id)
        finding = site.reader.labels.finding(gone.finding_id) if gone.finding_id else None
        return _answer(site, request, form, who, finding=finding, span_id=gone.span_id, run_id=gone.agent_run_id)


def _labelling(site: Site) -> Labelling:
    return Labelling(site.reader, site.clock())


def _save(site: Site, labelling: Labelling, trace_id: str) -> None:
    labelling.save()
    site.change_feed.publish(trace_id)


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
            ask=Ask(
                stratum=form.get("stratum", ""), probability=form.get("probability", ""), drawn=form.get("run", "")
            ),
        )
    else:
        at = finding.span_id if finding else span_id or run_id
        response = RedirectResponse(f"{base}?span={quote(at, safe='')}", status_code=303)
    return _remember(response, who)


def _who(request: Request, form: Form) -> str:
    """Who says it: the name in the form, or the one that this browser gave before."""
    return annotator_of(form if form.get("annotator", "").strip() else {**form, "annotator": annotator(request)})


def _remember(response: Response, who: str) -> Response:
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
