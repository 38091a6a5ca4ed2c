"""One opinion on several errors at once, from the list of errors: each is taken or refused for itself, and told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, urlencode

from fastapi import FastAPI, Request, Response

from tracejury.collector.labels.labelling import Labelling
from tracejury.schemas.errors import ConfigError, NotFoundError

from .feedback import remember, who_of
from .site import Form, Site, action
from .trace.opinions import an_opinion

PICK: Final = "pick:"
"""Begins the names of the boxes; the id of an error or finding follows."""
MOST: Final = 500
"""Errors of one form."""
WITHDRAW: Final = "withdraw"


@dataclass(frozen=True, slots=True)
class Refused:
    """An error whose label was not taken, and why."""

    id: str
    why: str


def add_bulk_labels(app: FastAPI, site: Site) -> None:
    """`/feedback/opinions`."""

    @action(app, "/feedback/opinions")
    def save(request: Request, form: Form) -> Response:
        who, opinion = who_of(request, form), form.get("opinion", "")
        picked = [name.removeprefix(PICK) for name in form if name.startswith(PICK)]
        if not 0 < len(picked) <= MOST:
            raise ConfigError(f"select from 1 to {MOST} errors, not {len(picked):,}")
        labelling = Labelling(site.reader, site.clock())
        traces, refused = set(), []
        for some_id in picked:
            try:
                if opinion == WITHDRAW:
                    label = labelling.withdraw_opinion(some_id, who)
                else:
                    label = labelling.take_opinion(an_opinion({**form, "finding": some_id, "trace": ""}, who))
                traces.add(label.trace_id)
            except NotFoundError as error:
                refused.append(Refused(some_id, str(error)))
        labelling.save()
        for trace_id in traces:
            site.change_feed.publish(trace_id)
        answer = site.render(
            request,
            "labelled.html",
            picked=picked,
            refused=refused,
            opinion=opinion,
            who=who,
            back=f"/errors?{urlencode(parse_qsl(form.get('back', '')))}",
            back_query=form.get("back", ""),
        )
        return remember(answer, who)
