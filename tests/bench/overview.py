"""Times of the overview and the pages beside it: `python tests/bench/overview.py [--traces N] [--days D] [--folder F]`.

An embedded store of its own: N traces (100,000: a million spans at ten a trace) over D days with three findings each,
the facts of two runs a trace for rates, and seven LLM judges that looked at a tenth of the runs; a server of its own.
"cold": the first request after a start. Prints milliseconds to the last byte.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from stored_readers import stored_reader

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))

import rates as facts  # type: ignore[import-not-found]  # a benchmark beside this one
from lists import DAY, FILL_FINDINGS, FILL_SPANS, FILL_TRACES, ID, PER_INSERT, SLICE  # type: ignore[import-not-found]
from served_api import served

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.derived.facts import HOUR
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig

# Findings come a second after their spans, as many of each trace at the span "c" that is stored for it.
FINDINGS = FILL_FINDINGS.replace("number + 1, 'detectors'", "{at:UInt64} + 1000000000 + number, 'detectors'").replace(
    "'c', ", "lower(hex(sipHash64(intDiv(number, 3) * 10 + number % 3, 1))), "
)
WORDS = f"""
INSERT INTO judgements (TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, TraceState, Findings,
    Model, Probability, JudgedAt, ReceivedAt)
SELECT {ID.format(n="number * 10")}, 'agent-run', 'r',
    arrayJoin(arrayMap(n -> concat('judge-', toString(n)), range(7))),
    if({{at:UInt64}} % 2 = 0, 'v1', 'v2'), 'h', ['done', 'done', 'done', 'failed', 'cached'][number % 5 + 1],
    'settled', number % 3 = 0, 'some/model', 0.1, {{at:UInt64}} - 7200000000000 + number,
    fromUnixTimestamp64Nano(toInt64({{at:UInt64}} + number))
{SLICE}
"""
PAGES = (
    "/", "/?range=7d", "/?range=30d", "/?range=1h", "/?service=service-1", "/?unit=turn&population=detectors",
    "/overview/by/agent", "/overview/by/tool", "/overview/by/category", "/overview/by/dimension", "/overview/by/judge",
    "/overview/by/agent?range=30d", "/overview/worst", "/overview/judging", "/overview/judging?range=30d",
    "/overview/doctor", "/judges", "/judges/judge-1", "/labels", "/labels?purpose=learning", "/explain",
)  # fmt: skip


def open_store(folder: str) -> SharedStore:
    """The store, in which nothing expires."""
    return SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))


def fill(folder: str, traces: int, days: int) -> None:
    """Make the store."""
    store = open_store(folder)
    migrate(store)
    now = time.time_ns()
    for first in range(0, traces, PER_INSERT):
        at = now - HOUR - (traces - PER_INSERT - first) * days * DAY // traces
        for sql, each in ((FILL_TRACES, 1.0), (FINDINGS, 3), (FILL_SPANS, 10), (WORDS, 0.1)):
            slices = {"first": int(first * each), "count": int(min(PER_INSERT, traces - first) * each)}
            store.command(sql, {**slices, "at": at})
    until = now // HOUR * HOUR
    facts.fill(store, traces * 2 * facts.FINDINGS_A_RUN, days, until)
    store.close()


def measure(folder: str, rounds: int) -> None:
    """Print a line a page."""
    store = open_store(folder)
    reader = stored_reader(store, AssemblerConfig())
    app = create_web_app(Services(reader, lambda _ids, _by_hand: [], problems=list, metrics=bytes))
    with served(app) as url, httpx.Client(base_url=url, trust_env=False, timeout=60) as client:
        for path in PAGES:
            times = []
            for _ in range(rounds + 1):
                started = time.perf_counter()
                answer = client.get(path)
                times.append((time.perf_counter() - started) * 1e3)
                assert answer.status_code == 200, answer.text[:300]
            cold, warm = times[0], sorted(times[1:])
            figures = {"cold_ms": cold, "best_ms": warm[0], "p50_ms": statistics.median(warm), "max_ms": warm[-1]}
            told = {"page": path} | {name: round(value) for name, value in figures.items()}
            print(json.dumps(told), flush=True)
    store.close()


def main() -> None:
    """Fill, then measure in a process of its own."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--folder", help="keep the store here, and use the one that is there")
    parser.add_argument("--only-measure", action="store_true")
    args = parser.parse_args()
    if args.only_measure:
        measure(args.folder, args.rounds)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = args.folder or temporary
        if not (Path(folder) / "db").exists():
            fill(folder, args.traces, args.days)
        subprocess.run(
            [sys.executable, __file__, "--only-measure", "--folder", folder, "--rounds", str(args.rounds)], check=True
        )


if __name__ == "__main__":
    main()
