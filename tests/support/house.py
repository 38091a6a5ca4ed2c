"""`tracejury serve` in a process of its own, as end-to-end tests of pages use it: traces settle soon."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
from gallery import Shown
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from processes import Serving, serving

PROTOBUF = {"Content-Type": "application/x-protobuf"}
TRACES = Path(__file__).parents[3] / "shared" / "data" / "trail" / "gaia-dev" / "traces"
"""Real traces, where they are there."""
PATIENCE = 60.0
PAUSE = 0.3


@dataclass(frozen=True, slots=True)
class House:
    """A collector with what was sent to it."""

    serving: Serving
    shown: list[Shown] = field(default_factory=list)

    @property
    def url(self) -> str:
        """Of the pages."""
        return self.serving.url

    def send(self, one: Shown) -> None:
        """As a client does; it is stored when this returns, and remembered."""
        self.put(one.request)
        self.shown.append(one)

    def put(self, request: Any) -> None:
        """Send any request for traces."""
        url = f"http://127.0.0.1:{self.serving.ports['http']}/v1/traces"
        body = request.SerializeToString()
        httpx.post(url, content=body, headers=PROTOBUF, trust_env=False, timeout=30).raise_for_status()

    def traces(self, **filters: str) -> Sequence[dict[str, Any]]:
        """As the API lists them."""
        answer = httpx.get(f"{self.url}/api/traces", params={"limit": 500, **filters}, trust_env=False, timeout=30)
        items: Sequence[dict[str, Any]] = answer.json()["items"]
        return items

    def findings(self, trace_id: str) -> Sequence[dict[str, Any]]:
        """Of one trace, as the API lists them."""
        answer = httpx.get(f"{self.url}/api/traces/{trace_id}", trust_env=False, timeout=30)
        items: Sequence[dict[str, Any]] = answer.json()["findings"]
        return items

    def wait_until_settled(self, count: int) -> None:
        """Until so many traces are judged to their end."""
        deadline = time.monotonic() + PATIENCE
        while len([one for one in self.traces() if one["state"] != "open"]) < count:
            assert time.monotonic() < deadline, "judging takes too long"
            time.sleep(PAUSE)

    def trace_of(self, title: str) -> Shown:
        """The trace of an act."""
        return next(one for one in self.shown if one.act.title == title)


@contextmanager
def open_house(folder: Path, quiet_seconds: float = 0.2) -> Iterator[House]:
    """Empty; its traces settle after that much quiet."""
    config = folder / "tracejury.yaml"
    config.write_text(f"judging: {{quiet_seconds: {quiet_seconds}}}\n")
    with serving(folder, "--config", str(config)) as started:
        yield House(started)


def made_up_request(traces: int, spans: int) -> ExportTraceServiceRequest:
    """So many traces of so many spans each, a chain."""
    found = ExportTraceServiceRequest()
    stored = found.resource_spans.add().scope_spans.add().spans
    for trace in range(1, traces + 1):
        for n in range(1, spans + 1):
            stored.add(
                trace_id=trace.to_bytes(16, "big"), span_id=n.to_bytes(8, "big"), name="step",
                parent_span_id=(n - 1).to_bytes(8, "big") if n > 1 else b"",
                start_time_unix_nano=1_700_000_000 * 10**9, end_time_unix_nano=1_700_000_001 * 10**9,
            )  # fmt: skip
    return found
