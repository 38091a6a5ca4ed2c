"""Facts of an installation that are made once: its secret key, and when a webhook or a backend was first set up."""

from __future__ import annotations

import secrets
import time
from typing import Final

from tracejury.schemas.errors import StoreError

from .client import Store
from .inserting import store_rows
from .scope import TENANT, Scope

KEY_BYTES: Final = 32
_COLUMNS: Final = ("tenant", "Name", "Value", "At")

# The row committed first, which the clocks of two processes do not tell.
_FIRST: Final = (
    f"SELECT Value, At FROM install WHERE {TENANT} AND Name = {{name:String}} ORDER BY _block_number LIMIT 1"
)


def mark_key(store: Store, tenant: str = "") -> bytes:
    """The installation's secret key of 32 bytes, made where there is none.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    made = secrets.token_bytes(KEY_BYTES).hex()
    return bytes.fromhex(install_once(Scope(store, tenant), "mark-key", made, time.time_ns())[0])


def install_once(scope: Scope, name: str, value: str, at: int) -> tuple[str, int]:
    """The value and time (unix nanos) stored under `name`; the given ones are stored where there are none.

    Every process gets the same.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    rows = scope.select(_FIRST, name=name)
    if not rows:
        store_rows(scope.store, "facts of the installation", "install", _COLUMNS, [(scope.tenant, name, value, at)])
        rows = scope.select(_FIRST, name=name)
    if not rows:
        raise StoreError(f"the installation's {name!r} was stored and is not found")
    return str(rows[0][0]), int(rows[0][1])
