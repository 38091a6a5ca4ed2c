"""Times of the list of patterns: `PYTHONPATH=tests/bench python tests/bench/patterns.py [--errors 200000] [--days 35]`.

Facts of runs as in rates.py, two errors a run on average, of 400 patterns; the errors beside them. Prints
milliseconds of the first list in a process, of later ones, and of one after new errors, with the number of patterns.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time

from rates import DAY, fill

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.queries.patterns import Patterns
from tracejury.collector.store.client import Store
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.scope import Scope
from tracejury.schemas.queries.patterns import PatternQuery

ROUNDS = 9
ERRORS = """
INSERT INTO errors (TraceId, SpanId, Id, State, Cause, Title, Judge, Judges, Taxonomy, Category, Confidence,
    MediumConfidence, HighConfidence, Evidence, Explanation, FindingIds, FirstSeen, Pattern, Whole,
    FoldedAt, ReceivedAt)
SELECT TraceId, RunId, lower(hex(MD5(concat(RunId, toString(n))))), 'current', 'failed-call', 'Resource not found',
    'rule', ['rule'], 'trail', 'Resource Not Found', .7, .7, .7, repeat('quote ', 20), repeat('why ', 40), ['f'], At,
    pattern, TraceId, 1, ReceivedAt
FROM run_facts ARRAY JOIN `Errors.Pattern` AS pattern, arrayEnumerate(`Errors.Pattern`) AS n WHERE Unit = 'run'
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", type=int, default=200_000)
    parser.add_argument("--days", type=int, default=35)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        dsn = f"chdb:///{folder}/db"
        store = Store.open(dsn, StoreConfig(dsn=dsn))
        migrate(store)
        until = time.time_ns() // DAY * DAY
        fill(store, given.errors, given.days, until)
        store.command(ERRORS)
        patterns = Patterns(Scope(store), StoredLabels(store), time.time_ns)
        query = PatternQuery(until - 7 * DAY, until)
        took = []
        for number in range(ROUNDS):
            began = time.perf_counter()
            answer = patterns.ask(query)
            took.append(1000 * (time.perf_counter() - began))
            if number == ROUNDS - 2:
                fill(store, given.days * 8, given.days, until + 1)
        stored = store.rows("SELECT count() FROM errors")[0][0]
        print(
            f"{stored} errors of {answer.looked_at} patterns: first {took[0]:.0f} ms, then "
            f"{statistics.median(took[1:-1]):.0f} ms, after new errors {took[-1]:.0f} ms"
        )
        store.close()


if __name__ == "__main__":
    main()
