"""The number of values in a JSON text, before it is parsed: parsed, an empty object of three bytes takes some 70.

A value is counted by the bracket that opens it or by the comma before it; those within strings do not count.
"""

from __future__ import annotations

from typing import Final

_PIECE: Final = 256 * 1024  # bytes: other threads run between two pieces
_BRACKETS: Final = (b"{", b"[", b",")


def count_values(body: bytes, most: int, piece: int = _PIECE) -> int:
    """Values in `body`; counting ends once there are more than `most`. A text that is no JSON has any count."""
    if len(body) <= most:
        return len(body)  # a value takes a byte at least
    upper = sum(_count(body[at : at + piece]) for at in range(0, len(body), piece))
    return upper if upper <= most else _count_outside_strings(body, most, piece)


def _count(text: bytes) -> int:
    return sum(map(text.count, _BRACKETS))


def _count_outside_strings(body: bytes, most: int, size: int) -> int:
    count, quoted, held = 0, False, b""
    for at in range(0, len(body), size):
        piece = held + body[at : at + size]
        # A backslash that begins an escape stays with the byte that it escapes.
        held = b"\\" if (len(piece) - len(piece.rstrip(b"\\"))) % 2 else b""
        piece = piece.removesuffix(held).replace(rb"\\", b"").replace(rb"\"", b"")
        parts = piece.split(b'"')
        count += _count(b"".join(parts[quoted::2]))
        quoted ^= len(parts) % 2 == 0
        if count > most:
            break
    return count
