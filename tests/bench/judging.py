"""Milliseconds of one core that judging takes a span: decode, normalise, rebuild, detect.

    python tests/bench/judging.py FOLDER [--passes 5] [--limit 0.5]
    python tests/bench/judging.py --chats 100 200 400 800

FOLDER holds traces in any form that `tracejury replay` reads. The corpus is in memory before the clock (CPU time of
this process) starts; the fastest pass counts, since everything that disturbs a pass makes it slower. With --limit the
exit code says whether normalise, rebuild and detect together stay within so many milliseconds a span. With --chats it
measures group chats of so many runs of a coder instead, each of which is sent all that was said before it.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import TypeVar

from resent_chats import chat

from tracejury.collector.otlp.codec.decode import decode
from tracejury.collector.otlp.codec.groups import schema_of
from tracejury.collector.otlp.codec.signals import SPANS, Encoding, Signal
from tracejury.collector.otlp.files import read
from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite, SuiteResult
from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import Trace

T = TypeVar("T")
JUDGING = ("normalise", "rebuild", "detect")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print a table, say whether the limit holds."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--chats", type=int, nargs="+", default=())
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--limit", type=float, default=float("inf"), help="milliseconds a span")
    options = parser.parse_args(arguments)
    for runs in options.chats:
        measure_chat(runs)
    if options.folder is None:
        return 0
    bodies = [s.request.SerializeToString() for s in read([options.folder]) if schema_of(s.request) is SPANS]
    spans, seconds = measure(bodies, options.passes)
    judging = 1000 * sum(seconds[stage] for stage in JUDGING) / spans
    for stage, taken in seconds.items():
        sys.stdout.write(f"{stage:10} {1000 * taken / spans:7.3f} ms a span\n")
    sys.stdout.write(f"{'judging':10} {judging:7.3f} ms a span, without decode, over {spans} spans\n")
    return 0 if judging <= options.limit else 1


def measure(bodies: Sequence[bytes], passes: int) -> tuple[int, dict[str, float]]:
    """How many spans there are, and the seconds of CPU time that the fastest pass of each stage took."""
    suite = default_suite()
    fastest: dict[str, float] = {}
    spans: list[Span] = []
    for _ in range(passes):
        gc.collect()
        spans = timed(fastest, "decode", partial(decoded, bodies))
        judge(suite, spans, fastest)
    return len(spans), fastest


def measure_chat(runs: int) -> None:
    """Print the seconds of CPU time that one group chat takes."""
    spans, seconds = chat(runs), dict[str, float]()
    judge(default_suite(), spans, seconds)
    size = sum(len(value) for span in spans for value in span.attributes.values())
    stages = ", ".join(f"{stage} {seconds[stage]:.2f} s" for stage in JUDGING)
    sys.stdout.write(f"{runs} runs of a coder, {len(spans)} spans, {size / 1e6:.0f} MB: {stages}\n")


def judge(suite: Suite, spans: Sequence[Span], fastest: dict[str, float]) -> None:
    """Judge the spans, and keep the times."""
    normal = timed(fastest, "normalise", partial(normalised, spans))
    traces = timed(fastest, "rebuild", partial(rebuilt, normal))
    timed(fastest, "detect", partial(judged, suite, traces))


def timed(fastest: dict[str, float], stage: str, work: Callable[[], T]) -> T:
    """Run a stage and keep its time where it is the least so far."""
    start = time.process_time()
    result = work()
    taken = time.process_time() - start
    fastest[stage] = min(taken, fastest.get(stage, taken))
    return result


def decoded(bodies: Sequence[bytes]) -> list[Span]:
    """All spans of the requests in their stored form."""
    return [s for body in bodies for s in decode(Signal.TRACES, Encoding.PROTOBUF, body, received_at=1).batch.spans]


def normalised(spans: Sequence[Span]) -> list[NormalizedSpan]:
    """The spans in one vocabulary."""
    return [normalize(span) for span in spans]


def rebuilt(spans: Sequence[NormalizedSpan]) -> list[Trace]:
    """The traces that the spans belong to."""
    grouped: defaultdict[str, list[NormalizedSpan]] = defaultdict(list)
    for span in spans:
        grouped[span.raw.trace_id].append(span)
    return [rebuild(of_one) for of_one in grouped.values()]


def judged(suite: Suite, traces: Sequence[Trace]) -> list[SuiteResult]:
    """What the suite says of each trace."""
    return [suite.judge(trace) for trace in traces]


if __name__ == "__main__":
    sys.exit(main())
