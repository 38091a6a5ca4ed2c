"""Which failures pass, and which are worth smaller pieces."""

from __future__ import annotations

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, DataError, OperationalError, ProgrammingError

from tracejury.collector.store.failures import is_transient, is_worth_splitting, one_line


@pytest.mark.parametrize(
    ("error", "passing", "splitting"),
    [
        (DatabaseError("not enough space", code=243), True, False),
        (DatabaseError("too many parts", code=252), True, False),
        (DatabaseError("no such table", code=60), True, False),
        (DatabaseError("memory limit", code=241), True, True),
        (OperationalError("connection refused"), True, False),
        (OSError(28, "No space left on device"), True, False),
        (ConnectionResetError("reset"), True, False),
        (MemoryError(), True, False),
        (DatabaseError("incorrect data", code=117), False, True),
        (OperationalError("incorrect data", code=117), False, True),
        (DatabaseError("unknown"), False, True),
        (DataError("out of range"), False, True),
        (ProgrammingError("no such column"), True, False),
        (DatabaseError("no such column", code=16), True, False),
        (UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogates not allowed"), False, True),
        (ValueError("strange"), False, True),
    ],
)
def test_kinds(error: Exception, *, passing: bool, splitting: bool) -> None:
    """The store's own state (disk, parts, network, memory) passes; the rest is the batch's."""
    assert is_transient(error) == passing
    assert is_worth_splitting(error) == splitting


def test_one_line() -> None:
    """A message for people: the first line, without the engine's version, of bounded length."""
    assert one_line(DatabaseError("Code: 60. No table. (UNKNOWN_TABLE) (version 26.9 (official build))\nstack")) == (
        "Code: 60. No table. (UNKNOWN_TABLE)"
    )
    assert one_line(ValueError()) == "ValueError"
    assert one_line(ValueError("bad value \x1b[31m\x07 in it")) == "bad value ?[31m? in it"
    assert len(one_line(ValueError("x" * 1000))) == 300
