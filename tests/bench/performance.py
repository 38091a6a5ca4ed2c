"""Times of questions about latency, tokens and cost: `python tests/bench/performance.py [--runs 200000] [--days 28]`.

Makes an embedded store of its own: rows of traces with two runs and twenty calls each, and their facts, as judging
writes them; `--runs` in the last seven days, and as many in each seven days before. Prints milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.performance import StoredPerformance
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.performance import PerformanceAnswer, PerformanceBy, PerformanceQuery, PerformanceUnit

DAY = 24 * HOUR
CALLS = 20
"""Of a trace, of both runs; twelve of models, eight of tools."""

TRACES = f"""
INSERT INTO traces (TraceId, ServiceName, Version, SessionId, State, StartNanos, EndNanos, Spans, Measured, JudgedAt,
    ReceivedAt, Operations.Kind, Operations.Agent, Operations.Model, Operations.Tool, Operations.Prompt,
    Operations.Nanos, Operations.Failed, Operations.InputTokens, Operations.OutputTokens, Operations.CachedTokens,
    Operations.Usd, Operations.Unpriced)
SELECT lower(hex(sipHash128(number, {{base:UInt64}}))), concat('service-', toString(h % 5)), '1.0', '', 'settled', at,
    at + 9000000000, 30, 1, at, fromUnixTimestamp64Nano(toInt64(at)),
    arrayMap(n -> multiIf(n < 2, 'run', n < 14, 'llm_call', 'tool_call'), each),
    arrayMap(n -> concat('agent-', toString((h + n % 2) % 8)), each),
    arrayMap(n -> concat('model-', toString((h + n) % 4)), each),
    arrayMap(n -> if(n < 14, '', concat('tool-', toString((h + n) % 10))), each),
    arrayMap(n -> if(n % 3, '', concat('prompt-', toString(n))), each),
    arrayMap(n -> toInt64(cityHash64(h, n) % 30000000000), each), arrayMap(n -> cityHash64(h, n) % 50 = 0, each),
    arrayMap(n -> if(n < 14, cityHash64(h, n) % 9000, 0), each), arrayMap(n -> if(n < 14, h % 900, 0), each),
    arrayMap(n -> if(n < 14, h % 300, 0), each), arrayMap(n -> if(n < 14, h % 1000 / 1e5, 0), each),
    arrayMap(n -> 0, each)
FROM (SELECT number, cityHash64(number, {{base:UInt64}}) AS h, range({CALLS + 2}) AS each,
    {{from:UInt64}} + number * intDiv(toUInt64({DAY}), {{rows:UInt64}}) AS at FROM numbers({{rows:UInt64}}))
"""
FACTS = """
INSERT INTO run_facts (Unit, Hour, TraceId, RunId, At, Service, Version, Parts, FoldedAt, ReceivedAt)
SELECT 'trace', intDiv(toUnixTimestamp64Nano(ReceivedAt) AS arrived, 3600000000000), TraceId, '', arrived, ServiceName,
    Version, [TraceId], 1, ReceivedAt FROM traces
"""


def fill(store: SharedStore, runs: int, days: int, until: int) -> None:
    """Traces up to `until`, a day at a time, and their facts."""
    rows = runs // 2 // 7
    for day in range(days):
        store.command(TRACES, {"from": until - (days - day) * DAY, "rows": rows, "base": day})
    store.command(FACTS)


def questions(until: int) -> dict[str, Callable[[StoredPerformance], PerformanceAnswer]]:
    """What pages and people ask of the last week."""
    runs = PerformanceQuery(until - 7 * DAY, until)
    llm, tool = replace(runs, unit=PerformanceUnit.LLM_CALL), replace(runs, unit=PerformanceUnit.TOOL_CALL)
    return {
        "runs, overall": lambda p: p.ask(runs),
        "runs by hour": lambda p: p.ask(replace(runs, step=HOUR)),
        "LLM calls by model": lambda p: p.ask(replace(llm, by=PerformanceBy.MODEL)),
        "LLM calls by model and hour": lambda p: p.ask(replace(llm, by=PerformanceBy.MODEL, step=HOUR)),
        "tool calls by tool": lambda p: p.ask(replace(tool, by=PerformanceBy.TOOL)),
        "tool calls by tool, of one service": lambda p: p.ask(
            replace(tool, by=PerformanceBy.TOOL, service="service-1")
        ),
        "LLM calls by prompt, last day": lambda p: p.ask(replace(llm, since=until - DAY, by=PerformanceBy.PROMPT)),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=200_000)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))
        migrate(store)
        until = time.time_ns() // HOUR * HOUR
        fill(store, args.runs, args.days, until)
        performance = StoredPerformance(store)
        for name, ask in questions(until).items():
            times = []
            for _ in range(args.rounds):
                started = time.perf_counter()
                units = ask(performance).total.units
                times.append((time.perf_counter() - started) * 1e3)
            line = {
                "what": name,
                "units": units,
                "p50_ms": round(statistics.median(times)),
                "max_ms": round(max(times)),
            }
            print(json.dumps(line), flush=True)
        store.close()


if __name__ == "__main__":
    main()
