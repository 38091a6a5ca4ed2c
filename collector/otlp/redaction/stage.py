"""The stage between decoding and the sink: what follows never sees what a rule takes out."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from opentelemetry.metrics import CallbackOptions, Observation

from tracejury.collector.otlp.codec.decode import Decoded
from tracejury.collector.otlp.codec.signals import Encoding, Signal
from tracejury.collector.telemetry import Telemetry
from tracejury.processors.redact.spans import Redacted, Redactor
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import LogRecord


class RedactionStage:
    """Redacts decoded requests and counts what was redacted. Safe from several threads."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def apply(self, decoded: Decoded) -> Decoded:
        """The request as it may be stored."""
        redacted = Redacted()
        batch = self._redactor.batch(decoded.batch, redacted)
        with self._lock:
            self._counts += redacted.by_rule()
        return replace(decoded, batch=batch)

    def watch(self, telemetry: Telemetry) -> None:
        """Show the counts by rule."""
        telemetry.meter.create_observable_counter(
            "tracejury_redacted_values",
            callbacks=[self._observe],
            description="Places that were masked, hashed or dropped before storage",
        )

    def _observe(self, _options: CallbackOptions) -> list[Observation]:
        with self._lock:
            return [Observation(count, {"rule": rule}) for rule, count in self._counts.items()]


def record_redaction(redactor: Redactor | None) -> Callable[[Sequence[LogRecord]], Sequence[LogRecord]]:
    """What makes of log records that came by another way those that may be stored, in their order."""
    if redactor is None:
        return list
    return lambda records: redactor.batch(Batch(logs=records), Redacted()).logs


def note_of(signal: Signal, encoding: Encoding, body: bytes) -> bytes:
    """A note for the dead-letter folder, in place of a body that nothing could be redacted in."""
    about = {"withheld": "redaction is on, and the request could not be decoded"}
    return json.dumps({**about, "signal": signal, "encoding": encoding, "bytes": len(body)}).encode()
