"""Rows as bytes: JSON lines, or Parquet with a row group at a time."""

from __future__ import annotations

import importlib.util
import io
import types
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final, Union, get_args, get_origin, get_type_hints

import orjson

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.text.jsontext import bytes_of
from tracejury.schemas.wire.base import WireModel

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_BYTES: Final = 16 * 1024 * 1024
"""JSON text of the rows in one row group of Parquet: what is held while it is written."""


def json_lines(rows: Iterable[WireModel]) -> Iterator[bytes]:
    """A line a row."""
    for row in rows:
        yield bytes_of(row) + b"\n"


def need_parquet() -> None:
    """Raises ConfigError, one line, where Parquet cannot be written."""
    if importlib.util.find_spec("pyarrow") is None:
        raise ConfigError("Parquet needs pyarrow: pip install 'tracejury[embedded]' (or export JSON lines)")


def parquet(rows: Iterable[WireModel], shape: type[WireModel]) -> Iterator[bytes]:
    """A Parquet file, in pieces. `shape`: the model of a row, from which the columns follow, whatever the rows.

    Raises:
        ConfigError: pyarrow is missing.
    """
    need_parquet()
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema(_fields(shape))
    sink = _Sink()
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        group: list[Any] = []
        size = 0
        for row in rows:
            text = bytes_of(row)
            group.append(orjson.loads(text))  # as JSON has it: no lone surrogate, which Arrow cannot write
            size += len(text)
            if size >= GROUP_BYTES:
                writer.write_table(pa.Table.from_pylist(group, schema))
                group, size = [], 0
                yield sink.taken()
        if group:
            writer.write_table(pa.Table.from_pylist(group, schema))
    yield sink.taken()


def arrow_type(hint: Any) -> pa.DataType:
    """The column type of a JSON type; every one may be null."""
    import pyarrow as pa

    plain = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
    if hint in plain:
        return plain[hint]
    if get_origin(hint) is list:
        return pa.list_(arrow_type(get_args(hint)[0]))
    if get_origin(hint) in (Union, types.UnionType):
        (some,) = set(get_args(hint)) - {type(None)} - ({int} if float in get_args(hint) else set())
        return arrow_type(some)
    if isinstance(hint, type) and issubclass(hint, WireModel):
        return pa.struct(_fields(hint))
    raise TypeError(f"no column type for {hint}")


def _fields(model: type[WireModel]) -> list[pa.Field]:
    import pyarrow as pa

    hints = get_type_hints(model)
    return [pa.field(name, arrow_type(hints[name])) for name in model.model_fields]


class _Sink(io.RawIOBase):
    """A file that is written once, from its beginning to its end, and taken in pieces."""

    def __init__(self) -> None:
        super().__init__()
        self._pieces: list[bytes] = []
        self._at = 0

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        piece = bytes(data)
        self._pieces.append(piece)
        self._at += len(piece)
        return len(piece)

    def tell(self) -> int:
        return self._at

    def taken(self) -> bytes:
        """The bytes that were written since the last call."""
        pieces, self._pieces = self._pieces, []
        return b"".join(pieces)
