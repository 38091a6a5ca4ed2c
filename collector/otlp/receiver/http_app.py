"""OTLP/HTTP as an ASGI application: POST /v1/traces, /v1/logs and /v1/metrics.

Bodies are decompressed as they arrive, and bounded in memory.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tracejury.collector.auth.key import KeyScope
from tracejury.collector.auth.tokens_sent import token_sent
from tracejury.collector.otlp.codec.limits import Limits
from tracejury.collector.otlp.codec.rejections import PartialSuccess
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.schemas.errors import ForbiddenError, RetryableError, UnsupportedMediaTypeError

from .decompress import CODINGS, PIECE, Decompressor
from .http_config import HttpConfig
from .inflight import InFlightRequest
from .intake import Intake
from .origins import is_foreign, is_public_name
from .status import ErrorResponse, refusal, success

TRANSPORT: Final = "http"
_ENCODINGS: Final = {encoding.media_type: encoding for encoding in Encoding}
_PATHS: Final = "OTLP/HTTP is POST " + ", ".join(f"/v1/{signal}" for signal in Signal)


def otlp_app(intake: Intake, config: HttpConfig, *, any_host: bool) -> Starlette:
    """The application; a body that arrives too slowly is refused retryably.

    `any_host` lets every name pass (a collector that was told to serve others).
    """
    app = Starlette(
        routes=[
            Route(f"/v1/{signal}", _endpoint(intake, signal, config, any_host=any_host), methods=["POST"])
            for signal in Signal
        ],
        exception_handlers={HTTPException: _no_such_thing},
    )
    app.router.redirect_slashes = False  # exporters do not follow: a path too many is told as any other
    return app


def _endpoint(
    intake: Intake, signal: Signal, config: HttpConfig, *, any_host: bool
) -> Callable[[Request], Awaitable[Response]]:
    async def export(request: Request) -> Response:
        answered = Encoding.JSON  # of a request whose own encoding we do not know
        try:
            answered = encoding = _encoding(request)
            _check_sender(request.headers, any_host=any_host or intake.keyring.asks)
            address = request.client.host if request.client else ""
            key = intake.keyring.check(token_sent(request.headers.items()), KeyScope.INGEST, address)
            receipt = await _take(intake, signal, encoding, request, config, key.project)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody hears it
        except asyncio.CancelledError:
            # The server stops. Left alone, uvicorn would answer 500, and OTLP clients drop what is answered so.
            return _refused(refusal(RetryableError("the collector is stopping: try again")), answered)
        except Exception as error:  # noqa: BLE001 - every error has a row in the table
            intake.refused(TRANSPORT, signal, error)
            return _refused(refusal(error), answered)
        return Response(success(signal, encoding, receipt), media_type=encoding.media_type)

    return export


async def _take(
    intake: Intake, signal: Signal, encoding: Encoding, request: Request, config: HttpConfig, tenant: str
) -> PartialSuccess:
    coding = _coding(request)
    announced = request.headers.get("content-length", "")
    if announced.isdecimal():
        intake.limits.check_bytes(int(announced))
    address, port = request.client or ("", 0)
    deadline = asyncio.timeout(config.read_deadline(0))
    with intake.inflight.reading(address, lambda: deadline.reschedule(0)) as held:
        try:
            async with deadline:
                chunks = _paced(request.stream(), deadline, config)
                body = await read_body(chunks, coding=coding, limits=intake.limits, request=held)
        except TimeoutError:
            held.check()
            raise RetryableError(
                f"the body did not arrive within {config.read_seconds:g} seconds, "
                f"at {config.min_bytes_per_second} bytes a second at least"
            ) from None
        held.complete()
        return await intake.take(TRANSPORT, signal, encoding, body, client=f"{address}:{port}", tenant=tenant)


async def _paced(chunks: AsyncIterator[bytes], deadline: asyncio.Timeout, config: HttpConfig) -> AsyncIterator[bytes]:
    """The chunks of a body; the more have arrived, the later is the deadline."""
    received, started = 0, asyncio.get_running_loop().time()
    async for chunk in chunks:
        received += len(chunk)
        deadline.reschedule(started + config.read_deadline(received))
        yield chunk


def _check_sender(headers: Headers, *, any_host: bool) -> None:
    if is_foreign(headers):
        raise ForbiddenError("another site may send nothing here")
    if not any_host and is_public_name(headers.get("host", "")):
        raise ForbiddenError("this collector is reached as localhost or by its address (serve --insecure lifts that)")


def _encoding(request: Request) -> Encoding:
    media = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media not in _ENCODINGS:
        raise UnsupportedMediaTypeError(f"the content type must be one of {', '.join(_ENCODINGS)}")
    return _ENCODINGS[media]


def _coding(request: Request) -> str:
    """The content coding of the body, "" for none."""
    coding = request.headers.get("content-encoding", "").strip().lower().replace("identity", "")
    if coding and coding not in CODINGS:
        raise UnsupportedMediaTypeError(f"the content encoding must be one of {', '.join(CODINGS)}, or none")
    return coding


def _refused(answer: ErrorResponse, encoding: Encoding) -> Response:
    return Response(
        answer.body(encoding),
        status_code=answer.http,
        headers=answer.headers(),
        media_type=encoding.media_type,
    )


async def _no_such_thing(_request: Request, error: Exception) -> Response:
    status = error.status_code if isinstance(error, HTTPException) else 500
    headers = error.headers if isinstance(error, HTTPException) else None
    return Response(f"{_PATHS}\n", status_code=status, headers=headers, media_type="text/plain")


async def read_body(chunks: AsyncIterator[bytes], *, coding: str, limits: Limits, request: InFlightRequest) -> bytes:
    """The whole body, decompressed (`coding` "": as it is), every piece counted in `request` as it arrives.

    Raises:
        TooLargeError: it exceeds `limits.request_bytes` after decompression.
        PermanentError: it is not of that coding, or ends early.
        OverloadedError: too much is in flight.
    """
    decompressor = Decompressor(coding) if coding else None
    pieces: list[bytes] = []
    async for chunk in chunks:
        more = decompressor.feed(chunk) if decompressor else iter((chunk,))
        piece = next(more, b"")
        while piece:
            limits.check_bytes(request.size + len(piece))
            request.grow(len(piece))
            pieces.append(piece)
            # A highly compressed body would keep others waiting.
            piece = await asyncio.to_thread(next, more, b"") if len(piece) == PIECE else next(more, b"")
    if decompressor:
        decompressor.finish()
    return b"".join(pieces)
