"""What the doctor says of services that are new here, kept for a while: it reads whole traces."""

from __future__ import annotations

import threading
from typing import Final

from ...schemas.wire.doctor import DiagnosisJson
from ..queries.doctor.ask import DAY, glance
from ..queries.present_doctor import present_diagnosis
from ..queries.reader import Reader
from .window import MINUTE

KEPT: Final = 10 * MINUTE
"""Nanoseconds for which a diagnosis is shown again."""
MOST: Final = 100


class Glances:
    """Diagnoses by service. Any thread; blocks."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._lock = threading.Lock()
        self._kept: dict[str, tuple[int, DiagnosisJson | None]] = {}

    def at(self, service: str, now: int) -> DiagnosisJson | None:
        """The diagnosis by the service's latest traces, at most `KEPT` old; None where it has none."""
        with self._lock:
            made, kept = self._kept.get(service, (now - KEPT - 1, None))
            if now - made <= KEPT:
                return kept
            found = glance(self._reader, service, now - DAY)
            if len(self._kept) >= MOST:
                self._kept.clear()
            self._kept[service] = now, present_diagnosis(found) if found else None
            return self._kept[service][1]
