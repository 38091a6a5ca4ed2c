"""Who sends a request to the API or the pages, what they may do, and which project's application answers."""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury.collector.auth.config import ProxyConfig
from tracejury.collector.auth.key import AccessKey, KeyScope
from tracejury.collector.auth.keyring import MISSING, Keyring
from tracejury.collector.auth.sign_in import COOKIE, SignIns
from tracejury.collector.auth.tokens_sent import token_sent
from tracejury.schemas.annotations import LABELS
from tracejury.schemas.errors import ForbiddenError, OverloadedError, TracejuryError, UnauthorizedError

from .answers import refusal_of, refuse, wants_page
from .guard import MCP, OTLP_PATHS, READING
from .paths import SCORES
from .security import SecureHeaders

KEY: Final = "tracejury.key"
"""The entry of an ASGI scope with the key of whoever asks; absent where a key is needed and none was sent."""

SIGN_IN: Final = "/sign-in"
OPEN: Final = ("/healthz", "/readyz", SIGN_IN, "/sign-out", "/project")
"""Addresses that need no key; what they tell without one names nothing of any project."""
STATIC: Final = "/static/"

PROXY: Final = "proxy"
"""The id of people whom a proxy has signed in."""

LABELLING: Final = (
    *(f"/api/{kind.plural}" for kind in LABELS),
    "/api/labels/import",
    "/api/clusters/names",
    "/api/views",
    "/feedback/",
    "/views",
)
"""Addresses that change labels, names of clusters and saved views alone; other changes need the scope admin."""

AppOf = Callable[[str], Awaitable[ASGIApp]]
"""The application of a project."""


class Access:
    """The outermost ASGI application. Where the keyring asks for no key, everybody uses the default project."""

    def __init__(self, keyring: Keyring, sign_ins: SignIns, app_of: AppOf, proxy: ProxyConfig | None = None) -> None:
        self._keyring, self._sign_ins, self._app_of = keyring, sign_ins, app_of
        self._proxy = proxy or ProxyConfig()
        self._proxies = [ipaddress.ip_network(address) for address in self._proxy.addresses]
        self._secured = SecureHeaders(self._answer)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request to the application of its project, or refuse it."""
        if scope["type"] == "http":
            is_kept = not self._keyring.asks or scope["path"].startswith(STATIC)
            await self._secured(scope, receive, send if is_kept else _unstored(send))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        client = scope["client"][0] if scope.get("client") else ""
        try:
            key = self._key(scope, headers, client)
        except TracejuryError as error:
            if not is_open(scope["path"]):
                app = await self._app_of("")
                await _refused({**scope, "app": app}, headers, error)(scope, receive, send)
                return
            key = None
        if key is not None:
            scope = {**scope, KEY: key}
        app = await self._app_of(key.project if key else "")
        if key is None or not self._keyring.asks or key.id == PROXY:
            await app(scope, receive, send)
            return
        held = _WhileHeld(self._keyring, key.id, receive, send)
        await app(scope, held.receive, held.send)

    def _key(self, scope: Scope, headers: Headers, client: str) -> AccessKey:
        """Whoever asks, where they may do what they ask for. Raises as `Keyring.check`."""
        needed = needed_scope(scope["method"], scope["path"])
        token = token_sent(headers.items())
        if token or not self._keyring.asks:
            return self._keyring.check(token, needed, client)
        key = self._of_proxy(headers, client) or self._of_cookie(headers)
        if key is None:
            raise UnauthorizedError(MISSING)
        if not key.allows(needed):
            raise ForbiddenError(f"{key.name or key.id} may not do this: it needs the scope {needed}")
        return key

    def _of_cookie(self, headers: Headers) -> AccessKey | None:
        value = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return next((key for key in map(self._keyring.holds, self._sign_ins.key_ids(value)[:1]) if key), None)

    def _of_proxy(self, headers: Headers, client: str) -> AccessKey | None:
        name = headers.get(self._proxy.header, "").strip() if self._proxy.header else ""
        if not name or not self._is_proxy(client):
            return None
        return AccessKey(PROXY, name, self._proxy.project, frozenset(self._proxy.scopes), b"", 0)

    def _is_proxy(self, client: str) -> bool:
        try:
            address = ipaddress.ip_address(client)
        except ValueError:
            return False
        return any(address in network for network in self._proxies)


def _unstored(send: Send) -> Send:
    """Answers that no cache may store: what one key is told is not for whoever asks next."""

    async def unstored(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message)["Cache-Control"] = "no-store"
        await send(message)

    return unstored


class _WhileHeld:
    """The channels of a request that end when its key is revoked: live pages stream for as long as they are open."""

    def __init__(self, keyring: Keyring, key_id: str, receive: Receive, send: Send) -> None:
        self._keyring, self._key_id, self._receive, self._send = keyring, key_id, receive, send
        self._ended = False

    async def receive(self) -> Message:
        """The next message, or that the client has gone."""
        return {"type": "http.disconnect"} if self._ended else await self._receive()

    async def send(self, message: Message) -> None:
        """Send, unless the key no longer holds: then the response ends."""
        if self._ended:
            return
        if message.get("more_body") and self._keyring.holds(self._key_id) is None:
            self._ended, message = True, {"type": "http.response.body", "body": b"", "more_body": False}
        await self._send(message)


def is_open(path: str) -> bool:
    """Whether an address needs no key."""
    return path in OPEN or path in OTLP_PATHS or path.startswith(STATIC)


def needed_scope(method: str, path: str) -> KeyScope:
    """What a key must allow for a request; a tool of MCP asks for what it needs itself."""
    if method in READING or path == MCP:
        return KeyScope.READ
    if path in SCORES:
        return KeyScope.INGEST
    if any(path == prefix or path.startswith(f"{prefix.rstrip('/')}/") for prefix in LABELLING):
        return KeyScope.LABEL
    return KeyScope.ADMIN


def _refused(scope: Scope, headers: Headers, error: TracejuryError) -> Response:
    if not isinstance(error, UnauthorizedError | ForbiddenError | OverloadedError):
        return refuse(scope, refusal_of(error))
    if isinstance(error, UnauthorizedError) and "hx-request" in headers:
        return Response(status_code=401, headers={"HX-Redirect": SIGN_IN})
    if isinstance(error, UnauthorizedError) and scope["method"] in READING and wants_page(scope):
        here = scope["path"] + (f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else "")
        return RedirectResponse(f"{SIGN_IN}?next={quote(here, safe='')}", 303)
    return refuse(scope, refusal_of(error))
