"""Times of what LLM judging reads and writes: `PYTHONPATH=tests/support python tests/bench/ledger.py [--runs N]`.

Makes an embedded store of its own with N agent runs of seven judges (one word in 150 pending) that were judged
over a week, and an answer of 2 kB for each; prints milliseconds, the first call and the median of the others.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence

from store_parts import a_judged_subject

from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.ledger import StoredLedger
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.queries.ledger import LedgerQuery
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Subject, SubjectKind

JUDGES = (
    "plan-quality", "plan-adherence", "goal-fulfilment", "logical-consistency", "execution-efficiency",
    "tool-selection", "tool-calling",
)  # fmt: skip
DAY = 86_400_000_000_000
ROUNDS = 21
RUNS_SAVED = 286
"""Seven judgements and verdicts each: 2,002 rows of both in one call."""

ID = "lower(hex(sipHash128({n})))"
AT = "{{now:UInt64}} - toUInt64(7 * {day} / {{runs:UInt64}}) * {n}"

FILL_WORDS = f"""
INSERT INTO judgements (TraceId, SubjectKind, SubjectId, Judge, Version, InputHash, Outcome, TraceState, Model,
    JudgedAt, ReceivedAt)
SELECT {ID.format(n="intDiv(number, 7)")}, 'agent-run', 'run', arrayElement({{judges:Array(String)}}, number % 7 + 1),
    'v', 'h', if(number % 1050 < 7, 'pending', 'done'), 'settled', 'some/model',
    {AT.format(n="intDiv(number, 7)", day=DAY)} AS at, fromUnixTimestamp64Nano(toInt64(at))
FROM numbers({{runs:UInt64}} * 7)
"""

FILL_ANSWERS = f"""
INSERT INTO answers (Key, At, Model, Text, FinishReason, InputTokens, OutputTokens, Cost, Priced, Service, TraceId,
    RunId, Purpose, ReceivedAt)
SELECT {ID.format(n="number + 1000000000")}, {AT.format(n="number", day=DAY)} AS at, 'some/model',
    repeat(toString(number), 300), 'stop', 20000, 800, 0.01, true, 'bench', {ID.format(n="number")}, 'run', 'panel',
    fromUnixTimestamp64Nano(toInt64(at))
FROM numbers({{runs:UInt64}})
"""


def subjects(base: int, count: int, now: int) -> list[JudgedSubject]:
    """Runs judged by all judges."""
    made = []
    for n in range(base, base + count):
        run = Subject(SubjectKind.AGENT_RUN, f"{n:016x}", f"{n:032x}")
        words = (a_judged_subject(judge, judged_at=now, received=now, subject=run) for judge in JUDGES)
        made.append(JudgedSubject(TraceState.SETTLED, tuple(word.judgements[0] for word in words)))
    return made


def measure(store: SharedStore, now: int) -> None:
    """Print a line a question."""
    panel, ledger = StoredLlmJudging(store), StoredLedger(store)
    keys = [row[0] for row in store.rows(f"SELECT Key FROM answers LIMIT {ROUNDS}")]
    traces = [row[0] for row in store.rows("SELECT DISTINCT TraceId FROM judgements LIMIT 100")]
    day = LedgerQuery(100, since=now - DAY)
    saves = [subjects(10**9 + n * RUNS_SAVED, RUNS_SAVED, now) for n in range(ROUNDS)]
    single = [subjects(10**8 + n, 1, now) for n in range(ROUNDS)]
    cases: dict[str, Callable[[int], object]] = {
        "save 2,002 judgements and verdicts": lambda i: panel.save(saves[i]),
        "save one run": lambda i: panel.save(single[i]),
        "answer by key": lambda i: panel.answer(keys[i], ""),
        "spend of a day": lambda _: panel.spend(now - DAY),
        "ledger of one trace": lambda i: ledger.entries(LedgerQuery(100, traces[i])),
        "ledgers of 100 traces": lambda _: panel.outcomes(traces),
        "ledger of a day, a page": lambda _: ledger.entries(day),
        "ledger of a day, summary": lambda _: ledger.summary(day),
        "pending, all of them": lambda _: panel.pending(10_000),
    }
    for name, case in cases.items():
        first, *others = [timed(case, i) for i in range(ROUNDS)]
        print(json.dumps({"what": name, "first_ms": first, "median_ms": round(statistics.median(others), 1)}))


def timed(case: Callable[[int], object], i: int) -> float:
    """Milliseconds of one call."""
    started = time.perf_counter()
    case(i)
    return round((time.perf_counter() - started) * 1e3, 1)


def main(arguments: Sequence[str] | None = None) -> None:
    """Fill, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000)
    args = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        store = SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))
        migrate(store)
        now = time.time_ns()
        store.command(FILL_WORDS, {"runs": args.runs, "now": now, "judges": list(JUDGES)})
        store.command(FILL_ANSWERS, {"runs": args.runs, "now": now})
        measure(store, now)
        store.close()


if __name__ == "__main__":
    main()
