"""Times of lists of traces and sessions: `python tests/bench/lists.py [--of lists|look-ups] [--days D] [--folder F]`.

Makes an embedded store of its own: N traces (100,000: a million spans at ten a trace) of D days with agent runs, tools,
costs, three findings to a trace and about eight kilobytes of text each, words as frequent as in a language, and
prints the median and the slowest of 15 queries of each kind in milliseconds, in a process of its own, and what they
took of one core, which does not depend on what else the machine does.

`--of look-ups`: a store of a million spans of a few hundred bytes, 40 a trace, arrived over D days in inserts of
10,000; the first query of a fresh process ("cold": file cache warm, caches of the engine empty) and the median and
95th percentile of 200 queries for other ids.
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
from functools import partial
from pathlib import Path

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists import SessionLists, TraceLists
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, Position, TraceQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState

PER_INSERT = 5_000
DAY = 86_400_000_000_000
ROUNDS = 15
LOOK_UPS = 200
SPANS_PER_TRACE = 40
SURE = Confidence.of("")

# Ids are hashes of a number, so that they are spread as real ones are.
ID = "lower(hex(sipHash128({n})))"
SPAN_ID = "lower(hex(sipHash64({n}, 1)))"
SLICE = "FROM numbers({first:UInt64}, {count:UInt64})"
AT = "fromUnixTimestamp64Nano({at:Int64} + toInt64(number))"

FILL_TRACES = f"""
INSERT INTO traces (TraceId, ServiceName, SessionId, Version, State, Name, StartNanos, EndNanos, Spans, Conventions,
    `Runs.Id`, `Runs.Name`, `Runs.Role`, `Runs.SpanId`, `Runs.ParentId`, `Runs.Goal`, `Runs.Answer`, `Runs.Status`,
    `Runs.Turns`, `Runs.ToolCalls`, `Runs.Model`, `Calls.SpanId`, `Calls.Tool`, `Calls.Asked`, InputTokens,
    OutputTokens, Cost, JudgedAt, ReceivedAt)
SELECT {ID.format(n="number")}, concat('service-', toString(number % 5)), concat('s', toString(intDiv(number, 4))),
    concat('1.', toString(number % 3)), if(number % 1000 = 0, 'open', 'settled'), 'run', {{at:UInt64}},
    {{at:UInt64}} + sipHash64(number) % 600000000000, 10, ['openinference'], ['r', 's'],
    ['manager', concat('helper-', toString(number % 7))], ['manager', 'sub-agent'], ['a', 'b'], ['', 'r'],
    [repeat('book a trip ', 20), 'find hotels'], [repeat('it is booked ', 40), 'three hotels'], ['ok', 'ok'], [9, 3],
    [9, 3], ['gpt-4o', concat('model-', toString(number % 4))], ['c', 'd'],
    ['search', concat('tool-', toString(number % 11))], [false, false], 1000 + number % 5000, 100,
    if(number % 10 = 0, NULL, sipHash64(number, 1) % 1000000 / 1e6), 1, {AT}
{SLICE}
"""

FILL_FINDINGS = f"""
INSERT INTO findings (TraceId, SpanId, Id, Fingerprint, State, AgentRunId, Turn, Judge, Dimensions, Taxonomy, Category,
    Severity, Confidence, Evidence, Explanation, FirstSeen, JudgedBy, JudgeVersion, JudgedAt, ReceivedAt)
SELECT {ID.format(n="intDiv(number, 3)")}, 'c', {ID.format(n="number, 'f'")}, {ID.format(n="number, 'f'")}, 'current',
    'r', 1, concat('rule-', toString(number % 9)), ['TC'], 'trail', concat('Category ', toString(number % 13)),
    ['LOW', 'MEDIUM', 'HIGH'][number % 3 + 1], 0.9, concat('evidence number', toString(number)),
    repeat('because it was so ', 8), number + 1, 'detectors', 'v', 1, {AT}
{SLICE}
"""

# Ranks drawn evenly on a logarithmic scale, so that the n-th word is about 1/n as frequent as the first.
FILL_TEXTS = f"""
INSERT INTO texts (TraceId, Text, JudgedAt, ReceivedAt)
SELECT {ID.format(n="number")}, arrayStringConcat(arrayMap(i -> concat(
    substring(lower(hex(sipHash64(toUInt32(exp(sipHash64(number, i) / pow(2., 64) * 11.5))))), 1, 6), 'er'),
    range(1000)), ' '), 1, {AT}
{SLICE}
"""

FILL_SPANS = f"""
INSERT INTO spans (TraceId, SpanId, SpanName, Kind, StartNanos, EndNanos, Status, ServiceName, ReceivedAt)
SELECT {ID.format(n="intDiv(number, 10)")}, lower(hex(sipHash64(number, 1))), 'step', 1, 1, 2, 1, 'bench', {AT}
{SLICE}
"""


def fill(folder: str, traces: int, days: int) -> None:
    """Make the store."""
    store = open_store(folder)
    migrate(store)
    now = time.time_ns()
    for first in range(0, traces, PER_INSERT):
        at = now - (days - 1) * DAY + first * (days - 1) * DAY // traces
        for sql, each in ((FILL_TRACES, 1), (FILL_FINDINGS, 3), (FILL_TEXTS, 1), (FILL_SPANS, 10)):
            store.command(sql, {"first": first * each, "count": min(PER_INSERT, traces - first) * each, "at": at})
    store.close()


def cases(store: SharedStore, traces: int) -> dict[str, Callable[[], object]]:
    """What is asked, by name."""
    lists, sessions = TraceLists(store), SessionLists(store)
    now = time.time_ns()
    text = store.rows("SELECT Text FROM texts ORDER BY TraceId LIMIT 1")[0][0]
    words = text.split()
    seldom, often = rarity(store, words[:40])
    one, span = (store.rows(sql)[0][0] for sql in ("SELECT max(TraceId) FROM traces", "SELECT max(SpanId) FROM spans"))

    def find(**query: object) -> Callable[[], object]:
        return lambda: lists.find(TraceQuery(SURE, 50, **query))  # type: ignore[arg-type]

    def conversations(**query: object) -> Callable[[], object]:
        return lambda: sessions.find(TraceQuery(SURE, 50, **query))  # type: ignore[arg-type]

    return {
        "latest": find(),
        "latest of a day": find(since=now - DAY),
        "of a service, by cost": find(service="service-3", sort=Sort.COST),
        "of an agent and model": find(agent="helper-3", model="model-2"),
        "of a tool, by duration": find(tool="tool-5", sort=Sort.DURATION),
        "open": find(state=TraceState.OPEN),
        "slow": find(min_duration=599 * 10**9),
        "HIGH": find(severity=Severity.HIGH),
        "HIGH of a day": find(severity=Severity.HIGH, since=now - DAY),
        "category and judge": find(category="Category 4", judge="rule-4"),
        "agent and category": find(agent="helper-3", category="Category 4"),
        "by severity": find(sort=Sort.SEVERITY),
        "by severity of a day": find(sort=Sort.SEVERITY, since=now - DAY),
        "text: seldom word": find(text=seldom),
        "text: frequent word": find(text=often),
        "text: part of a word": find(text=seldom[1:-1]),
        "text: phrase": find(text=" ".join(words[10:14])),
        "text: nowhere": find(text="thisstandsnowhere"),
        "text: of a finding": find(text=f"evidence number{traces}"),
        "text: start of a trace id": find(text=one[:10]),
        "text: a span id": find(text=span),
        "text: word of a day": find(text=often, since=now - DAY),
        "sessions, latest": conversations(),
        "sessions of a day": conversations(since=now - DAY),
        "sessions by cost": conversations(sort=Sort.COST),
        "sessions, HIGH, by severity": conversations(severity=Severity.HIGH, sort=Sort.SEVERITY),
        "sessions with a word": conversations(text=seldom),
        "facets of a day": lambda: lists.facets(now - DAY, 0, ""),
        "facets of all": lambda: lists.facets(0, 0, ""),
    }


def rarity(store: SharedStore, words: list[str]) -> tuple[str, str]:
    """The least and the most frequent of the words."""
    sql = "SELECT count() FROM texts WHERE hasAllTokens(Text, {words:Array(String)})"
    ranked = sorted(set(words), key=lambda word: store.rows(sql, {"words": [word]})[0][0])
    return ranked[0], ranked[-1]


def measure(folder: str, traces: int) -> None:
    """Print the times of one fresh process."""
    store = open_store(folder)
    for name, query in cases(store, traces).items():
        before = time.process_time()
        times = [timed(query) for _ in range(ROUNDS)]
        spent = (time.process_time() - before) * 1e3 / ROUNDS
        found = query()
        rows = len(found) if isinstance(found, list) else None
        figures = {
            "median_ms": round(statistics.median(times), 1),
            "most_ms": round(max(times), 1),
            "cpu_ms": round(spent, 1),
        }
        print(json.dumps({"query": name, **figures, "rows": rows}), flush=True)
    store.close()


def timed(query: Callable[[], object]) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    query()
    return (time.perf_counter() - started) * 1e3


def open_store(folder: str) -> SharedStore:
    """The store in that folder."""
    return SharedStore.open(f"chdb://{Path(folder).resolve()}", StoreConfig(retention_days=None))


LOOK_UP_SPANS = f"""
INSERT INTO spans (TraceId, SpanId, ParentSpanId, SpanName, Kind, StartNanos, EndNanos, Status, ServiceName,
    ResourceAttributes, SpanAttributes, SpanAttributeTypes, ReceivedAt)
SELECT {ID.format(n=f"intDiv(number, {SPANS_PER_TRACE})")}, {SPAN_ID.format(n="number")},
    {SPAN_ID.format(n="number - 1")}, concat('step ', toString(number % 7)), 1, {{at:UInt64}} - 1000000000,
    {{at:UInt64}}, 1, 'bench', map('service.name', 'bench', 'host.name', 'here'),
    map('openinference.span.kind', 'LLM', 'llm.model_name', 'gpt', 'input.value', repeat(toString(number), 20),
        'output.value', repeat(toString(number + 1), 20), 'llm.token_count.total', '17'),
    map('llm.token_count.total', 'int'), fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{first:UInt64}}, {{count:UInt64}})
"""

LOOK_UP_TRACES = f"""
INSERT INTO traces (TraceId, ServiceName, State, Name, Spans, Conventions, `Runs.Id`, `Runs.Name`, `Runs.Role`,
    `Runs.SpanId`, `Runs.ParentId`, `Runs.Goal`, `Runs.Answer`, `Runs.Status`, `Runs.Turns`, `Runs.ToolCalls`,
    JudgedAt, ReceivedAt)
SELECT {ID.format(n="number")}, 'bench', 'settled', 'run', {SPANS_PER_TRACE}, ['openinference'], ['r'],
    ['agent'], ['manager'], ['s'], [''], ['goal'], ['answer'], ['ok'], [9], [9], 1,
    fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""

LOOK_UP_FINDINGS = f"""
INSERT INTO findings (TraceId, SpanId, Id, Fingerprint, State, AgentRunId, Turn, Judge, Dimensions, Taxonomy, Category,
    Severity, Confidence, Evidence, Explanation, FirstSeen, JudgedBy, JudgeVersion, JudgedAt, ReceivedAt)
SELECT {ID.format(n="intDiv(number, 3)")}, {SPAN_ID.format(n=f"number * {SPANS_PER_TRACE} / 3")},
    {ID.format(n="number, 'f'")}, {ID.format(n="number, 'f'")}, 'current', 'r', 1, 'rule', ['TC'], 'trail',
    'Tool-related', 'HIGH', 0.9, repeat('evidence ', 20), repeat('because ', 20), number + 1, 'detectors', 'v', 1,
    fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""

LOOK_UP_JUDGEMENTS = f"""
INSERT INTO judgements (TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, TraceState, JudgedAt,
    ReceivedAt)
SELECT {ID.format(n="number")}, 'trace', {ID.format(n="number")}, 'detectors', 'v', 'h', 'done', 'settled',
    1, fromUnixTimestamp64Nano({{at:Int64}})
FROM numbers({{count:UInt64}})
"""


def fill_look_ups(folder: str, spans: int, days: int) -> None:
    """Make the store of look-ups."""
    store = open_store(folder)
    migrate(store)
    now = time.time_ns()
    for first in range(0, spans, 2 * PER_INSERT):
        at = now - (days - 1) * DAY + first * (days - 1) * DAY // spans
        store.command(LOOK_UP_SPANS, {"first": first, "count": min(2 * PER_INSERT, spans - first), "at": at})
    traces = spans // SPANS_PER_TRACE
    for sql, count in ((LOOK_UP_TRACES, traces), (LOOK_UP_FINDINGS, traces * 3), (LOOK_UP_JUDGEMENTS, traces)):
        store.command(sql, {"count": count, "at": now})
    store.close()


def measure_look_ups(folder: str, spans: int) -> None:
    """Print the times of look-ups in one fresh process."""
    store = open_store(folder)
    reading, judging = StoredReading(store), StoredJudging(store)
    step = max(spans // (LOOK_UPS + 1), 1)
    span_ids = column(store, f"SELECT {SPAN_ID.format(n=f'number * {step}')} FROM numbers({LOOK_UPS})")
    trace_ids = column(
        store, f"SELECT {ID.format(n=f'intDiv(number * {step}, {SPANS_PER_TRACE})')} FROM numbers({LOOK_UPS})"
    )
    cases: dict[str, Callable[[int], object]] = {
        "knows(span)": lambda i: reading.knows("", span_ids[i]),
        "span row": lambda i: store.rows("SELECT * FROM otel_traces WHERE SpanId = {id:String}", {"id": span_ids[i]}),
        "load_spans(trace)": lambda i: judging.load_spans([trace_ids[i]]),
        "errors of a span": lambda i: reading.find_findings(ErrorQuery(SURE, 100, span_id=span_ids[i])),
        "errors, latest 100": lambda _: reading.find_findings(ErrorQuery(SURE, 100)),
        "errors, nothing new": lambda _: reading.find_findings(ErrorQuery(SURE, 100, after=Position(10**18))),
        "errors of an agent": lambda _: reading.find_findings(ErrorQuery(SURE, 100, agent="agent")),
        "traces, latest 100": lambda _: reading.find_traces(TraceQuery(SURE, 100)),
        "unjudged": lambda _: judging.unjudged("v", 10_000),
    }
    parts = store.rows("SELECT count(), uniqExact(partition) FROM system.parts WHERE active AND table = 'spans'")
    for name, query in cases.items():
        rounds = 20 if "," in name or name in ("unjudged", "errors of an agent") else LOOK_UPS
        times = [round(timed(partial(query, i)), 2) for i in range(rounds)]
        print(json.dumps({
            "query": name, "cold_ms": times[0], "median_ms": round(statistics.median(times[1:]), 2),
            "p95_ms": round(sorted(times[1:])[int(0.95 * len(times[1:]))], 2),
        }))  # fmt: skip
    print(json.dumps({"parts": parts[0][0], "weeks": parts[0][1]}))
    store.close()


def column(store: SharedStore, sql: str) -> list[str]:
    """The first column of a result."""
    return [row[0] for row in store.rows(sql)]


def main() -> None:
    """Fill, then measure in a fresh process."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--of", choices=["lists", "look-ups"], default="lists")
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--spans", type=int, default=1_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--folder", default="")
    parser.add_argument("--step", choices=["all", "fill", "measure"], default="all")
    args = parser.parse_args()
    is_lists = args.of == "lists"
    size = args.traces if is_lists else args.spans
    if args.step == "fill":
        (fill if is_lists else fill_look_ups)(args.folder, size, args.days)
    elif args.step == "measure":
        (measure if is_lists else measure_look_ups)(args.folder, size)
    else:
        with tempfile.TemporaryDirectory() as temporary:
            folder = args.folder or f"{temporary}/db"
            for step in ("fill", "measure"):
                subprocess.run([*sys.orig_argv, "--step", step, "--folder", folder], check=True)


if __name__ == "__main__":
    main()
