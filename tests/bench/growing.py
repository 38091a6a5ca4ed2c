"""What judging a trace costs while it grows, against judging it once.

    python tests/bench/growing.py [--spans 10000] [--batches 100] [--seconds 60]
    python tests/bench/growing.py FOLDER [--batches 20]

One trace of N spans arrives in batches, evenly over so many seconds, and is judged when its schedule says so:
normalised, rebuilt, its detectors run. The clock moves with the arrivals and with the CPU time of judging. Spans come
when they end, so agents come after their calls, and again when they begin: agents first. The trace has a manager and
many sub-agents, then one sub-agent with all turns, then these in steps. With FOLDER it is the largest trace that a file
in it holds. Prints seconds of CPU time, of one judging and of all by stage, the ratio, and the largest share of a core
that the trace took up to any time while it was open; the fastest of three runs counts.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate, pairwise
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from large_trace import large_trace
from open_traces import T0, Scheduled
from trajectories import load

from tracejury.judges.registry import default_suite
from tracejury.judges.suite import Suite
from tracejury.processors.assemble import SECOND, TraceKey
from tracejury.processors.life_cycle import state_at
from tracejury.processors.open_trace import OpenTrace
from tracejury.processors.rebuild import rebuild
from tracejury.processors.schedule import CREDIT
from tracejury.schemas.spans import Span
from tracejury.schemas.trajectory import KnownRuns

ROUNDS = 3


def judged(
    suite: Suite, spans: Sequence[Span], batches: int, seconds: float
) -> tuple[dict[str, float], list[tuple[int, TraceKey, int]]]:
    """Feed the batches, and judge the trace whenever it is due; CPU seconds by stage, and the judgings."""
    scene, known = Scheduled(), KnownRuns()
    taken: defaultdict[str, float] = defaultdict(float)
    key, size = ("", spans[0].trace_id), -(-len(spans) // batches)

    def judge(trace: OpenTrace) -> int:
        state = state_at(trace, scene.now, scene.assembler.config)
        at = [time.process_time()]
        normal = list(trace.spans.values())
        at.append(time.process_time())
        rebuilt = rebuild(normal, state=state, known=known)
        at.append(time.process_time())
        suite.judge(rebuilt, known)
        at.append(time.process_time())
        for stage, (began, ended) in zip(("normalise", "rebuild", "detect"), pairwise(at), strict=True):
            taken[stage] += ended - began
        return round((at[-1] - at[0]) * SECOND)

    coming = [
        (T0 + round(n / batches * seconds * SECOND), partial(scene.add, key, *spans[n * size : (n + 1) * size]))
        for n in range(batches)
    ]
    gc.collect()
    until = T0 + round((seconds + 60) * SECOND) if batches > 1 else T0 + scene.assembler.config.coalesce + 1
    return taken, scene.play(coming, judge, until)


def compare(name: str, spans: Sequence[Span], batches: int, seconds: float) -> None:
    """Print both, and the ratio."""
    suite = default_suite()
    (once, _), (growing, judgings) = (
        min((judged(suite, spans, *how) for _ in range(ROUNDS)), key=lambda found: sum(found[0].values()))
        for how in ((1, 0), (batches, seconds))
    )
    before = accumulate((cost for *_, cost in judgings), initial=0)  # the judging at hand and the credit are not paid
    share = max(paid / (began - T0 + CREDIT) for paid, (began, *_) in zip(before, judgings, strict=False))
    ratio = sum(growing.values()) / sum(once.values())
    sys.stdout.write(
        f"{len(spans)} spans {name}: {_told(once)} once; {_told(growing)} in {batches} batches over {seconds:g} s, "
        f"judged {len(judgings)} times; {ratio:.2f}; at most {share:.3f} of a core\n"
    )


def _told(taken: Mapping[str, float]) -> str:
    stages = ", ".join(f"{stage} {seconds:.2f}" for stage, seconds in taken.items())
    return f"{sum(taken.values()):.2f} s ({stages})"


def main() -> None:
    """Compare the orders of arrival."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, nargs="?")
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--batches", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=60)
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
            compare(f"{kind} {name}", sorted(spans, key=order), options.batches, options.seconds)


if __name__ == "__main__":
    main()
