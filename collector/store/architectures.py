"""Descriptions of services' architectures, every version there was. All of it blocks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from tracejury.schemas.llm_rows import (
    ARCHITECTURE_COLUMNS,
    ARCHITECTURE_SELECT,
    Architecture,
    Source,
    architecture_from_row,
    architecture_row,
    text_version,
)

from .client import Store
from .inserting import store_rows
from .scope import TENANT, Scope

MAX_VERSIONS: Final = 200
"""Versions of one service that are listed."""

# The last of each kind of source by service: what a person did last, and what was derived last.
_LAST: Final = f"""
SELECT {ARCHITECTURE_SELECT} FROM architectures FINAL WHERE {TENANT} AND {{where}}
ORDER BY Service, At DESC LIMIT 1 BY Service, Source = 'derived'
"""
_ONE: Final = _LAST.replace("{where}", "Service = {service:String}")
_ALL: Final = _LAST.replace("{where}", "1")

_VERSIONS: Final = f"""
SELECT {ARCHITECTURE_SELECT} FROM architectures FINAL WHERE {TENANT} AND Service = {{service:String}}
ORDER BY At DESC LIMIT {MAX_VERSIONS}
"""


class StoredArchitectures:
    """Descriptions of one tenant's services. `clock` gives unix nanos."""

    def __init__(self, store: Store, tenant: str = "", *, clock: Callable[[], int] = time.time_ns) -> None:
        self._store, self._scope, self._clock = store, Scope(store, tenant), clock

    def current(self, service: str) -> Architecture | None:
        """The one that holds: the last edited one unless it was cleared, else the last derived one."""
        last = self._last(service)
        edited = last.get(Source.EDITED)
        return edited or last.get(Source.DERIVED)

    def all_current(self) -> list[Architecture]:
        """The one that holds of each service, by name of service."""
        holding: dict[str, Architecture] = {}
        for row in self._scope.select(_ALL):
            found = architecture_from_row(row)
            if found.source is Source.EDITED or (found.source is Source.DERIVED and found.service not in holding):
                holding[found.service] = found
        return list(holding.values())

    def versions(self, service: str) -> list[Architecture]:
        """The versions that were derived, edited and cleared, latest first; at most `MAX_VERSIONS`."""
        return [architecture_from_row(row) for row in self._scope.select(_VERSIONS, service=service)]

    def keep(self, service: str, text: str, source: Source) -> Architecture:
        """Keep a version; nothing is written where the last of its source is the same.

        Raises:
            RetryableError, StoreError: the store failed.
        """
        same = self._last(service).get(source)
        if same is not None and same.text == text:
            return same
        return self._write(service, text, source)

    def clear_edit(self, service: str) -> bool:
        """Let the derived one hold again; whether there was an edited one."""
        if Source.EDITED not in self._last(service):
            return False
        self._write(service, "", Source.CLEARED)
        return True

    def _last(self, service: str) -> dict[Source, Architecture]:
        found = (architecture_from_row(row) for row in self._scope.select(_ONE, service=service))
        return {a.source: a for a in found}

    def _write(self, service: str, text: str, source: Source) -> Architecture:
        kept = Architecture(service, text_version(text), source, text, self._clock())
        rows = [architecture_row(kept, self._scope.tenant)]
        store_rows(self._store, "architectures", "architectures", ARCHITECTURE_COLUMNS, rows)
        return kept
