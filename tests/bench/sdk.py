"""What the live processor costs an agent's thread: `python tests/bench/sdk.py [--spans 20000] [--rounds 7]`.

Spans with a large prompt are started and ended as fast as can be, without any processor, with the SDK's own
BatchSpanProcessor, and with ours; the exporter is slow, so that the queues are full most of the time. Prints medians of
interleaved rounds: microseconds a span that pass, the CPU time of the agent's thread alone in them, the worst span.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Mapping, Sequence

from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

from tracejury.sdk import LiveProcessor, agent

PROCESSORS: Mapping[str, Callable[[SpanExporter], SpanProcessor] | None] = {
    "none": None,
    "batch": BatchSpanProcessor,
    "live": LiveProcessor,
}
PROMPT = {f"llm.input_messages.{i}.message.content": "words " * 100 for i in range(20)}


class Slow(SpanExporter):
    """Takes 20 ms for each batch."""

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:  # noqa: ARG002 - all are the same to it
        time.sleep(0.02)
        return SpanExportResult.SUCCESS


def cost(provider: TracerProvider, spans: int) -> tuple[float, float, float]:
    """Microseconds a span: the mean, that of the thread's CPU time, and the worst."""
    tracer = provider.get_tracer("bench")
    worst = 0.0
    started, began = time.perf_counter(), time.thread_time()
    with agent("manager", span=False):
        for _ in range(spans):
            before = time.perf_counter()
            tracer.start_span("chat", attributes=PROMPT).end()
            worst = max(worst, time.perf_counter() - before)
    spent = time.thread_time() - began
    return (time.perf_counter() - started) / spans * 1e6, spent / spans * 1e6, worst * 1e6


def main() -> None:
    """Print a line for each processor, and what ours costs over the SDK's own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    found = {name: list[tuple[float, float, float]]() for name in PROCESSORS}
    for _ in range(args.rounds):
        for name, make in PROCESSORS.items():
            provider = TracerProvider(shutdown_on_exit=False)
            if make:
                provider.add_span_processor(make(Slow()))
            found[name].append(cost(provider, args.spans))
            provider.shutdown()
    for name, rounds in found.items():
        mean, spent, worst = map(statistics.median, zip(*rounds, strict=True))
        print(f"{name:6} {mean:8.1f} us a span, {spent:8.1f} us of CPU, worst {worst:10.1f} us")
    extra = [live[0] - batch[0] for live, batch in zip(found["live"], found["batch"], strict=True)]
    print(f"live over batch, by round: {statistics.median(extra):.1f} ({min(extra):.1f} to {max(extra):.1f}) us a span")


if __name__ == "__main__":
    main()
