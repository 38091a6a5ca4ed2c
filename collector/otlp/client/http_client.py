"""OTLP over HTTP, as protobuf or JSON, from the client's side."""

from __future__ import annotations

import asyncio
import gzip
import ssl
import time
from typing import Final

import httpx
from google.protobuf.message import DecodeError
from google.rpc.status_pb2 import Status

from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding
from tracejury.collector.worker.retry import retry_after
from tracejury.schemas.errors import PermanentError, RetryableError

from .backend_connection import BackendConnection
from .client import MAX_ANSWER, EndpointError, parsed, partial_success
from .export_request import ExportRequest

_RETRYABLE: Final = frozenset({429, 502, 503, 504})
"""OTLP specification, "OTLP/HTTP Response": retryable response codes."""

_OF_ENDPOINT: Final = frozenset({401, 402, 403, 404, 405, 407, 415, 501})

LONGEST_ASKED: Final = 86_400.0
"""Seconds that a Retry-After header may ask for, at most."""

_FAST: Final = 1
"""Compression level: less than half the time of the default one, for 40 % more bytes (measured on traces)."""


class HttpClient:
    """An `OtlpClient` over OTLP/HTTP; annotations for Phoenix go as JSON beside it."""

    def __init__(self, connection: BackendConnection) -> None:
        self._connection = connection
        headers = {"user-agent": "tracejury", **connection.headers}
        self._client = httpx.AsyncClient(timeout=connection.timeout, verify=_context(connection), headers=headers)

    async def send(self, request: ExportRequest) -> PartialSuccess:
        """See `OtlpClient`."""
        body, headers, timeout = request.body, {"content-type": request.encoding.media_type}, self._connection.timeout
        if self._connection.gzip and request.compressible:
            body = await asyncio.to_thread(gzip.compress, body, _FAST)
            headers["content-encoding"] = "gzip"
        url = f"{self._connection.endpoint}/v1/{request.signal}"
        try:
            async with (
                asyncio.timeout(timeout),
                self._client.stream("POST", url, content=body, headers=headers) as response,
            ):
                answer = await _read(response)
        except TimeoutError:
            raise RetryableError(f"no answer within {timeout:g} s", retry_after=0.0) from None
        except httpx.RemoteProtocolError as error:
            raise RetryableError(f"the answer is no HTTP ({error}): is this the gRPC port?", retry_after=0.0) from None
        except (httpx.HTTPError, OSError) as error:  # the latter: TLS that breaks in the middle
            raise RetryableError(f"{type(error).__name__}: {error}", retry_after=0.0) from None
        _raise_for_status(response, answer)
        return partial_success(request, answer, json=_is_json(response))

    async def close(self) -> None:
        """See `OtlpClient`."""
        await self._client.aclose()


def _raise_for_status(response: httpx.Response, answer: bytes) -> None:
    """Raise the meaning of any status but success; an HTML page is no answer to OTLP, whatever its status."""
    status = response.status_code
    if response.is_success:
        if response.headers.get("content-type", "").startswith("text/html"):
            raise EndpointError("it answers with a web page: is this the address of its OTLP endpoint?")
        return
    text = f"HTTP {status}: {_reason(response, answer) or response.reason_phrase}"
    if status in _RETRYABLE:
        asked = retry_after(response.headers.get("retry-after", ""), time.time(), LONGEST_ASKED)
        raise RetryableError(text, retry_after=asked or 0.0)
    if status in _OF_ENDPOINT or response.is_redirect:
        raise EndpointError(text)
    raise PermanentError(text)


async def _read(response: httpx.Response) -> bytes:
    answer = b""
    async for piece in response.aiter_bytes():
        answer += piece
        if len(answer) > MAX_ANSWER:
            break
    return answer[:MAX_ANSWER]


def _reason(response: httpx.Response, answer: bytes) -> str:
    """The message of the `google.rpc.Status` that the protocol puts into a refusal."""
    json = _is_json(response)
    if not json and not response.headers.get("content-type", "").startswith(Encoding.PROTOBUF.media_type):
        return ""
    try:
        return str(parsed(Status(), answer, json=json).message)
    except DecodeError:
        return ""


def _is_json(response: httpx.Response) -> bool:
    return str(response.headers.get("content-type", "")).startswith(Encoding.JSON.media_type)


def _context(connection: BackendConnection) -> ssl.SSLContext:
    if connection.endpoint.startswith("http://"):
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # never used: reading certificates takes longer than a request
    context = ssl.create_default_context(cadata=connection.ca.decode() if connection.ca else None)
    if connection.certificate is not None:
        context.load_cert_chain(*connection.certificate)
    return context
