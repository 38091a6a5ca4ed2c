"""The number of messages in a request, before it is parsed.

Parsed, an empty span of two bytes takes some hundred: a request of 64 MiB would take 6 GB. So the wire format is
walked first, without building anything. Rules: protobuf.dev, "Encoding".
"""

from __future__ import annotations

from functools import cache
from typing import Final, TypeAlias

from google.protobuf.descriptor import Descriptor, FieldDescriptor

Counted: TypeAlias = "dict[int, Counted]"
"""The fields that count, by tag, with those that count within them."""

LEAST_BYTES: Final = 2
"""Bytes of the smallest message within another: its tag and its length."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_VARINT_BYTES: Final = 10
_FIXED: Final = {_FIXED64: 8, _FIXED32: 4}
_DEEPEST: Final = 110  # protobuf's own parser refuses more than 100 levels
_MORE: Final = 0x80  # the bit of a byte that another byte of the number follows
_TAG: Final = 2**32 - 1


@cache
def items_of(descriptor: Descriptor, *levels: str) -> Counted:
    """The messages that count as items: the messages in the named fields, each within the one before."""
    return _within(descriptor, levels)


@cache
def values_of(descriptor: Descriptor) -> Counted:
    """The fields that count as values: every message, and every string of a list."""
    return _all(descriptor, {})


def count_messages(body: bytes, counted: Counted, most: int) -> int:
    """Messages in the fields that count; counting ends once there are more than `most`.

    Bytes that are no protobuf end the count without an error: the parser that comes next refuses them.
    """
    try:
        return _count(body, counted, most)
    except IndexError:
        return 0


def _count(body: bytes, counted: Counted, most: int) -> int:
    count, at, end = 0, 0, len(body)
    around: list[tuple[int, Counted]] = []  # the end of each message around this one, and what counts there
    while count <= most:
        while at >= end:
            if at > end or not around:
                return count
            end, counted = around.pop()
        tag, at = body[at], at + 1
        if tag >= _MORE:
            tag, at = _varint(body, at - 1)
        if tag & 7 != _BYTES:
            at = _skip(body, at, tag & 7)
            continue
        size, at = body[at], at + 1
        if size >= _MORE:
            size, at = _varint(body, at - 1)
        within = counted.get(tag & _TAG)
        if within is not None:
            count += 1
        if within and size and len(around) < _DEEPEST:
            around.append((end, counted))
            end, counted = at + size, within
        else:
            at += size
    return count


def _skip(body: bytes, at: int, kind: int) -> int:
    if kind == _VARINT:
        return _varint(body, at)[1]
    return at + _FIXED.get(kind, 0)  # groups, which OTLP does not use: their fields count as if they stood outside


def _varint(body: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 7 * _VARINT_BYTES, 7):
        byte = body[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < _MORE:
            return value, at
    raise IndexError("a number without an end")


def _within(descriptor: Descriptor | None, levels: tuple[str, ...]) -> Counted:
    if descriptor is None or not levels:
        return {}
    field = descriptor.fields_by_name[levels[0]]
    return {_tag(field): _within(field.message_type, levels[1:])}


def _all(descriptor: Descriptor, known: dict[str, Counted]) -> Counted:
    if descriptor.full_name not in known:
        counted = known[descriptor.full_name] = {}
        for field in descriptor.fields:
            if field.message_type is not None:
                counted[_tag(field)] = _all(field.message_type, known)
            elif field.is_repeated and field.type in (FieldDescriptor.TYPE_STRING, FieldDescriptor.TYPE_BYTES):
                counted[_tag(field)] = {}
    return known[descriptor.full_name]


def _tag(field: FieldDescriptor) -> int:
    return field.number << 3 | _BYTES
