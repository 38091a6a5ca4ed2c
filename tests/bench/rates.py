"""Times of questions about error rates: `python tests/bench/rates.py [--findings 10000000] [--days 30]`.

Makes an embedded store of its own, and keeps it with `--folder` to be asked again. Facts of runs (two findings each on
average, two runs a trace; 5 services, 3 versions, 8 agents, 4 models, 10 tools, 20 detectors, 7 LLM judges that look at
a tenth of the runs) are written by SQL, as judging would have. Prints milliseconds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.patterns import Patterns
from tracejury.collector.rates import StoredRates
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.scope import Scope
from tracejury.schemas.queries.patterns import PatternQuery
from tracejury.schemas.rates import By, Population, RateQuery, Unit
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES

DAY = 24 * HOUR
ROUNDS = 7
FINDINGS_A_RUN = 2

# Of a run `i` two in five have five findings; a trace has those of its two runs.
FILL = """
INSERT INTO run_facts (Unit, Hour, TraceId, RunId, At, Service, Version, Session, Agent, Role, Model, Known, Turns,
    Detectors, Judges, Both, JudgesWhy, BothWhy, `Scored.Judge`, `Scored.Weight`, `Errors.Judge`, `Errors.Llm`,
    `Errors.Scopes`, `Errors.Dimensions`, `Errors.Taxonomy`, `Errors.Category`, `Errors.Low`, `Errors.Medium`,
    `Errors.High`, `Errors.Tool`, `Errors.Turn`, `Errors.Pattern`, Parts, FoldedAt, ReceivedAt)
SELECT {unit:String}, intDiv(at, 3600000000000), lower(hex(sipHash128(trace))) AS id,
    if({unit:String} = 'run', lower(hex(sipHash64(number))), ''),
    toUInt64({from:UInt64}) + intDiv({length:UInt64}, {rows:UInt64}) * number AS at,
    concat('service-', toString(h % 5)), concat('1.', toString((intDiv(at, 864000000000000) + h) % 3)),
    concat('session-', toString(intDiv(trace, 3))),
    concat('agent-', toString(intDiv(h, 5) % 8)), if(intDiv(h, 5) % 8 = 0, 'manager', 'sub-agent'),
    concat('model-', toString(intDiv(h, 5) % 8 % 4)), 1, 10, 1, judged * 10, judged * 10,
    if(judged, '', 'sampled-out'), if(judged, '', 'sampled-out'),
    if(judged, arrayMap(n -> concat('judge-', toString(n)), range(7)), []),
    if(judged, arrayMap(n -> 10., range(7)), []),
    arrayMap(f -> if(f % 2 AND judged, concat('judge-', toString(f % 7)), concat('rule-', toString(f % 20))), found),
    arrayMap(f -> f % 2 AND judged, found), arrayMap(f -> if(f % 2 AND judged, 14, 13), found),
    arrayMap(f -> arraySlice(['PQ', 'PA', 'GF', 'LC', 'EE', 'TS', 'TC'], f % 7 + 1, 1 + f % 2), found),
    arrayMap(f -> 'trail', found), arrayMap(f -> {categories:Array(String)}[f % 21 + 1], found),
    arrayMap(f -> f % 100 / 100, found), arrayMap(f -> if(f % 3 > 0, f % 100 / 100, -1.), found),
    arrayMap(f -> if(f % 3 > 1, f % 100 / 100, -1.), found),
    arrayMap(f -> if(f % 4 = 0, '', concat('tool-', toString(f % 10))), found),
    arrayMap(f -> toInt32(f % 10), found),
    arrayMap(f -> concat('pattern-', toString(h % 5), '-', toString(f % 80)), found), [id], 1,
    fromUnixTimestamp64Nano(toInt64(at))
FROM
(
    SELECT number, if({unit:String} = 'run', intDiv(number, 2), number) + {base:UInt64} AS trace,
        cityHash64(number, {base:UInt64}) AS h, h % 10 = 0 AS judged,
        arrayMap(n -> cityHash64(h, n), range(if(h % 5 < 2, if({unit:String} = 'run', 5, 10), 0))) AS found
    FROM numbers({rows:UInt64})
)
"""


def fill(store: Store, findings: int, days: int, until: int) -> None:
    """Facts up to `until`, a day at a time."""
    runs = findings // FINDINGS_A_RUN // days
    for day in range(days):
        values = {"from": until - (days - day) * DAY, "length": DAY, "categories": list(TRAIL_CATEGORIES)}
        for unit, rows in (("run", runs), ("trace", runs // 2)):
            store.command(FILL, {**values, "unit": unit, "rows": rows, "base": day * runs})


def questions(until: int, days: int) -> dict[str, Callable[[StoredRates], object]]:
    """What pages and people ask."""
    since, last = until - days * DAY, until - DAY
    month = RateQuery(since, until, population=Population.DETECTORS)
    return {
        "overall by day": lambda r: r.ask(replace(month, step=DAY)),
        "overall by day, whoever judged": lambda r: r.ask(RateQuery(since, until, DAY)),
        "by category": lambda r: r.ask(replace(month, by=By.CATEGORY)),
        "by category and day": lambda r: r.ask(replace(month, by=By.CATEGORY, step=DAY)),
        "by agent, of one service": lambda r: r.ask(replace(month, by=By.AGENT, service="service-1")),
        "by tool": lambda r: r.ask(replace(month, by=By.TOOL)),
        "by judge": lambda r: r.ask(RateQuery(since, until, by=By.JUDGE)),
        "by dimension and hour, last day": lambda r: r.ask(
            RateQuery(last, until, HOUR, By.DIMENSION, population=Population.DETECTORS)
        ),
        "by hour, the whole time": lambda r: r.ask(replace(month, step=HOUR)),
        "turns, by model": lambda r: r.ask(replace(month, by=By.MODEL, unit=Unit.TURN)),
        "last week compared to the one before": lambda r: r.compare(
            RateQuery(until - 14 * DAY, until - 7 * DAY), RateQuery(until - 7 * DAY, until)
        ),
        "one version compared to another": lambda r: r.compare(
            replace(month, version="1.0"), replace(month, version="1.1")
        ),
        "of a category in a tool, last day": lambda r: r.ask(
            RateQuery(last, until, category="Goal Deviation", tool="tool-3")
        ),
        "of a category in a tool": lambda r: r.ask(replace(month, category="Goal Deviation", tool="tool-3")),
    }


def measure(rates: StoredRates, until: int, days: int, rounds: int) -> None:
    """Print a line a question."""
    for name, ask in questions(until, days).items():
        times = []
        for _ in range(rounds):
            started = time.perf_counter()
            ask(rates)
            times.append((time.perf_counter() - started) * 1e3)
        p95 = sorted(times)[-1 - len(times) // 20]
        line = {"what": name, "p50_ms": round(statistics.median(times), 1), "p95_ms": round(p95, 1)}
        show(line)


ERRORS = """
INSERT INTO errors (TraceId, SpanId, Id, State, Cause, Title, Judge, Judges, Taxonomy, Category, Confidence,
    MediumConfidence, HighConfidence, Evidence, Explanation, FindingIds, FirstSeen, Pattern, Whole, FoldedAt,
    ReceivedAt)
SELECT TraceId, RunId, lower(hex(MD5(concat(RunId, toString(n))))), 'current', 'failed-call', 'Resource not found',
    'rule', ['rule'], 'trail', 'Resource Not Found', .7, .7, .7, repeat('quote ', 20), repeat('why ', 40), ['f'], At,
    pattern, TraceId, 1, ReceivedAt
FROM run_facts ARRAY JOIN `Errors.Pattern` AS pattern, arrayEnumerate(`Errors.Pattern`) AS n
"""
"""The errors of the facts, 400 patterns of them, with texts of usual length."""


def measure_patterns(store: Store, until: int, rounds: int) -> None:
    """The list of patterns of the last week: the first time, again, and each time after another error."""
    store.command(f"{ERRORS} WHERE Unit = 'run'")
    patterns, query = Patterns(Scope(store), StoredLabels(store), time.time_ns), PatternQuery(until - 7 * DAY, until)
    first, again, later = [], [], []
    for number in range(rounds):
        patterns = Patterns(Scope(store), StoredLabels(store), time.time_ns)
        first.append(timed(patterns, query))
        again.append(timed(patterns, query))
        values = {"from": until - HOUR, "length": HOUR, "categories": list(TRAIL_CATEGORIES), "unit": "run", "rows": 8}
        store.command(FILL, {**values, "base": 10**9 + 100 * number})
        store.command(f"{ERRORS} WHERE Unit = 'run' AND TraceId NOT IN (SELECT TraceId FROM errors)")
        time.sleep(1)  # merges of what was inserted
        later.append(timed(patterns, query))
        found = patterns.ask(query).looked_at
    for name, times in (("first", first), ("again", again), ("after new errors", later)):
        wall, cpu = (round(statistics.median(one), 0) for one in zip(*times, strict=True))
        show({"what": f"list of {found} patterns, {name}", "p50_ms": wall, "p50_cpu_ms": cpu})


def timed(patterns: Patterns, query: PatternQuery) -> tuple[float, float]:
    """The time that passes, and that of the process, in milliseconds."""
    started, used = time.perf_counter(), time.process_time()
    patterns.ask(query)
    return (time.perf_counter() - started) * 1e3, (time.process_time() - used) * 1e3


def prepare(store: Store, args: argparse.Namespace) -> None:
    """Fill, as long as there is nothing; say what there is."""
    migrate(store)
    started = time.perf_counter()
    if not store.rows("SELECT 1 FROM run_facts LIMIT 1"):
        fill(store, args.findings, args.days, time.time_ns() // HOUR * HOUR)
    found = store.rows("SELECT count(), sum(length(Errors.Judge)) FROM run_facts WHERE Unit = 'run'")[0]
    show({"runs": found[0], "findings": found[1], "seconds": round(time.perf_counter() - started)})


def show(line: object) -> None:
    """Print it at once."""
    print(json.dumps(line), flush=True)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill, ask."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=10_000_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--folder", help="where the store is kept; one that is filled is only asked")
    parser.add_argument("--patterns", action="store_true", help="only the list of patterns; best with --days 35")
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(f"chdb://{args.folder or folder}/db", StoreConfig(retention_days=None))
        prepare(store, args)
        until = (store.rows("SELECT max(Hour) + 1 FROM run_facts")[0][0]) * HOUR
        if args.patterns:
            measure_patterns(store, until, args.rounds)
        else:
            measure(StoredRates(store, rules=[f"rule-{n}" for n in range(20)]), until, args.days, args.rounds)
        store.close()


if __name__ == "__main__":
    main()
