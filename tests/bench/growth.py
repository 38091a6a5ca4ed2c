"""What queries take as the store grows: `python tests/bench/growth.py [--spans N ...] [--folder F]`.

An embedded store of each size: ten spans a trace, a third of a million spans a day up to now, three findings and two
errors a trace, all of it judged, and rates as of `overview.py`. Prints a line a size and query: the first time of a new
process and the median of the others in milliseconds, and the median of what it took of all processors together, which
does not depend on what else the machine does. The first "unjudged" reads all, the next ones what is new since.
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
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))

import httpx
import overview  # type: ignore[import-not-found]  # benchmarks beside this one
import rates as facts  # type: ignore[import-not-found]
from lists import AT, DAY, FILL_SPANS, FILL_TRACES, ID, PER_INSERT, SLICE  # type: ignore[import-not-found]
from served_api import served
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.errors import StoredErrors
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.lists.pending import list_pending
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.listing import Sort
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from tracejury.schemas.taxonomy import Severity

SIZES = (200_000, 1_000_000, 3_000_000, 10_000_000)
A_DAY = 333_333
A_TRACE = 10
ROUNDS = 11
SURE = Confidence.of("")
PAGES = ("/", "/?range=30d", "/overview/by/agent", "/overview/worst", "/overview/judging", "/overview/doctor",
         "/fragments/services")  # fmt: skip

FILL_JUDGEMENTS = f"""
INSERT INTO judgements (TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, TraceState, JudgedAt,
    ReceivedAt)
SELECT {ID.format(n="intDiv(number, 2)")}, 'trace', {ID.format(n="intDiv(number, 2)")}, 'detectors', 'v',
    toString(number % 2), 'done', ['open', 'settled'][number % 2 + 1], {{at:UInt64}} + 6000000000 + number,
    fromUnixTimestamp64Nano(toInt64({{at:UInt64}} + 5000000000))
{SLICE}
"""
FILL_ERRORS = f"""
INSERT INTO errors (TraceId, SpanId, Id, State, Title, AgentRunId, Judge, Judges, Dimensions, Taxonomy, Category,
    Confidence, MediumConfidence, HighConfidence, Evidence, Explanation, FindingIds, FirstSeen, Whole, FoldedAt,
    ReceivedAt)
SELECT {ID.format(n="intDiv(number, 2)")} AS trace, 'c', {ID.format(n="number, 'e'")}, 'current', 'It failed', 'r',
    'rule-1', ['rule-1'], ['TC'], 'trail', concat('Category ', toString(number % 13)), 0.9, if(number % 2, 0.9, -1),
    if(number % 100 = 0, 0.9, -1), concat('evidence number', toString(number)), repeat('because it was so ', 8),
    [{ID.format(n="number, 'f'")}], {{at:UInt64}} + 7000000000 + number, trace, 1, {AT}
{SLICE}
"""

FILLS = (
    (FILL_TRACES, 1), (overview.FINDINGS, 3), (FILL_SPANS, A_TRACE), (overview.WORDS, 0.1), (FILL_JUDGEMENTS, 2),
    (FILL_ERRORS, 2),
)  # fmt: skip


def fill(folder: str, spans: int) -> None:
    """Make the store."""
    traces, now = spans // A_TRACE, time.time_ns()
    days = max(round(spans / A_DAY), 1)
    store = overview.open_store(folder)
    migrate(store)
    for first in range(0, traces, PER_INSERT):
        at = now - 2 * HOUR - (traces - PER_INSERT - first) * days * DAY // traces
        for sql, each in FILLS:
            store.command(sql, {"first": int(first * each), "count": int(PER_INSERT * each), "at": at})
    facts.fill(store, traces * 2 * facts.FINDINGS_A_RUN, days, now // HOUR * HOUR)
    store.command(overview.FOLDED, {"now": now})
    store.close()


def cases(store: SharedStore) -> dict[str, Callable[[], object]]:
    """The queries of the store, by name."""
    judging, reading, errors = StoredJudging(store), StoredReading(store), StoredErrors(store)
    latest, traces = ErrorQuery(SURE, 100), TraceQuery(SURE, 100)

    def look() -> None:
        store.pending.look_since(0)
        list_pending(store)

    return {
        "unjudged": lambda: judging.unjudged("v", 10_000),
        "latest 100 findings": lambda: reading.find_findings(latest),
        "latest 100 errors": lambda: errors.find(latest),
        "latest 100 HIGH errors": lambda: errors.find(replace(latest, severity=Severity.HIGH)),
        "latest 100 errors of a service": lambda: errors.find(replace(latest, service="service-3")),
        "traces that lists lack, after a start": look,
        "latest 100 traces": lambda: reading.find_traces(traces),
        "longest 100 traces": lambda: reading.find_traces(replace(traces, sort=Sort.DURATION)),
        "100 traces with the most errors": lambda: reading.find_traces(replace(traces, sort=Sort.ERRORS)),
        "latest 100 traces with HIGH errors": lambda: reading.find_traces(replace(traces, severity=Severity.HIGH)),
        "latest 100 traces with a text": lambda: reading.find_traces(replace(traces, text="evidence number77")),
    }


def measure(folder: str, spans: int) -> None:
    """Print the times of one fresh process."""
    store = overview.open_store(folder)
    migrate(store)  # a store that was kept may be older
    for name, query in cases(store).items():
        show(spans, name, query)
    reader = stored_reader(store, AssemblerConfig())
    app = create_web_app(Services(reader, lambda _ids, _by_hand: [], problems=list, metrics=bytes))
    with served(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        for page in PAGES:
            show(spans, page, lambda page=page: client.get(page).raise_for_status())  # type: ignore[misc]
    store.close()


def show(spans: int, name: str, query: Callable[[], object]) -> None:
    """Print the times of a query."""
    wall, spent = [], []
    for _ in range(ROUNDS):
        began, before = time.perf_counter(), time.process_time()
        query()
        wall.append((time.perf_counter() - began) * 1e3)
        spent.append((time.process_time() - before) * 1e3)
    figures = {"first_ms": wall[0], "median_ms": statistics.median(wall[1:]), "cpu_ms": statistics.median(spent[1:])}
    print(json.dumps({"spans": spans, "query": name} | {k: round(v, 1) for k, v in figures.items()}), flush=True)


def main() -> None:
    """Fill, then measure in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, nargs="+", default=SIZES)
    parser.add_argument("--folder", default="", help="keep the stores here, and use those that are there")
    parser.add_argument("--step", choices=["fill", "measure"])
    args = parser.parse_args()
    for spans in args.spans:
        with tempfile.TemporaryDirectory() as temporary:
            folder = f"{args.folder or temporary}/{spans}"
            if args.step:
                (fill if args.step == "fill" else measure)(folder, spans)
                continue
            for step in ("fill", "measure") if not Path(folder).exists() else ("measure",):
                command = [sys.executable, __file__, "--step", step, "--spans", str(spans)]
                subprocess.run([*command, "--folder", args.folder or temporary], check=True)


if __name__ == "__main__":
    main()
