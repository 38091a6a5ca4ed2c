"""What belongs to an installation and is made once: a secret that tells our own judge calls from forgeries."""

from __future__ import annotations

import secrets
import time
from typing import Final

from ...schemas.errors import StoreError
from .client import Store
from .inserting import insert_rows, storing
from .scope import TENANT, Scope

KEY_BYTES: Final = 32

# What was committed first, which the clocks of two processes do not tell.
_FIRST: Final = f"SELECT Value FROM install WHERE {TENANT} AND Name = {{name:String}} ORDER BY _block_number LIMIT 1"


def mark_key(store: Store, tenant: str = "") -> bytes:
    """The installation's secret key of 32 bytes, made where there is none; every process gets the same.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    scope = Scope(store, tenant)
    rows = scope.select(_FIRST, name="mark-key")
    if not rows:
        made = (tenant, "mark-key", secrets.token_bytes(KEY_BYTES).hex(), time.time_ns())
        with storing("installation keys"):
            insert_rows(store, "install", ("tenant", "Name", "Value", "At"), [made])
        rows = scope.select(_FIRST, name="mark-key")
    if not rows:
        raise StoreError("the installation's key was stored and is not found")
    return bytes.fromhex(rows[0][0])
