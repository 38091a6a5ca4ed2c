"""Planted faults become patterns, from spans to the API: errors of one fault are together, and no two faults are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from math import comb
from pathlib import Path

import httpx
import pytest
from judging_bench import Bench
from planted_faults import FAULTS, VERSIONS, PlantedRun, planted_runs
from served_api import served
from sizes import sized
from stored_readers import stored_reader

from tracejury.collector.api.services import Services
from tracejury.collector.app.web_app import create_web_app
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.registry import default_suite
from tracejury.processors.assemble import AssemblerConfig

RUNS = sized(800, 20_000)
AT_ONCE = 200
DAYS = 35


@pytest.mark.timeout(240 + RUNS // 8)
def test_forty_faults_are_told_apart(store: SharedStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bench = Bench(store, default_suite(), dead_letters=tmp_path)
    began, faults = bench.now, dict[str, PlantedRun]()
    left = planted_runs(RUNS)
    for number in range(RUNS // AT_ONCE):
        runs = list(islice(left, AT_ONCE))
        bench.now = began + number * DAYS * 86_400 * 10**9 * AT_ONCE // RUNS
        faults |= {run.trace_id: run for run in runs if run.fault is not None}
        bench.commit(*(span for run in runs for span in run.spans))
        bench.wait(60)
    reader = stored_reader(store, AssemblerConfig(), lambda: bench.now, list)
    services = Services(reader, lambda _ids, _by_hand: (), problems=tuple, metrics=bytes, clock=lambda: bench.now)
    with served(create_web_app(services)) as url:
        page = httpx.get(
            f"{url}/api/patterns", params={"since": "7d", "limit": 1000, "profile": "0"}, timeout=60
        ).json()
        members = {one["id"]: list(errors_of(url, one["id"])) for one in page["items"]}
    found = {
        pattern: Counter(faults[trace_id].fault if trace_id in faults else None for trace_id in errors)
        for pattern, errors in members.items()
    }
    planted = Counter(run.fault for run in faults.values())
    seen = sum(planted.values()) - len(faults.keys() - {trace_id for own in members.values() for trace_id in own})
    together = sum(comb(count, 2) for own in found.values() for fault, count in own.items() if fault is not None)
    pairs = sum(comb(sum(own[fault] for own in found.values()), 2) for fault in planted)
    mixed = sum(len(own) > 1 for own in found.values())
    with capsys.disabled():
        print(  # noqa: T201 - the figures of the docs
            f"\n{seen} of {len(faults)} planted faults in {RUNS} runs are in {len(found)} patterns, of which {mixed} "
            f"mix two; pairs of one fault in one pattern: {together / pairs:.3f}"
        )
    assert len(planted) == len(FAULTS)
    assert seen >= 0.99 * len(faults)
    assert together >= 0.95 * pairs
    assert mixed <= 0.02 * len(found)
    assert {one["service"] for one in page["items"]} == {fault.service for fault in FAULTS}
    assert {version for one in page["items"] for version in one["versions"]} == set(VERSIONS)


def errors_of(url: str, pattern: str) -> Iterator[str]:
    """The trace of each error of a pattern."""
    params = {"pattern": pattern, "limit": "1000", "profile": "0"}
    while True:
        page = httpx.get(f"{url}/api/errors", params=params, timeout=60).json()
        yield from (one["trace_id"] for one in page["items"])
        if not page["next"]:
            return
        params["before"] = page["next"]
