"""What the live processor costs an agent's thread: `python tests/bench/sdk.py [--spans 20000]`.

Spans with a large prompt are started and ended as fast as can be, without any processor, with the SDK's own
BatchSpanProcessor, and with ours; the exporter is slow, so that the queues are full most of the time.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from tracejury.sdk import LiveProcessor, agent

PROMPT = {f"llm.input_messages.{i}.message.content": "words " * 100 for i in range(20)}


class Slow(SpanExporter):
    """Takes 20 ms for each batch."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - all are the same to it
        time.sleep(0.02)
        return SpanExportResult.SUCCESS


def cost(provider: TracerProvider, spans: int) -> tuple[float, float]:
    """Microseconds a span: the mean, and the worst."""
    tracer = provider.get_tracer("bench")
    worst = 0.0
    started = time.perf_counter()
    with agent("manager", span=False):
        for _ in range(spans):
            before = time.perf_counter()
            tracer.start_span("chat", attributes=PROMPT).end()
            worst = max(worst, time.perf_counter() - before)
    return (time.perf_counter() - started) / spans * 1e6, worst * 1e6


def main() -> None:
    """Print a line for each processor."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    spans = parser.parse_args().spans
    for name, processor in (("none", None), ("batch", BatchSpanProcessor(Slow())), ("live", LiveProcessor(Slow()))):
        provider = TracerProvider(shutdown_on_exit=False)
        if processor is not None:
            provider.add_span_processor(processor)
        mean, worst = cost(provider, spans)
        counts = getattr(processor, "counts", "")
        print(f"{name:6} {mean:8.1f} us a span, worst {worst:10.1f} us  {counts}")
        provider.shutdown()


if __name__ == "__main__":
    main()
