"""Times of the look-ups at a million stored spans: `python tests/bench/lookup.py [--spans N] [--days D] [--folder F]`.

Makes an embedded store of its own with spans of a few hundred bytes, 40 a trace, arrived over D days in
inserts of 10,000, and prints milliseconds: the first query of a fresh process ("cold": file cache warm, caches of the
engine empty) and the median and 95th percentile of 200 queries for other ids.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position, TraceQuery

SPANS_PER_TRACE = 40
PER_INSERT = 10_000
DAY = 86_400_000_000_000
ROUNDS = 200

# Ids are hashes of a number, so that they are spread as real ones are.
TRACE_ID = "lower(hex(sipHash128({n})))"
SPAN_ID = "lower(hex(sipHash64({n}, 1)))"

FILL_SPANS = f"""
INSERT INTO spans (TraceId, SpanId, ParentSpanId, SpanName, Kind, StartNanos, EndNanos, Status, ServiceName,
    ResourceAttributes, SpanAttributes, SpanAttributeTypes, ReceivedAt)
SELECT {TRACE_ID.format(n=f"intDiv(number, {SPANS_PER_TRACE})")}, {SPAN_ID.format(n="number")},
    {SPAN_ID.format(n="number - 1")}, concat('step ', toString(number % 7)), 1, {{at:UInt64}} - 1000000000,
    {{at:UInt64}}, 1, 'bench', map('service.name', 'bench', 'host.name', 'here'),
    map('openinference.span.kind', 'LLM', 'llm.model_name', 'gpt', 'input.value', repeat(toString(number), 20),
        'output.value', repeat(toString(number + 1), 20), 'llm.token_count.total', '17'),
    map('llm.token_count.total', 'int'), fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{first:UInt64}}, {{count:UInt64}})
"""

FILL_TRACES = f"""
INSERT INTO traces (TraceId, ServiceName, State, Name, Spans, Conventions, `Runs.Id`, `Runs.Name`, `Runs.Role`,
    `Runs.SpanId`, `Runs.ParentId`, `Runs.Goal`, `Runs.Answer`, `Runs.Status`, `Runs.Turns`, `Runs.ToolCalls`,
    JudgedAt, ReceivedAt)
SELECT {TRACE_ID.format(n="number")}, 'bench', 'settled', 'run', {SPANS_PER_TRACE}, ['openinference'], ['r'],
    ['agent'], ['manager'], ['s'], [''], ['goal'], ['answer'], ['ok'], [9], [9], 1,
    fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""

FILL_FINDINGS = f"""
INSERT INTO findings (TraceId, SpanId, Id, Fingerprint, State, AgentRunId, Turn, Judge, Dimensions, Taxonomy, Category,
    Severity, Confidence, Evidence, Explanation, FirstSeen, JudgedBy, JudgeVersion, JudgedAt, ReceivedAt)
SELECT {TRACE_ID.format(n="intDiv(number, 3)")}, {SPAN_ID.format(n=f"number * {SPANS_PER_TRACE} / 3")},
    {TRACE_ID.format(n="number, 'f'")}, {TRACE_ID.format(n="number, 'f'")}, 'current', 'r', 1, 'rule', ['TC'], 'trail',
    'Tool-related', 'HIGH', 0.9, repeat('evidence ', 20), repeat('because ', 20), number + 1, 'detectors', 'v', 1,
    fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""

FILL_JUDGEMENTS = f"""
INSERT INTO judgements (TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, TraceState, JudgedAt,
    ReceivedAt)
SELECT {TRACE_ID.format(n="number")}, 'trace', {TRACE_ID.format(n="number")}, 'detectors', 'v', 'h', 'done', 'settled',
    1, fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""


def fill(folder: str, spans: int, days: int) -> None:
    """Make the store."""
    store = open_store(folder)
    migrate(store)
    now = time.time_ns()
    for first in range(0, spans, PER_INSERT):
        at = now - (days - 1) * DAY + first * (days - 1) * DAY // spans
        store.command(FILL_SPANS, {"first": first, "count": min(PER_INSERT, spans - first), "at": at})
    traces = spans // SPANS_PER_TRACE
    for sql, count in ((FILL_TRACES, traces), (FILL_FINDINGS, traces * 3), (FILL_JUDGEMENTS, traces)):
        store.command(sql, {"count": count, "at": now})
    store.close()


def measure(folder: str, spans: int) -> None:
    """Print the times of one fresh process."""
    store = open_store(folder)
    reading, judging = StoredReading(store), StoredJudging(store)
    step = max(spans // (ROUNDS + 1), 1)
    span_ids = column(store, f"SELECT {SPAN_ID.format(n=f'number * {step}')} FROM numbers({ROUNDS})")
    trace_ids = column(
        store,
        f"SELECT {TRACE_ID.format(n=f'intDiv(number * {step}, {SPANS_PER_TRACE})')} FROM numbers({ROUNDS})",
    )
    sure = Confidence.of("")
    cases: dict[str, Callable[[int], object]] = {
        "knows(span)": lambda i: reading.knows("", span_ids[i]),
        "span row": lambda i: store.rows("SELECT * FROM otel_traces WHERE SpanId = {id:String}", {"id": span_ids[i]}),
        "load_spans(trace)": lambda i: judging.load_spans([trace_ids[i]]),
        "errors of a span": lambda i: reading.find_findings(ErrorQuery(sure, 100, span_id=span_ids[i])),
        "errors, latest 100": lambda _: reading.find_findings(ErrorQuery(sure, 100)),
        "errors, nothing new": lambda _: reading.find_findings(ErrorQuery(sure, 100, after=Position(10**18))),
        "errors of an agent": lambda _: reading.find_findings(ErrorQuery(sure, 100, agent="agent")),
        "traces, latest 100": lambda _: reading.find_traces(TraceQuery(sure, 100)),
        "unjudged": lambda _: judging.unjudged("v", 10_000),
    }
    parts = store.rows("SELECT count(), uniqExact(partition) FROM system.parts WHERE active AND table = 'spans'")
    for name, query in cases.items():
        rounds = 20 if "," in name or name in ("unjudged", "errors of an agent") else ROUNDS
        times = [timed(query, i) for i in range(rounds)]
        print(json.dumps({
            "query": name, "cold_ms": times[0], "median_ms": round(statistics.median(times[1:]), 2),
            "p95_ms": round(sorted(times[1:])[int(0.95 * len(times[1:]))], 2),
        }))  # fmt: skip
    print(json.dumps({"parts": parts[0][0], "weeks": parts[0][1]}))
    store.close()


def timed(query: Callable[[int], object], i: int) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    query(i)
    return round((time.perf_counter() - started) * 1e3, 2)


def column(store: SharedStore, sql: str) -> list[str]:
    """The first column of a result."""
    return [row[0] for row in store.rows(sql)]


def open_store(folder: str) -> SharedStore:
    """The store in that folder."""
    return SharedStore.open(f"chdb://{Path(folder).resolve()}", StoreConfig(retention_days=None))


def main() -> None:
    """Fill, then measure in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--folder", default="")
    parser.add_argument("--step", choices=["all", "fill", "measure"], default="all")
    args = parser.parse_args()
    if args.step == "fill":
        fill(args.folder, args.spans, args.days)
    elif args.step == "measure":
        measure(args.folder, args.spans)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = args.folder or f"{temporary}/db"
            for step in ("fill", "measure"):
                command = [sys.executable, __file__, "--step", step, "--folder", folder]
                subprocess.run([*command, "--spans", str(args.spans), "--days", str(args.days)], check=True)


if __name__ == "__main__":
    main()
