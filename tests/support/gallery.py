"""Traces of several made-up services over some days, to be sent over OTLP: what pictures and end-to-end tests show."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gallery_runs import FAULTY_ACTS, HEALTHY_ACTS, Act
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest as Request
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.id_generator import IdGenerator

MINUTE = 60_000_000_000
HOUR = 60 * MINUTE
SLOT_MINUTES = 20
MODELS = {"almanac-agents": "scripted-small", "help-desk": "scripted-large", "release-notes": "scripted-small"}
SHARES = {"almanac-agents": 3, "help-desk": 5, "release-notes": 1}
"""How often a service is asked, against the others."""
KIND = "openinference.span.kind"
WAITS = {"LLM": (0.6, 3.2), "TOOL": (0.05, 0.7)}
"""Seconds from and to which a call of that kind takes; whatever else happens takes milliseconds."""


@dataclass(frozen=True, slots=True)
class Shown:
    """One trace: when it ended (unix nanos), what it shows, and the request that sends it."""

    at: int
    service: str
    act: Act
    trace_id: str
    request: Request

    @property
    def spans(self) -> Sequence[Span]:
        """In the order in which they ended."""
        return self.request.resource_spans[0].scope_spans[0].spans


class Drawn(IdGenerator):
    """Ids out of a seeded source, so that pictures name the same ones."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def generate_span_id(self) -> int:
        return self._chance.getrandbits(64) | 1

    def generate_trace_id(self) -> int:
        return self._chance.getrandbits(128) | 1


def gallery(now: int, *, hours: int = 48, per_slot: int = 3, seed: int = 20) -> Iterator[Shown]:
    """Traces over the hours before `now`, the oldest first, some at each slot of 20 minutes.

    Ten hours ago the help desk got a version that errs more.
    """
    chance, ids = random.Random(seed), random.Random(seed)  # noqa: S311  a draw of examples, no secret
    talk = 0
    for place in range(hours * 3 * per_slot):
        minute = hours * 60 - place // per_slot * SLOT_MINUTES
        at = now - minute * MINUTE + chance.randrange(MINUTE // 4)
        service = chance.choices([*SHARES], [*SHARES.values()])[0]
        new = service == "help-desk" and minute < 10 * 60
        faulty = chance.random() < (0.45 if new else 0.08)
        act = chance.choice((FAULTY_ACTS if faulty else HEALTHY_ACTS)[service])
        talk += chance.random() < 0.6
        session = f"talk-{1000 + talk}" if service == "help-desk" else ""
        yield perform(act, service, at, ids, version="2.1.0" if new else "2.0.3", session=session)


def perform(
    act: Act, service: str, at: int, chance: random.Random, *, version: str = "2.0.3", session: str = ""
) -> Shown:
    """Let the agents of `service` work on it; the last span ends at `at`."""
    kept = InMemorySpanExporter()
    about = Resource({"service.name": service, "service.version": version})
    provider = TracerProvider(resource=about, id_generator=Drawn(chance), shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(kept))
    act.perform(provider.get_tracer("gallery"))
    request = encode_spans(kept.get_finished_spans())
    spans = request.resource_spans[0].scope_spans[0].spans
    for span in spans:
        for attribute in span.attributes:
            if attribute.key == "llm.model_name":
                attribute.value.string_value = MODELS.get(service, attribute.value.string_value)
    if session:
        spans[-1].attributes.append(KeyValue(key="session.id", value=AnyValue(string_value=session)))
    retime(spans, at, chance)
    return Shown(at, service, act, spans[0].trace_id.hex(), request)


def retime(spans: Sequence[Span], end: int, chance: random.Random) -> None:
    """Spread the moments of these spans as models and tools would take them; what happened before stays before."""
    by_id = {span.span_id: span for span in spans}

    def depth(span: Span) -> int:
        above = by_id.get(span.parent_span_id)
        return 0 if above is None else 1 + depth(above)

    moments = sorted(
        [(span.start_time_unix_nano, 0, depth(span), span.span_id) for span in spans]
        + [(span.end_time_unix_nano, 1, -depth(span), span.span_id) for span in spans]
    )
    now = 0
    starts: dict[bytes, int] = {}
    ends: dict[bytes, int] = {}
    for _, ended, _, span_id in moments:
        kind = next((a.value.string_value for a in by_id[span_id].attributes if a.key == KIND), "")
        low, high = WAITS.get(kind, (0.001, 0.02)) if ended else (0.001, 0.02)
        now += round(chance.uniform(low, high) * 1e9)
        (ends if ended else starts)[span_id] = now
    for span_id, span in by_id.items():
        span.start_time_unix_nano = end - now + starts[span_id]
        span.end_time_unix_nano = end - now + ends[span_id]
        for event in span.events:
            event.time_unix_nano = span.end_time_unix_nano


def part(shown: Shown, spans: Sequence[Span]) -> Request:
    """A request with only these spans of it."""
    request = Request()
    request.CopyFrom(shown.request)
    del request.resource_spans[0].scope_spans[0].spans[:]
    request.resource_spans[0].scope_spans[0].spans.extend(spans)
    return request
