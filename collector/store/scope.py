"""Reads within one tenant: every query names its tenant, and every value is a bound parameter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from .client import Store

TENANT: Final = "tenant = {tenant:String}"
"""The condition that a query must have once for each table it reads."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Reads one tenant's rows."""

    store: Store
    tenant: str = ""

    def select(self, sql: str, **parameters: Any) -> list[Sequence[Any]]:
        """The rows of a SELECT; `{name:Type}` in it are bound to `parameters`.

        Raises:
            ValueError: the query names a table without restricting it to the tenant (a mistake in our code).
            RetryableError, StoreError: the store failed.
        """
        if sql.count("FROM ") - sql.count("FROM (") != sql.count(TENANT):
            raise ValueError("a query must restrict each table it reads to the tenant")
        return self.store.rows(sql, {"tenant": self.tenant, **parameters})


class TenantRows:
    """The base of what reads and writes one tenant's rows of some tables."""

    def __init__(self, store: Store, tenant: str = "") -> None:
        self._store, self._scope = store, Scope(store, tenant)
