"""HTTP/2 frame by frame, for what no gRPC client sends (RFC 9113, RFC 7541)."""

from __future__ import annotations

import struct
from typing import Final

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EXPORT: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
DATA, HEADERS, SETTINGS = 0, 1, 4
END_STREAM, END_HEADERS = 1, 4
HEADER_TABLE, INITIAL_WINDOW, FIRST_WINDOW = 1, 4, 65_535


def frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    """A frame (RFC 9113, section 4.1)."""
    return struct.pack(">I", len(payload))[1:] + bytes([kind, flags]) + struct.pack(">I", stream) + payload


def opening(window: int = FIRST_WINDOW) -> bytes:
    """The preface and the client's settings. `window`: bytes of a stream that the server may send.

    Without a table of headers the server writes each out, so that a test can look for it.
    """
    settings = struct.pack(">HIHI", HEADER_TABLE, 0, INITIAL_WINDOW, window)
    return PREFACE + frame(SETTINGS, 0, 0, settings)


def call(stream: int, path: str = EXPORT, encoding: str = "identity") -> bytes:
    """The head of a call, every field a literal (RFC 7541, section 6.2.2)."""
    fields = {
        ":method": "POST", ":scheme": "http", ":authority": "test", ":path": path,
        "content-type": "application/grpc", "te": "trailers", "grpc-encoding": encoding,
    }  # fmt: skip
    pieces = (text.encode() for field in fields.items() for text in field)
    literals = [bytes([len(piece)]) + piece for piece in pieces]
    block = b"".join(b"\0" + name + value for name, value in zip(literals[::2], literals[1::2], strict=True))
    return frame(HEADERS, END_HEADERS, stream, block)


def message(
    stream: int, body: bytes, *, length: int | None = None, compressed: bool = False, last: bool = False
) -> bytes:
    """A gRPC message that says it has `length` bytes, by default those of `body`."""
    prefix = struct.pack(">?I", compressed, len(body) if length is None else length)
    return frame(DATA, END_STREAM if last else 0, stream, prefix + body)
