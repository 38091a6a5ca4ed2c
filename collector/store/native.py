"""Rows as one block of ClickHouse's Native format, written column by column.

Format: https://clickhouse.com/docs/interfaces/formats/Native. Columns of low cardinality are sent as plain strings and
times as their ticks: the engine turns them into the table's types, which costs it less than it would cost Python.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, chain, islice
from typing import Any, Final

Write = Callable[[Sequence[Any]], Iterator[bytes]]
"""Gives the bytes of a column's values, piece by piece."""

_PLAIN: Final = re.compile(r"(LowCardinality|SimpleAggregateFunction)\((?:\w+, )?(.+)\)")
_SLICE: Final = 256
"""Texts that are encoded at a time: the next ones use their memory again, which is faster than fresh memory."""
_PIECE_BYTES: Final = 1 << 22
"""Whoever sends a piece gives up the interpreter, and waits up to a millisecond to have it again: with sixteen times as
many pieces a seventh fewer spans a second were acknowledged."""
_SHORT_BYTES: Final = 1 << 14
NUMBERS: Final[Mapping[str, str]] = {
    "UInt8": "B",
    "UInt32": "I",
    "UInt64": "Q",
    "Int32": "i",
    "Int64": "q",
    "Float64": "d",
    "DateTime64": "q",
}
"""Types of numbers, with their codes in arrays."""
_MORE: Final = 0x80  # the bit of a byte that another byte of the number follows


class NativeBlock:
    """Writes blocks of the same columns; safe from several threads."""

    def __init__(self, names: Sequence[str], types: Sequence[str]) -> None:
        """`types`: the table's, as `system.columns` has them. Raises ValueError for one that cannot be written."""
        self._columns: list[tuple[bytes, Write]] = []
        for name, stored in zip(names, types, strict=True):
            sent, write = _writer(stored)
            self._columns.append((_text(name) + _text(sent), write))

    def pieces(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        """A block of rows that are given by column, in pieces to be sent one after the other.

        Raises OverflowError, TypeError or ValueError for what its column cannot hold, also a text that is no UTF-8.
        """
        waiting, size = list[bytes](), 0
        for piece in self._pieces(columns):
            waiting.append(piece)
            size += len(piece)
            if size >= _PIECE_BYTES:
                yield b"".join(waiting)
                waiting, size = [], 0
        yield b"".join(waiting)

    def _pieces(self, columns: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        yield _varint(len(columns)) + _varint(len(columns[0]))
        for (header, write), values in zip(self._columns, columns, strict=True):
            if len(values) != len(columns[0]):
                raise ValueError("columns of one block have the same length")
            yield header
            yield from write(values)


def _writer(stored: str) -> tuple[str, Write]:
    """The type in which a column is sent, and how it is written."""
    if plain := _PLAIN.fullmatch(stored):
        inside, write = _writer(plain[2])
        return inside, _repeated if plain[1] == "LowCardinality" and write is _strings else write
    kind, _, inner = stored.removesuffix(")").partition("(")
    if kind in _SIMPLE:
        return stored, _SIMPLE[kind]
    if kind == "FixedString":
        return stored, _fixed(int(inner))
    if kind in _OF_OTHERS:
        sent, writes = zip(*map(_writer, inner.split(", ", 1) if kind == "Map" else [inner]), strict=True)
        return f"{kind}({', '.join(sent)})", _OF_OTHERS[kind](*writes)
    raise ValueError(f"no column of type {stored} can be written")


def _varint(number: int) -> bytes:
    found = bytearray()
    while number >= _MORE:
        found.append(number % _MORE | _MORE)
        number //= _MORE
    found.append(number)
    return bytes(found)


_SHORT: Final = tuple(map(_varint, range(_SHORT_BYTES)))


def _text(text: str) -> bytes:
    raw = text.encode()
    return _varint(len(raw)) + raw


def _strings(values: Iterable[str]) -> Iterator[bytes]:
    rest = iter(values)
    while raw := [text.encode() for text in islice(rest, _SLICE)]:
        pieces = [b""] * (2 * len(raw))
        pieces[::2] = [_SHORT[size] if size < _SHORT_BYTES else _varint(size) for size in map(len, raw)]
        pieces[1::2] = raw
        yield b"".join(pieces)


def _repeated(values: Sequence[str]) -> Iterator[bytes]:
    """Texts of which most are equal, as a column of low cardinality has them: each is encoded once."""
    encoded = {text: _text(text) for text in set(values)}
    yield b"".join([encoded[text] for text in values])


def _numbers(code: str) -> Write:
    def write(values: Sequence[Any]) -> Iterator[bytes]:
        numbers = array(code, values)
        if sys.byteorder == "big":
            numbers.byteswap()
        yield numbers.tobytes()

    return write


_ends: Final = _numbers("Q")


def _sizes(items: Sequence[Sequence[Any]]) -> Iterator[bytes]:
    """Where each row's items end."""
    return _ends(list(accumulate(map(len, items))))


def _fixed(size: int) -> Write:
    def write(values: Sequence[bytes]) -> Iterator[bytes]:
        if any(len(value) != size for value in values):
            raise ValueError(f"a value is not {size} bytes long")
        yield b"".join(values)

    return write


def _nullable(write: Write) -> Write:
    empty: str | int = "" if write in {_strings, _repeated} else 0

    def nullable(values: Sequence[Any]) -> Iterator[bytes]:
        yield bytes(value is None for value in values)
        yield from write([empty if value is None else value for value in values])

    return nullable


def _arrays(write: Write) -> Write:
    def arrays(items: Sequence[Sequence[Any]]) -> Iterator[bytes]:
        yield from _sizes(items)
        yield from write(list(chain.from_iterable(items)))

    return arrays


def _maps(keys: Write, values: Write) -> Write:
    def maps(items: Sequence[Any]) -> Iterator[bytes]:
        yield from _sizes(items)
        at = list(map(id, items))
        distinct = dict(zip(at, items, strict=True))
        if 2 * len(distinct) >= len(items):
            yield from keys(list(chain.from_iterable(items)))
            yield from values(list(chain.from_iterable(item.values() for item in items)))
            return
        # Spans of one resource share its attributes, which are encoded once. All rows together may be much larger than
        # the request that they came in, so that they are never in memory at once.
        for write, part in ((keys, list), (values, lambda item: list(item.values()))):
            encoded = {known: b"".join(write(part(item))) for known, item in distinct.items()}
            rows = _PIECE_BYTES // (1 + max(map(len, encoded.values()))) or 1
            for start in range(0, len(at), rows):
                yield b"".join(map(encoded.__getitem__, at[start : start + rows]))

    return maps


_SIMPLE: Final[Mapping[str, Write]] = {
    "String": _strings,
    "Bool": _numbers("B"),
    **{kind: _numbers(code) for kind, code in NUMBERS.items()},
}
_OF_OTHERS: Final[Mapping[str, Callable[..., Write]]] = {"Array": _arrays, "Map": _maps, "Nullable": _nullable}
