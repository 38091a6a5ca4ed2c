"""Which failures pass, and which are worth smaller pieces."""

from __future__ import annotations

import pytest
from clickhouse_connect.driver.exceptions import DatabaseError, DataError, OperationalError, ProgrammingError

from tracejury.collector.store.failures import damaged_part, is_transient, is_worth_splitting, one_line


@pytest.mark.parametrize(
    ("error", "passing", "splitting"),
    [
        (DatabaseError("not enough space", code=243), True, False),
        (DatabaseError("too many parts", code=252), True, False),
        (DatabaseError("no such table", code=60), True, False),
        (DatabaseError("a replica is away", code=341), True, False),
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


@pytest.mark.parametrize(
    ("code", "text", "part"),
    [
        (40, "Checksum doesn't match: While reading /a/store/789/7-4/20261116_3_3_1/data.bin", "20261116_3_3_1"),
        (32, "Attempt to read after eof: /store/1cb/1-2/all_1_20_3_44/data.cmrk4", "all_1_20_3_44"),
        (32, "Attempt to read after eof: /store/1cb/1-2/20261116_1_20_3_44/data.cmrk4", "20261116_1_20_3_44"),
        (32, "Attempt to read after eof: the connection broke", ""),
        (76, "Cannot open file /store/1cb/1-2/20261116_1_2_1/data.bin: too many open files", ""),
    ],
)
def test_damage(code: int, text: str, part: str) -> None:
    """The files of a part are the cause where the engine names one: then waiting does not help."""
    error = DatabaseError(f"Code: {code}. {text}", code=code)
    assert damaged_part(error) == part
    assert not (part and is_transient(error))
