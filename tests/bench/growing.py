"""What judging a trace costs while it grows, against judging it once.

    python tests/bench/growing.py [--spans 10000] [--batches 100]
    python tests/bench/growing.py FOLDER [--batches 20]

One trace of N spans arrives in batches and is judged after each: normalised, rebuilt, hashed, its detectors run. Its
spans come when they end, so agents come after their calls, and again when they begin: agents first. It has a manager
and many sub-agents, then one sub-agent with all turns, then these in steps. With FOLDER it is the largest trace that a
file in it holds. Prints seconds of CPU time by stage, of all passes and of one, and the ratio; the fastest of three
runs counts.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from large_trace import large_trace
from trajectories import load

from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import Rebuilder
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import KnownRuns, TraceState

ROUNDS = 3


def judged(suite: Suite, spans: Sequence[Span], batches: int) -> dict[str, float]:
    """CPU seconds by stage of judging the trace after each of its batches; the last time it is settled."""
    size = -(-len(spans) // batches)
    trace = OpenTrace(("", spans[0].trace_id), first_arrival=0, last_arrival=0, held=True)
    rebuilder, known = Rebuilder(), KnownRuns()
    taken: defaultdict[str, float] = defaultdict(float)
    gc.collect()
    for first in range(0, len(spans), size):
        state = TraceState.OPEN if first + size < len(spans) else TraceState.SETTLED
        at = [time.process_time()]
        for span in spans[first : first + size]:
            trace.add_span(span)
        normal = list(trace.spans.values())
        at.append(time.process_time())
        rebuilt = rebuilder.rebuild(normal, state=state)
        at.append(time.process_time())
        suite.judge(rebuilt, known)
        at.append(time.process_time())
        for stage, (began, ended) in zip(("normalise", "rebuild", "detect"), pairwise(at), strict=True):
            taken[stage] += ended - began
    return taken


def compare(name: str, spans: Sequence[Span], batches: int) -> None:
    """Print both, and the ratio."""
    suite = default_suite()
    once, growing = (
        min((judged(suite, spans, parts) for _ in range(ROUNDS)), key=lambda taken: sum(taken.values()))
        for parts in (1, batches)
    )
    ratio = sum(growing.values()) / sum(once.values())
    sys.stdout.write(
        f"{len(spans)} spans {name}: {_told(once)} once; {_told(growing)} in {batches} batches; {ratio:.2f}\n"
    )


def _told(taken: dict[str, float]) -> str:
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in taken.items())
    return f"{sum(taken.values()):.2f} s ({stages})"


def main() -> None:
    """Compare the orders of arrival."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=100)
    options = parser.parse_args()
    traces = {
        "of many runs": list(large_trace(options.spans)),
        "of one run": list(large_trace(options.spans, turns=options.spans // 3)),
        "of one run in steps": list(large_trace(options.spans, turns=options.spans // 4, steps=True)),
    }
    if options.folder is not None:
        files = sorted(f for f in options.folder.iterdir() if not f.name.endswith(".meta.json"))
        traces = {"": max(([s.raw for s in trace] for f in files for trace in load(f).values()), key=len)}
    orders: dict[str, Callable[[Span], int]] = {"as they end": lambda s: s.end, "as they begin": lambda s: s.start}
    for kind, spans in traces.items():
        for name, order in orders.items():
            compare(f"{kind} {name}", sorted(spans, key=order), options.batches)


if __name__ == "__main__":
    main()
