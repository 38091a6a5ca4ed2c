"""Signing in to the pages with a key, changing between projects, and signing out."""

from __future__ import annotations

from typing import Final
from urllib.parse import urlsplit

from fastapi import FastAPI, Request, Response
from fastapi.responses import RedirectResponse

from tracejury.collector.api.access import SIGN_IN
from tracejury.collector.api.security import is_https
from tracejury.collector.auth.key import KeyScope
from tracejury.collector.auth.sign_in import COOKIE, LASTS
from tracejury.schemas.errors import TracejuryError

from .site import Form, Site, action, page

_NO_STORE: Final = {"Cache-Control": "no-store"}


def add_sign_in(app: FastAPI, site: Site) -> None:
    """`/sign-in`, `/sign-out` and `/project`."""
    services = site.services

    @page(app, SIGN_IN, "next")
    def form(request: Request, next: str = "/") -> Response:  # noqa: A002  the name in the URL
        return site.render(request, "sign_in.html", view={"next": local(next), "refused": ""})

    @action(app, SIGN_IN)
    async def sign_in(request: Request, fields: Form) -> Response:
        client, target = request.client.host if request.client else "", local(fields.get("next", "/"))
        try:
            key = services.keyring.check(fields.get("key", "").strip(), KeyScope.READ, client)
        except TracejuryError as error:
            view = {"next": target, "refused": str(error)}
            return site.render(request, "sign_in.html", status=401, view=view)
        return _remembered(site, request, [key.id, *_known(site, request)], target)

    @action(app, "/project")
    async def change(request: Request, fields: Form) -> Response:
        known, chosen = _known(site, request), fields.get("key", "")
        return _remembered(site, request, [chosen, *known] if chosen in known else known, "/")

    @action(app, "/sign-out")
    async def sign_out() -> Response:
        response = RedirectResponse(SIGN_IN, 303, _NO_STORE)
        response.delete_cookie(COOKIE, path="/")
        return response


def local(target: str) -> str:
    """A path of these pages, "/" for anything else: a link to the sign-in page must not lead elsewhere."""
    parts = urlsplit(target) if target.isprintable() and "\\" not in target else None
    safe = parts and not parts.scheme and not parts.netloc and parts.path.startswith("/") and "//" not in parts.path
    return target if safe else "/"


def _known(site: Site, request: Request) -> list[str]:
    return list(site.services.sign_ins.key_ids(request.cookies.get(COOKIE, "")))


def _remembered(site: Site, request: Request, ids: list[str], target: str) -> Response:
    """Lead there, with the cookie of these keys, the current one first."""
    response = RedirectResponse(target, 303, _NO_STORE)
    value = site.services.sign_ins.value(list(dict.fromkeys(ids)))
    is_secure = is_https(request.scope)
    response.set_cookie(COOKIE, value, max_age=LASTS, httponly=True, samesite="lax", secure=is_secure, path="/")
    return response
