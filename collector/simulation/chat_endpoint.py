"""An agent behind an OpenAI-compatible chat endpoint."""

from __future__ import annotations

from typing import Final

import httpx
import orjson
from opentelemetry.baggage.propagation import W3CBaggagePropagator
from opentelemetry.propagators.composite import CompositePropagator
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from tracejury.schemas.errors import ConfigError

from .talking_agent import MOST_ANSWERED, ChatMessages, UnansweredError, text_of

_CONTEXT: Final = CompositePropagator([TraceContextTextMapPropagator(), W3CBaggagePropagator()])
_QUOTED: Final = 200  # bytes of a refusal


class ChatEndpoint:
    """POST {url}/chat/completions with the messages so far; `model` and `key` are sent where they are given.

    Raises:
        ConfigError: it names no host.
    """

    def __init__(self, url: str, model: str = "", key: str = "") -> None:
        self._url = httpx.URL(f"{url.rstrip('/')}/chat/completions")
        if not self._url.host:
            raise ConfigError(f"--agent: {url[:100]!r} names no host")
        self._body = {"model": model} if model else {}
        self._headers = {"accept-encoding": "identity"} | ({"authorization": f"Bearer {key}"} if key else {})
        # The player limits the time of an answer as a whole.
        self._http = httpx.AsyncClient(timeout=None)  # noqa: S113

    async def answer(self, messages: ChatMessages) -> str:
        """See `TalkingAgent`. Raises httpx.HTTPError, too."""
        headers = dict(self._headers)
        _CONTEXT.inject(headers)
        body = {**self._body, "messages": list(messages)}
        read = bytearray()
        async with self._http.stream("POST", self._url, json=body, headers=headers) as reply:
            async for piece in reply.aiter_raw():
                read += piece
                if len(read) > MOST_ANSWERED:
                    raise UnansweredError(f"the reply is longer than {MOST_ANSWERED:,} bytes")
        if not reply.is_success:
            raise UnansweredError(f"HTTP {reply.status_code}: {read[:_QUOTED].decode(errors='replace')}")
        try:
            message = orjson.loads(read)["choices"][0]["message"]
        except (ValueError, LookupError, TypeError) as error:
            raise UnansweredError("the reply is no chat completion (choices[0].message)") from error
        return text_of(message)
