"""Reading blocks of ClickHouse's Native format as `NativeBlock` writes them.

Format: https://clickhouse.com/docs/interfaces/formats/Native.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Final

from .native import NUMBERS

Values = tuple[list[Any], int]
Read = Callable[[bytes, int, int], Values]
"""Reads so many values of a column from a place of a block; gives them and the place behind them."""

_MORE: Final = 0x80  # the bit of a byte that another byte of the number follows
_KIND: Final = re.compile(r"(\w+)(?:\((.*)\))?")


def read_blocks(data: bytes) -> Iterator[dict[str, list[Any]]]:
    """The columns of each block by name; times as ticks. Raises IndexError, ValueError: it is not as we write it."""
    at = 0
    while at < len(data):
        columns, at = _varint(data, at)
        rows, at = _varint(data, at)
        block = dict[str, list[Any]]()
        for _ in range(columns):
            (name, kind), at = _strings(data, at, 2)
            block[name], at = _reader(kind)(data, at, rows)
        yield block
    if at != len(data):
        raise ValueError("a block ends in the middle")


@cache
def _reader(kind: str) -> Read:
    found = _KIND.fullmatch(kind)
    name, inner = found.groups("") if found else ("", "")
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name == "FixedString":
        return _fixed(int(inner))
    if name in _OF_OTHERS:
        return _OF_OTHERS[name](_reader(inner))
    if name == "Map":
        keys, values = inner.split(", ", 1)
        return _maps(_repeated if keys == "String" else _reader(keys), _reader(values))
    raise ValueError(f"no column of type {kind} can be read")


def _varint(data: bytes, at: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[at]
        at += 1
        number |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return number, at
        shift += 7


def _strings(data: bytes, at: int, count: int) -> Values:
    found = list[str]()
    add = found.append
    for _ in range(count):
        size = data[at]
        at += 1
        if size >= _MORE:  # most are shorter: a call for each would take half of the time
            size, at = _varint(data, at - 1)
        end = at + size
        add(data[at:end].decode())
        at = end
    return found, at


def _repeated(data: bytes, at: int, count: int) -> Values:
    """Texts of which most are equal, as keys are: each is decoded, and kept in memory, once."""
    found, known = list[str](), dict[bytes, str]()
    for _ in range(count):
        size, at = (data[at], at + 1) if data[at] < _MORE else _varint(data, at)
        raw = data[at : at + size]
        at += size
        text = known.get(raw)
        if text is None:
            text = known[raw] = raw.decode()
        found.append(text)
    return found, at


def _numbers(code: str) -> Read:
    width = array(code).itemsize

    def read(data: bytes, at: int, count: int) -> Values:
        numbers = array(code, data[at : at + width * count])
        if sys.byteorder == "big":
            numbers.byteswap()
        return numbers.tolist(), at + width * count

    return read


_ends: Final = _numbers("Q")


def _fixed(size: int) -> Read:
    def read(data: bytes, at: int, count: int) -> Values:
        end = at + size * count
        return [data[start : start + size] for start in range(at, end, size)], end

    return read


def _nullable(values: Read) -> Read:
    def read(data: bytes, at: int, count: int) -> Values:
        missing = data[at : at + count]
        found, at = values(data, at + count, count)
        return [None if gone else value for gone, value in zip(missing, found, strict=True)], at

    return read


def _arrays(items: Read) -> Read:
    def read(data: bytes, at: int, count: int) -> Values:
        ends, at = _ends(data, at, count)
        found, at = items(data, at, ends[-1] if ends else 0)
        return [found[start:end] for start, end in zip([0, *ends], ends, strict=False)], at

    return read


def _maps(keys: Read, values: Read) -> Read:
    def read(data: bytes, at: int, count: int) -> Values:
        ends, at = _ends(data, at, count)
        total = ends[-1] if ends else 0
        names, at = keys(data, at, total)
        found, at = values(data, at, total)
        pairs = list(zip(names, found, strict=True))
        return [dict(pairs[start:end]) for start, end in zip([0, *ends], ends, strict=False)], at

    return read


_SIMPLE: Final[Mapping[str, Read]] = {
    "String": _strings,
    "Bool": lambda data, at, count: (list(map(bool, data[at : at + count])), at + count),
    **{kind: _numbers(code) for kind, code in NUMBERS.items()},
}
_OF_OTHERS: Final[Mapping[str, Callable[[Read], Read]]] = {"Array": _arrays, "Nullable": _nullable}
