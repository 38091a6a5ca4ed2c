"""`/errors/{id}`: an error in its trace, by any id under which it was ever shown."""

from __future__ import annotations

from urllib.parse import quote, urlencode

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.api.prefixes import whole_error_id
from tracejury.collector.web.site import Site, page
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.reader import Confidence


def add_error(app: FastAPI, site: Site) -> None:
    """`/errors/{id}`, which leads to the error at its primary span; the id of a finding leads to its error."""

    @page(app, "/errors/{some_id}")
    def error(request: Request, some_id: str) -> Response:
        profile = request.query_params.get("profile", "")
        found = site.reader.error(whole_error_id(site.reader, some_id), Confidence.of(profile))
        if found is None:
            raise NotFoundError(f"no error {some_id[:64]!r} is stored")
        error = found.located.error
        asked = {"span": error.span_id} | ({"profile": profile} if profile else {})
        target = f"/traces/{quote(found.located.whole, safe='')}?{urlencode(asked)}#error-{error.id}"
        return RedirectResponse(target, status_code=303)
