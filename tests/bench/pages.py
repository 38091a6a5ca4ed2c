"""Times of the pages of traces, to the last byte: `python tests/bench/pages.py [--spans N] [--rounds N]`.

An embedded store with one trace of N spans and one whose tool answers 20 MB, judged as ever; a server of its own.
"cold": nothing is kept in memory, as after a restart, so that the page comes from the outline in the store. Prints
milliseconds; of all processors together as "cpu".
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from forgotten_traces import forget_traces

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from large_trace import large_trace
from trace_pages import TOOL, TRACE_ID, Pages, a_span, failing_run, trace_pages

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore

PER_ARRIVAL = 500
HUGE = 20_000_000


def fill(pages: Pages, spans: int) -> str:
    """Store and judge both traces; returns the id of the large one."""
    large = list(large_trace(spans))
    for first in range(0, len(large), PER_ARRIVAL):
        pages.put(*large[first : first + PER_ARRIVAL], settle=False)
    pages.settle()
    agent, call, tool, answer = failing_run(result="A" * HUGE)
    tool = a_span(
        TOOL, agent.span_id, "TOOL", "read_file", 3, 1, attributes={**tool.attributes, "output.value": "A" * HUGE}
    )
    pages.put(agent, call, tool, answer)
    return large[0].trace_id


def measure(pages: Pages, spans: int, rounds: int) -> None:
    """Print the times."""
    trace_id = fill(pages, spans)
    trace_index = pages.reader.trace_queries.trace_index(trace_id)
    assert trace_index is not None
    outline = trace_index.outline
    run = outline.runs[len(outline.runs) // 2]
    span = run.turns[len(run.turns) // 2].span_id
    base = f"/traces/{trace_id}"
    cold = partial(forget_traces, pages.reader.trace_queries)
    cases: tuple[tuple[str, str, Callable[[], None]], ...] = (
        (f"trace page of {len_text(outline.spans)} spans, cold", base, cold),
        (f"trace page of {len_text(outline.spans)} spans", base, _nothing),
        ("the same at a span", f"{base}?span={span}", _nothing),
        ("its panel of a turn", f"{base}/panel?span={span}", _nothing),
        ("its panel of a turn, cold", f"{base}/panel?span={span}", cold),
        ("its branch of a run", f"{base}/branch?key=run:{run.id}", _nothing),
        ("page of a span in it", f"/spans/{span}?trace={trace_id}", _nothing),
        ("a span as it was sent", f"{base}/spans/{span}/raw", _nothing),
        ("trace page with 20 MB in a tool's result", f"/traces/{TRACE_ID}?span={TOOL}", _nothing),
        ("page of a span of 20 MB", f"/spans/{TOOL}?trace={TRACE_ID}", _nothing),
        ("a span of 20 MB as it was sent", f"/traces/{TRACE_ID}/spans/{TOOL}/raw", _nothing),
    )
    for name, path, before in cases:
        size, times, work = 0, [], []
        for _ in range(rounds):
            before()
            started, worked = time.perf_counter(), time.process_time()
            answer = pages.get(path)
            times.append((time.perf_counter() - started) * 1e3)
            work.append((time.process_time() - worked) * 1e3)
            size = len(answer.content)
            assert answer.status_code == 200, answer.text[:200]
        times.sort()
        print(json.dumps({
            "page": name, "p50_ms": round(statistics.median(times), 1),
            "p95_ms": round(times[int(0.95 * (len(times) - 1))], 1), "cpu_ms": round(statistics.median(work), 1),
            "kb": size // 1000,
        }))  # fmt: skip


def len_text(number: int) -> str:
    """A count with groups."""
    return f"{number:,}"


def _nothing() -> None:
    pass


def main() -> None:
    """Fill and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        store = SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))
        migrate(store)
        with trace_pages(store) as pages:
            measure(pages, args.spans, args.rounds)
        store.close()


if __name__ == "__main__":
    main()
