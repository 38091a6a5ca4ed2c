"""Checks before a request reaches an endpoint: its host is this machine, and a change comes from our own origin.

Without the first a page in the user's browser reads the API through a name of its own that it re-points to
127.0.0.1 (DNS rebinding). Without the second it posts to it with a plain form, which browsers send without asking: so
what changes something comes from no other origin, and is JSON where it asks the API, else a form of our own pages with
its token: whatever else a browser may be made to send, there is no way around the token.
Bodies must be small and say how long they are: they are read whole.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tracejury.collector.otlp.codec.signals import Signal
from tracejury.collector.otlp.receiver.origins import is_foreign, is_local
from tracejury.collector.otlp.receiver.ports import OTLP_HTTP, Endpoint
from tracejury.schemas.config_base import MIB

from .answers import Refusal, refuse
from .paths import SCORES
from .security import Tokens, is_form

READING = frozenset({"GET", "HEAD", "OPTIONS"})
MAX_BODY = 64 * 1024
MAX_SCORES = 4 * MIB
"""Of a request with up to a thousand scores; Langfuse's client sends 2.5 MB at most."""
OTLP_PATHS = frozenset(f"/v1/{signal}" for signal in Signal)
MCP = "/mcp"
JSON_ONLY = "the body must be application/json"
FORMS_ONLY = "only a form of these pages changes something here; programs ask /api with JSON"


class Guard:
    """ASGI middleware; `any_host` lets every name pass (a collector that was told to serve others).

    `tokens` are those of the pages' forms; `receivers` are told to who sends OTLP here.
    """

    def __init__(
        self, app: ASGIApp, *, tokens: Tokens, receivers: Callable[[], Sequence[Endpoint]], any_host: bool = False
    ) -> None:
        self.app = app
        self.tokens = tokens
        self.receivers = receivers
        self.any_host = any_host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse or hand on."""
        if scope["type"] == "http":
            headers = Headers(scope=scope)
            refusal = self._refusal(scope["method"], scope["path"], headers)
            if refusal is None and scope["method"] not in READING and not _is_api(scope["path"]):
                body = await whole(receive)
                if body is None:
                    return  # the client has gone: half a form changes nothing
                receive = again(body, receive)
                if not self.tokens.hold(headers, body):
                    refusal = Refusal(403, "this form is out of date: load the page again")
            if refusal is not None:
                await refuse(scope, refusal)(scope, receive, send)
                return
        await self.app(scope, receive, send)

    def _refusal(self, method: str, path: str, headers: Headers) -> Refusal | None:
        if not self.any_host and not is_local(headers.get("host", "")):
            return Refusal(421, "this collector answers to localhost only (serve --insecure lifts that)")
        if method in READING:
            return None
        if is_foreign(headers):
            return Refusal(403, "another site may change nothing here")
        if path in OTLP_PATHS or not (_is_json(headers) if _is_api(path) else is_form(headers)):
            return Refusal(415, self._meant(path))
        length = headers.get("content-length", "0")
        if "transfer-encoding" in headers or not length.isdecimal():
            return Refusal(411, "the request must say how long its body is")
        most = MAX_SCORES if path in SCORES else MAX_BODY
        return Refusal(413, f"the body is larger than {most} bytes") if int(length[:20]) > most else None

    def _meant(self, path: str) -> str:
        if path not in OTLP_PATHS:
            return JSON_ONLY if _is_api(path) else FORMS_ONLY
        urls = [f"{one.url}{path}" for one in self.receivers() if one.protocol == OTLP_HTTP]
        return f"this is the port of API and pages; OTLP/HTTP is at {(*urls, 'another, 4318')[0]}"


async def whole(receive: Receive) -> bytes | None:
    """The body of a request, None where the client has gone; the server cuts it at its content-length, checked here."""
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return b"".join(parts)


def again(body: bytes, receive: Receive) -> Receive:
    """A body that was read is there once more for the endpoint; after it, whatever the client does."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def first() -> Message:
        return messages.pop() if messages else await receive()

    return first


def _is_api(path: str) -> bool:
    return path.startswith("/api/") or path == MCP or path in SCORES


def _is_json(headers: Headers) -> bool:
    return headers.get("content-type", "").partition(";")[0].strip().lower() == "application/json"
