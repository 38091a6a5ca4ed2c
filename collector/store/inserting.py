"""Inserts of rows, with the driver's errors mapped to transient and permanent ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from tracejury.schemas.columns import Row
from tracejury.schemas.errors import RetryableError, StoreError, TracejuryError

from .client import Store
from .failures import is_transient, one_line


def insert_rows(store: Store, table: str, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows whose values are in the order of `names`. Raises the driver's errors: see `storing`."""
    columns = list(zip(*rows, strict=True))
    if columns:
        store.insert(table, names, columns)


def store_rows(store: Store, what: str, table: str, names: Sequence[str], rows: Iterable[Row]) -> None:
    """Insert rows; `what` and errors: see `storing`."""
    with storing(what):
        insert_rows(store, table, names, rows)


@contextmanager
def storing(what: str) -> Iterator[None]:
    """Map the errors of inserts; `what` names the rows in the message (plural).

    Raises:
        RetryableError: a passing failure; storing it again is safe.
        StoreError: something in it can never be stored.
    """
    try:
        yield
    except TracejuryError:
        raise
    except Exception as error:
        kind = RetryableError if is_transient(error) else StoreError
        raise kind(f"{what} cannot be stored: {one_line(error)}") from error
