"""Reading of request bodies: decompressed as they arrive, and bounded in memory."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterator, Iterator
from typing import Final

from tracejury.collector.otlp.codec.limits import Limits
from tracejury.schemas.errors import PermanentError

from .inflight import InFlightRequest

_GZIP: Final = 16 + zlib.MAX_WBITS
_PIECE: Final = 1 << 20  # bytes decompressed at one time


async def read_body(chunks: AsyncIterator[bytes], *, gzipped: bool, limits: Limits, request: InFlightRequest) -> bytes:
    """The whole body, decompressed, every piece counted in `request` as it arrives.

    Raises:
        TooLargeError: it exceeds `limits.request_bytes` after decompression.
        PermanentError: it is not gzip, or ends early.
        OverloadedError: too much is in flight.
    """
    gunzip = Gunzip() if gzipped else None
    pieces: list[bytes] = []
    async for chunk in chunks:
        more = gunzip.feed(chunk) if gunzip else iter((chunk,))
        piece = next(more, b"")
        while piece:
            limits.check_bytes(request.size + len(piece))
            request.grow(len(piece))
            pieces.append(piece)
            # A highly compressed body would keep others waiting.
            piece = await asyncio.to_thread(next, more, b"") if len(piece) == _PIECE else next(more, b"")
    if gunzip:
        gunzip.finish()
    return b"".join(pieces)


class Gunzip:
    """Decompresses gzip members one after the other, piece by piece."""

    def __init__(self) -> None:
        self._member = zlib.decompressobj(_GZIP)
        self._begun = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decompressed pieces of `data`, each at most 1 MiB. Raises PermanentError where it is not gzip."""
        while data:
            if self._member.eof:
                data = data.lstrip(b"\0")  # gzip allows padding after a member
                if not data:
                    return
                self._member = zlib.decompressobj(_GZIP)
            self._begun = True
            try:
                piece = self._member.decompress(data, _PIECE)
            except zlib.error:
                raise PermanentError("the body is not gzip, though its Content-Encoding says so") from None
            data = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if piece:
                yield piece

    def finish(self) -> None:
        """Raises PermanentError where the last member has no end."""
        if not self._begun or not self._member.eof:
            raise PermanentError("the gzip body ends early")
