"""What a collector stores of a trace, as it came."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tracejury.collector.api.client import ApiClient
    from tracejury.schemas.batch import Batch


def received(client: ApiClient, trace_id: str, *, events: bool = True) -> Iterator[Batch]:
    """The spans and log records of a trace. Raises NotFoundError. `events`: as `decode` takes it."""
    from tracejury.collector.otlp.codec.decode import decode
    from tracejury.collector.otlp.codec.signals import Encoding, Signal

    for line in b"".join(client.received(trace_id)).splitlines():
        signal = Signal.LOGS if line.startswith(b'{"resourceLogs"') else Signal.TRACES
        yield decode(signal, Encoding.JSON, line, received_at=1, events=events).batch
