"""Feedback forms on findings, spans, runs and sessions: each answers with the same widget, or leads back to the page.

Those on sessions always lead back.

The name of the annotator is kept in a cookie; the latest form sets it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final
from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.labels.labelling import Labelling
from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import Annotation, HumanScore, Label, Review
from tracejury.schemas.errors import ConfigError
from tracejury.schemas.queries.reader import Confidence

from .links import compare_link, session_link
from .site import Form, Site, action, is_fragment
from .trace.opinions import (
    TERMS,
    a_missed_error,
    a_pattern_label,
    a_preference,
    a_review,
    a_score,
    a_session_label,
    an_opinion,
    annotator_of,
)
from .trace.pages import ANNOTATOR, annotator
from .trace.view import Ask, Opinions
from .window import KEPT, read_window

YEAR: Final = 365 * 86_400

LabelOfTrace = Annotation | HumanScore | Review

TAKING: Final[Mapping[str, Callable[[Labelling, Form, str], LabelOfTrace]]] = {
    "opinion": lambda labelling, form, who: labelling.take_opinion(an_opinion(form, who)),
    "missed": lambda labelling, form, who: labelling.take_opinion(a_missed_error(form, who)),
    "score": lambda labelling, form, who: labelling.take(a_score(form, who)),
    "review": lambda labelling, form, who: labelling.take(a_review(form, who)),
    "withdraw": lambda labelling, form, who: labelling.withdraw(form.get("annotation", ""), who, form.get("trace", "")),
}
"""Saves the form of each kind as a label; `who` is the annotator."""


def add_feedback(app: FastAPI, site: Site) -> None:
    """`/feedback/...`."""
    for kind, take in TAKING.items():
        _add_form(app, site, kind, take)

    def to_compare(form: Form) -> str:
        return compare_link(**{name: form.get(name, "") for name in (*KEPT, "first", "second")})

    def to_session(form: Form) -> str:
        return session_link(read_window(form, site.clock()), form["session_id"]) or "/sessions"

    _add_session_form(app, site, "preference", a_preference, to_compare)
    _add_session_form(app, site, "session", a_session_label, to_session)

    def to_pattern(form: Form) -> str:
        return read_window(form, site.clock()).link(f"/patterns/{quote(form.get('pattern', ''), safe='')}")

    _add_session_form(app, site, "pattern", a_pattern_label, to_pattern)

    @action(app, "/feedback/name")
    def name(form: Form) -> Response:
        back = [(field, form[field]) for field in (*KEPT, "purpose") if form.get(field)]
        response = RedirectResponse(f"/labels?{urlencode(back)}" if back else "/labels", status_code=303)
        return remember(response, annotator_of(form))


def _add_session_form(
    app: FastAPI, site: Site, kind: str, said: Callable[[Form, str], Label], back: Callable[[Form], str]
) -> None:
    @action(app, f"/feedback/{kind}")
    def save(request: Request, form: Form) -> Response:
        who = who_of(request, form)
        labelling = Labelling(site.reader, site.clock())
        labelling.take(said(form, who))
        labelling.save()
        return remember(RedirectResponse(back(form), status_code=303), who)


def _add_form(app: FastAPI, site: Site, kind: str, take: Callable[[Labelling, Form, str], LabelOfTrace]) -> None:
    @action(app, f"/feedback/{kind}")
    def save(request: Request, form: Form) -> Response:
        who = who_of(request, form)
        labelling = Labelling(site.reader, site.clock())
        label = take(labelling, form, who)
        labelling.save()
        site.change_feed.publish(label.trace_id)
        return remember(_answer(site, request, form, who, label), who)


def _answer(site: Site, request: Request, form: Form, who: str, label: LabelOfTrace) -> Response:
    """The updated widget, or, without scripts, a redirect to the page."""
    finding_id, span_id = (label.finding_id, label.span_id) if isinstance(label, Annotation) else ("", "")
    finding = site.reader.labels.finding(finding_id) if finding_id else None
    error = _error(site, form.get("finding", "")) if form.get("finding", finding_id) != finding_id else None
    if error is not None:
        finding = site.reader.labels.finding(error.findings[0])
    trace_id = finding.trace_id if finding else form.get("trace", "")
    base = _page(form.get("base", ""), trace_id)
    if not is_fragment(request.headers):
        at = finding.span_id if finding else span_id or label.agent_run_id
        return RedirectResponse(f"{base}?span={quote(at, safe='')}", status_code=303)
    return site.render(
        request,
        "trace/said.html",
        opinions=Opinions.of(site.reader.labels.of_traces([trace_id]), [error] if error else ()),
        finding=finding,
        error=error,
        span_id=span_id,
        run_id=label.agent_run_id,
        trace_id=trace_id,
        base=base,
        annotator=who,
        terms=TERMS,
        ask=Ask(stratum=form.get("stratum", ""), probability=form.get("probability", ""), drawn=form.get("run", "")),
    )


def _error(site: Site, some_id: str) -> ErrorSummary | None:
    """The error that was labelled, however sure; None where the form names none."""
    view = site.reader.error(some_id, Confidence(0.0, 0.0)) if some_id else None
    return view.located.error if view else None


def who_of(request: Request, form: Form) -> str:
    """The annotator: the name in the form, or the one in the browser's cookie."""
    return annotator_of(form if form.get("annotator", "").strip() else {**form, "annotator": annotator(request)})


def remember(response: Response, who: str) -> Response:
    """The response, which has the browser keep the annotator's name."""
    response.set_cookie(ANNOTATOR, quote(who), max_age=YEAR, httponly=True, samesite="strict", path="/")
    return response


def _page(base: str, trace_id: str) -> str:
    """The page of the form's trace; never another address."""
    head, _, rest = base.rpartition("/")
    if head != "/traces" or not rest or "\\" in rest:
        if not trace_id:
            raise ConfigError("the form does not say of which trace it is")
        return f"/traces/{quote(trace_id, safe='')}"
    return f"/traces/{quote(rest, safe='%')}"
