"""The API of the application that serves a request, asked on behalf of whoever sent it."""

from __future__ import annotations

from typing import Final

import httpx
from anyio import from_thread
from starlette.types import ASGIApp, Receive, Scope, Send

from tracejury.collector.api.access import KEY, needed_scope
from tracejury.collector.auth.key import EVERYBODY, AccessKey
from tracejury.schemas.errors import ForbiddenError

CARRIED: Final = (KEY, "client", "server", "scheme")


class OwnApi(httpx.BaseTransport):
    """Hands the requests of a client on a worker thread to the application, with the key of `scope`."""

    def __init__(self, scope: Scope) -> None:
        self._app: ASGIApp = scope["app"]
        self._carried = {name: scope[name] for name in CARRIED if name in scope}
        self.key: AccessKey = scope.get(KEY) or EVERYBODY

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """The answer, read whole. Raises ForbiddenError: the key does not allow it."""
        needed = needed_scope(request.method, request.url.path)
        if not self.key.allows(needed):
            raise ForbiddenError(f"{self.key.name or self.key.id} may not do this: it needs the scope {needed}")
        return from_thread.run(self._ask, request, request.read())

    async def _ask(self, request: httpx.Request, body: bytes) -> httpx.Response:
        async def asked(scope: Scope, receive: Receive, send: Send) -> None:
            await self._app({**scope, **self._carried}, receive, send)

        transport = httpx.ASGITransport(asked, raise_app_exceptions=False)
        copied = httpx.Request(request.method, request.url, headers=request.headers, content=body)
        answer = await transport.handle_async_request(copied)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())
