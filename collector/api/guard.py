"""What a request must be before it reaches an endpoint: for a name of this machine, and, to change something, JSON.

Without the first a page in the user's browser reads the API through a name of its own that it re-points to
127.0.0.1 (DNS rebinding). Without the second it posts to it with a plain form, which browsers send without asking.
Bodies must be small and say how long they are: the framework reads them whole.
"""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from fastapi import Response
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from .answers import problem

READING = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY = 64 * 1024


class Guard:
    """ASGI middleware; `any_host` lets every name pass (a collector that was told to serve others)."""

    def __init__(self, app: ASGIApp, *, any_host: bool = False) -> None:
        self.app = app
        self.any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or hand on."""
        if scope["type"] == "http":
            refusal = self._refusal(scope["method"], Headers(scope=scope))
            if refusal is not None:
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        if not self.any_host and not is_local(headers.get("host", "")):
            return problem(421, "this collector answers to localhost only (serve --insecure lifts that)")
        if method in READING:
            return None
        if not _is_json(headers.get("content-type", "")):
            return problem(415, "the body must be application/json")
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal():
            return problem(411, "the request must say how long its body is")
        return problem(413, f"the body is larger than {MAX_BODY} bytes") if int(length[:20]) > MAX_BODY else None


def is_local(host: str) -> bool:
    """Whether a Host header names this machine's loopback: localhost, 127.0.0.0/8 or [::1], with any port."""
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(name).is_loopback
    except ValueError:
        return False


def _is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"
