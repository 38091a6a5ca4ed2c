"""Protection against other origins that read or change data through the user's browser.

Sources: https://www.w3.org/TR/CSP3/ (content security policy), OWASP's cheat sheet on cross-site request forgery
(signed double submit).
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury.collector.otlp.receiver.origins import is_local

COOKIE: Final = "tracejury_csrf"
FIELD: Final = "csrf"
HEADER: Final = "x-csrf-token"
FORM: Final = "application/x-www-form-urlencoded"
MAX_FIELDS: Final = 1000

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
SECURE: Final[Mapping[str, str]] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        # With no-referrer browsers post plain forms of ours as from the origin "null", which is refused.
        "Referrer-Policy": "same-origin",
        "Cross-Origin-Opener-Policy": "same-origin",
        "Cross-Origin-Resource-Policy": "same-origin",
    }
)
"""Headers of every response."""
STRICT: Final = "max-age=31536000"
"""Of responses over TLS: for a year the browser uses https:// alone (RFC 6797)."""


class SecureHeaders:
    """ASGI middleware: every response carries `SECURE` and, over TLS, `STRICT`, whoever made it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and add to the response's start."""
        # It holds for every port of a host: on localhost other programs would be asked for https://, too.
        is_strict = scope.get("scheme") == "https" and not is_local(Headers(scope=scope).get("host", ""))

        async def secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURE.items():
                    headers.setdefault(name, value)
                if is_strict:
                    headers.setdefault("Strict-Transport-Security", STRICT)
            await send(message)

        await self.app(scope, receive, secured if scope["type"] == "http" else send)


def is_https(scope: Scope) -> bool:
    """Whether the browser speaks TLS, with us or with a proxy that says so: then cookies are for TLS alone.

    Anybody may say so, as that only makes their own cookies stricter.
    """
    forwarded = Headers(scope=scope).get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    return "https" in (scope.get("scheme"), forwarded)


class Tokens:
    """Tokens for forms: what a form holds is the signature of a cookie that no other site's request carries.

    Without a `key` that outlives the process, a page from before a restart has to be loaded again.
    """

    def __init__(self, key: bytes | None = None) -> None:
        self._key = key or secrets.token_bytes(32)

    @staticmethod
    def new_cookie() -> str:
        """A value for a cookie."""
        return secrets.token_urlsafe(24)

    def of(self, cookie: str) -> str:
        """The token that goes with a cookie."""
        return hmac.new(self._key, cookie.encode(), hashlib.sha256).hexdigest()

    def hold(self, headers: Headers, body: bytes) -> bool:
        """Whether a request carries a cookie and, in a header or a field of its form, the token that goes with it."""
        cookie = cookie_of(headers)
        given = headers.get(HEADER) or parse_form(body).get(FIELD, "")
        return bool(cookie) and hmac.compare_digest(self.of(cookie).encode(), given.encode())


def cookie_of(headers: Headers) -> str:
    """The value of our cookie; "" where there is none."""
    return cookie_parser(headers.get("cookie", "")).get(COOKIE, "")


def parse_form(body: bytes) -> dict[str, str]:
    """The fields of a form; of a field that is there twice, the last. None of one with more than any of ours has."""
    try:
        fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        return {}
    return {name: values[-1] for name, values in fields.items()}


def is_form(headers: Headers) -> bool:
    """Whether the body is a form as browsers send it."""
    return headers.get("content-type", "").partition(";")[0].strip().lower() == FORM
