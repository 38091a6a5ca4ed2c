"""Requests that mean another one: HEAD a GET without its body, and an address with a slash too many the one without."""

from __future__ import annotations

from typing import Final

from starlette.responses import RedirectResponse
from starlette.routing import Match, Router
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_GONE: Final[Message] = {"type": "http.disconnect"}


class Heads:
    """ASGI middleware: HEAD is answered as GET is, with all headers and no body."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on; whoever would stream hears that nobody listens any more once the headers are sent."""
        if scope["type"] != "http" or scope["method"] != "HEAD":
            await self.app(scope, receive, send)
            return
        answered = False

        async def without_body(message: Message) -> None:
            nonlocal answered
            if not answered and message["type"] == "http.response.start":
                answered = True
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        async def until_answered() -> Message:
            return _GONE if answered else await receive()

        await self.app({**scope, "method": "GET"}, until_answered, without_body)


class Slashes:
    """The default of a router: redirects an unknown address to the one without its last slashes, if that exists.

    Where the address leads is a path of ours, never another host: it matched a route.
    """

    def __init__(self, router: Router) -> None:
        self.router = router
        self.unknown = router.default

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Lead there, with the query; else as before."""
        raw: bytes = scope.get("raw_path") or b""
        if scope["type"] == "http" and scope["method"] == "GET" and raw.endswith(b"/") and self._knows(scope):
            query = b"?" + scope["query_string"] if scope["query_string"] else b""
            answer = RedirectResponse((raw.rstrip(b"/") + query).decode("latin-1"), status_code=307)
            await answer(scope, receive, send)
            return
        await self.unknown(scope, receive, send)

    def _knows(self, scope: Scope) -> bool:
        path = scope["path"].rstrip("/")
        if not path or path.startswith("//"):
            return False
        return any(route.matches({**scope, "path": path})[0] is Match.FULL for route in self.router.routes)
