"""The number of messages in a request, before it is parsed.

Parsed, an empty span of two bytes takes some hundred: a request of 64 MiB would take 6 GB. The three OTLP requests
agree in their first levels: groups by resource (field 1), groups by scope (2), spans, log records or metrics (2).
Rules: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

_LEVELS: Final = (1, 2, 2)
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VARINT_BYTES: Final = 10
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}


def count_messages(body: bytes, most: int) -> int:
    """Groups and items together; counting ends once there are more than `most`.

    Bytes that are no protobuf end the count without an error: the parser that comes next refuses them.
    """
    count = 0
    stack = [_children(body, 0, len(body), _LEVELS[0])]
    while stack and count <= most:
        found = next(stack[-1], None)
        if found is None:
            stack.pop()
            continue
        count += 1
        if len(stack) < len(_LEVELS):
            stack.append(_children(body, *found, _LEVELS[len(stack)]))
    return count


def _children(body: bytes, at: int, end: int, field: int) -> Iterator[tuple[int, int]]:
    """Where the messages in one field begin and end."""
    try:
        while at < end:
            tag, at = _varint(body, at)
            kind = tag & 7
            if kind == _BYTES:
                size, at = _varint(body, at)
                if at + size > end:
                    return
                if tag >> 3 == field:
                    yield at, at + size
                at += size
            elif kind == _VARINT:
                _, at = _varint(body, at)
            elif kind in _FIXED:
                at += _FIXED[kind]
            else:
                return
    except IndexError:
        return


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _VARINT_BYTES, 7):
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:  # noqa: PLR2004 - the continuation bit
            return value, at
    raise IndexError("a number without an end")
