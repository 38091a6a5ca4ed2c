"""Inserts into the embedded engine whose data it reads piece by piece, without a file between."""

from __future__ import annotations

import os
import queue
import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from chdb.state.sqlitelike import Connection

_CODE: Final = re.compile(r"Code: (\d+)")


class InsertStreams:
    """Connections of the engine of this process for inserts, which the driver's clients cannot stream. Thread-safe."""

    def __init__(self, path: str) -> None:
        """`path`: the folder of the engine, which runs already."""
        self._path = os.path.realpath(path)
        self._idle: queue.LifoQueue[Connection] = queue.LifoQueue()

    def insert(self, into: str, pieces: Iterable[bytes]) -> None:
        """Run `INSERT INTO ...` on a Native block; returns once it is committed.

        Raises the driver's DatabaseError for what the engine says. What `pieces` raises ends the insert without a row.
        """
        connection = self._take()
        try:
            with connection.send_insert(into, "Native") as stream:
                for piece in pieces:
                    stream.append(piece)
                stream.finish()
        except BaseException as error:
            connection.close()  # it may still be within the insert
            if isinstance(error, RuntimeError):
                raise _engine_error(error) from error
            raise
        self._idle.put(connection)

    def close(self) -> None:
        """Close the connections that no insert uses."""
        while not self._idle.empty():
            self._idle.get_nowait().close()

    def _take(self) -> Connection:
        import chdb

        try:
            return self._idle.get_nowait()
        except queue.Empty:
            return chdb.connect(self._path)  # type: ignore[no-any-return, no-untyped-call]  # it has no annotations


def _engine_error(error: RuntimeError) -> Exception:
    from clickhouse_connect.driver.exceptions import DatabaseError

    text = str(error)
    code = _CODE.search(text)
    return DatabaseError(text[code.start() :] if code else text, code=int(code[1]) if code else None)
