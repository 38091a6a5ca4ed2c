"""Classification of failed statements: transient failures of the store, and batches that cannot be stored."""

from __future__ import annotations

import re
from typing import Final

from clickhouse_connect.driver.exceptions import Error, OperationalError, ProgrammingError

from tracejury.schemas.errors import RetryableError, TracejuryError

MEMORY_LIMIT_EXCEEDED: Final = 241

_DEEPEST: Final = 10
"""Chained errors that are examined."""

TRANSIENT_CODES: Final = frozenset(
    {
        16,  # NO_SUCH_COLUMN_IN_TABLE: the schema is not the one of this version
        20,  # NUMBER_OF_COLUMNS_DOESNT_MATCH
        32,  # ATTEMPT_TO_READ_AFTER_EOF: the connection broke
        60,  # UNKNOWN_TABLE: the database is being made or mended
        74,  # CANNOT_READ_FROM_FILE_DESCRIPTOR
        75,  # CANNOT_WRITE_TO_FILE_DESCRIPTOR
        76,  # CANNOT_OPEN_FILE: for example too many open files
        81,  # UNKNOWN_DATABASE
        159,  # TIMEOUT_EXCEEDED
        160,  # TOO_SLOW
        164,  # READONLY
        173,  # CANNOT_ALLOCATE_MEMORY
        192,  # UNKNOWN_USER
        202,  # TOO_MANY_SIMULTANEOUS_QUERIES
        203,  # NO_FREE_CONNECTION
        209,  # SOCKET_TIMEOUT
        210,  # NETWORK_ERROR
        225,  # NO_ZOOKEEPER
        236,  # ABORTED
        242,  # TABLE_IS_READ_ONLY
        243,  # NOT_ENOUGH_SPACE
        252,  # TOO_MANY_PARTS
        254,  # NO_ACTIVE_REPLICAS
        265,  # NO_AVAILABLE_REPLICA
        279,  # ALL_CONNECTION_TRIES_FAILED
        285,  # TOO_FEW_LIVE_REPLICAS
        286,  # UNSATISFIED_QUORUM_FOR_PREVIOUS_WRITE
        289,  # REPLICA_IS_NOT_IN_QUORUM
        319,  # UNKNOWN_STATUS_OF_INSERT: sending it again is safe, a span is stored once
        341,  # UNFINISHED: a replica that is away has not done it yet
        369,  # ALL_REPLICAS_ARE_STALE
        394,  # QUERY_WAS_CANCELLED
        439,  # CANNOT_SCHEDULE_TASK
        473,  # DEADLOCK_AVOIDED
        497,  # ACCESS_DENIED
        516,  # AUTHENTICATION_FAILED
        519,  # NO_REMOTE_SHARD_AVAILABLE
        999,  # KEEPER_EXCEPTION
        MEMORY_LIMIT_EXCEEDED,
    }
)


DAMAGE_CODES: Final = frozenset(
    {
        32,  # ATTEMPT_TO_READ_AFTER_EOF
        33,  # CANNOT_READ_ALL_DATA
        40,  # CHECKSUM_DOESNT_MATCH
        107,  # FILE_DOESNT_EXIST
        117,  # INCORRECT_DATA
        246,  # CORRUPTED_DATA
        271,  # CANNOT_DECOMPRESS
        432,  # UNKNOWN_CODEC
        740,  # POTENTIALLY_BROKEN_DATA_PART
    }
)
"""Failures that a data part's files may be the cause of."""

_PART: Final = re.compile(r"/((?:all|[0-9a-f]{1,32})_\d{1,20}_\d{1,20}_\d{1,20}(?:_\d{1,20})?)/")


def is_transient(error: BaseException) -> bool:
    """Whether the failure is a transient one of the store (disk, memory, parts, network, schema), not of the batch.

    A ProgrammingError of the driver is about our statement or the table, never about a value.
    """
    if isinstance(error, TracejuryError):
        return isinstance(error, RetryableError)
    if damaged_part(error):
        return False
    if isinstance(error, Error):
        ours = isinstance(error, OperationalError | ProgrammingError) and error.code is None
        return ours or error.code in TRANSIENT_CODES
    return isinstance(error, OSError | MemoryError)


def is_worth_splitting(error: BaseException) -> bool:
    """Whether the same work in smaller pieces may succeed: true unless the store itself is away."""
    return not is_transient(error) or getattr(error, "code", None) == MEMORY_LIMIT_EXCEEDED


def damaged_part(error: BaseException) -> str:
    """The data part that cannot be read, where its files are the cause; else "".

    The engine's message names the part's path behind checksums and sizes.
    """
    part = _PART.search(str(error))
    return part[1] if part and getattr(error, "code", None) in DAMAGE_CODES else ""


def root_cause(error: BaseException) -> str:
    """Why a server could not be reached, as the system says it (`Connection refused`); else the error in one line."""
    inner: BaseException | None = error
    said = ""
    for _ in range(_DEEPEST):
        if inner is None:
            break
        said = (isinstance(inner, OSError) and inner.strerror) or said
        inner = inner.__cause__ or inner.__context__
    return said or one_line(error)


def one_line(error: BaseException) -> str:
    """The error as one short line of printable text, without the engine's version trailer.

    The engine quotes values, and values are whatever a client sent.
    """
    text = str(error).strip() or type(error).__name__
    line = text.splitlines()[0].split(" (version ", 1)[0][:300]
    return "".join(c if c.isprintable() else "?" for c in line)
