"""The doctor's diagnoses of new services, cached: each reads whole traces."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Final

from cachetools import TTLCache

from tracejury.collector.queries.doctor.ask import DAY, glance
from tracejury.collector.queries.present_doctor import present_diagnosis
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.wire.doctor import DiagnosisJson

from .window import MINUTE

TTL: Final = 10 * MINUTE
MAX_SERVICES: Final = 100


class DiagnosisCache:
    """Diagnoses by service, one made at a time; `clock` gives unix nanos. Any thread; blocks."""

    def __init__(self, reader: StoredReader, clock: Callable[[], int]) -> None:
        self._reader, self._clock = reader, clock
        self._lock = threading.Lock()
        self._cache: TTLCache[str, DiagnosisJson | None] = TTLCache(MAX_SERVICES, TTL, timer=clock)

    def get(self, service: str) -> DiagnosisJson | None:
        """The diagnosis by the service's latest traces, at most `TTL` old; None where it has none."""
        with self._lock:
            try:
                return self._cache[service]
            except KeyError:
                found = glance(self._reader, service, self._clock() - DAY)
                made = self._cache[service] = present_diagnosis(found) if found else None
                return made
