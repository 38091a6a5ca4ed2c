"""Stored receipts of deletions."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.receipts import RECEIPTS, DeletionReceipt

from .inserting import store_rows
from .scope import TENANT, TenantRows

_LATEST: Final = f"""
SELECT {RECEIPTS.select} FROM receipts FINAL WHERE {TENANT} ORDER BY At DESC, Id LIMIT {{limit:UInt64}}
"""


class StoredReceipts(TenantRows):
    """One tenant's receipts. Raises RetryableError, StoreError."""

    def keep(self, receipt: DeletionReceipt) -> None:
        """Keep it, for good."""
        store_rows(self._store, "receipts", "receipts", RECEIPTS.names, [RECEIPTS.row(receipt)])

    def latest(self, limit: int) -> list[DeletionReceipt]:
        """The latest first."""
        return list(map(RECEIPTS.read, self._scope.select(_LATEST, limit=limit)))
