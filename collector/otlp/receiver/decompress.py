"""The content codings of HTTP bodies (RFC 9110: gzip, deflate; RFC 8878: zstd), decompressed piece by piece.

A body may hold several gzip members or zstd frames one after the other. deflate is the zlib format (RFC 1950), of which
there is one stream. A zstd window is at most 8 MiB (RFC 9659), so that a frame's head cannot claim memory.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Final, Protocol

from tracejury.schemas.errors import PermanentError

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PIECE: Final = 1 << 20
"""The most bytes that are decompressed at one time."""

_LARGEST_WINDOW: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}


class _Stream(Protocol):
    """One compressed stream: a gzip member, a zlib stream, a zstd frame."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def decompress(self, data: bytes, max_length: int, /) -> bytes: ...


_STREAMS: Final[Mapping[str, Callable[[], _Stream]]] = {
    "gzip": lambda: zlib.decompressobj(16 + zlib.MAX_WBITS),
    "deflate": zlib.decompressobj,
    "zstd": lambda: zstd.ZstdDecompressor(options=_LARGEST_WINDOW),
}
CODINGS: Final = tuple(_STREAMS)
"""The content codings that are accepted."""


class Decompressor:
    """Decompresses a body of one of `CODINGS`."""

    def __init__(self, coding: str) -> None:
        self._coding = coding
        self._new = _STREAMS[coding]
        self._stream: _Stream | None = None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """The decompressed pieces of `data`, each at most `PIECE` bytes. Raises PermanentError where it is broken."""
        while data:
            if self._stream is None or self._stream.eof:
                if self._stream is not None:
                    data = self._after_end(data)
                    if not data:
                        return
                self._stream = self._new()
            stream, piece = self._stream, b"more"
            while piece and not stream.eof:
                try:
                    piece = stream.decompress(data, PIECE)
                except (zlib.error, zstd.ZstdError):
                    raise self._broken() from None
                # zlib hands back what it has not read yet; zstd keeps it.
                data = getattr(stream, "unconsumed_tail", b"")
                if piece:
                    yield piece
            data = stream.unused_data

    def finish(self) -> None:
        """Raises PermanentError where the last stream has no end."""
        if self._stream is None or not self._stream.eof:
            raise PermanentError(f"the {self._coding} body ends early")

    def _after_end(self, data: bytes) -> bytes:
        if self._coding == "deflate":
            raise self._broken()
        return data.lstrip(b"\0") if self._coding == "gzip" else data  # gzip allows padding after a member

    def _broken(self) -> PermanentError:
        what = {"deflate": "deflate (the zlib format)", "zstd": "zstd with a window of at most 8 MiB"}
        return PermanentError(
            f"the body is not {what.get(self._coding, self._coding)}, though its Content-Encoding says so"
        )
