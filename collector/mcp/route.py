"""The route of `/mcp`."""

from __future__ import annotations

from anyio import Lock, to_thread
from fastapi import FastAPI
from starlette.routing import Route
from starlette.types import ASGIApp, Receive, Scope, Send

from tracejury.collector.api.guard import MCP


def add_mcp(app: FastAPI) -> None:
    """`POST /mcp`."""
    app.router.routes.append(Route(MCP, endpoint=_McpRoute(), methods=["POST"], include_in_schema=False))


class _McpRoute:
    """Imports the endpoint at the first request: its client of the API would lengthen every start."""

    def __init__(self) -> None:
        self._endpoint: ASGIApp | None = None
        self._first = Lock()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._first:
            if self._endpoint is None:
                self._endpoint = await to_thread.run_sync(_made_endpoint)
        await self._endpoint(scope, receive, send)


def _made_endpoint() -> ASGIApp:
    from .endpoint import McpEndpoint

    return McpEndpoint()
