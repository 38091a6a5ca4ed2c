"""First answers about a huge trace, and a finding behind a backlog: `python tests/bench/huge.py [--spans N]`.

A collector in a process of its own takes one trace of N spans (100,000) over OTLP. Its page, its panel and its JSON are
read while it is open, once it is judged, and after a restart; after the restart N tiny traces (100,000) are sent, and
then one with an error, whose finding is waited for. Prints milliseconds to the last byte.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from large_trace import large_trace
from otlp_parts import span as proto_span
from otlp_parts import text, traces
from processes import Serving, serving
from sent_spans import PER_REQUEST, of_spans, send
from served import wait_until_judged

from tracejury.collector.otlp.codec.groups import Request

HUGE, FAULTY = "c" * 32, "f" * 32


def tiny(count: int) -> Iterable[Request]:
    """Traces of one agent span each, as requests."""
    for first in range(0, count, PER_REQUEST):
        numbers = range(first + 1, min(first + PER_REQUEST, count) + 1)
        kind = text("openinference.span.kind", "AGENT")
        yield traces(
            *(proto_span(trace_id=n.to_bytes(16), attributes=[kind, text("input.value", f"task {n}")]) for n in numbers)
        )


def show(when: str, collector: Serving) -> None:
    """Time the first answers about the huge trace, twice each."""
    with httpx.Client(base_url=collector.url, timeout=600) as client:
        for path in (f"/traces/{HUGE}", f"/traces/{HUGE}/panel", f"/api/traces/{HUGE}", "/api/traces"):
            for time_of in ("first", "again"):
                started = time.perf_counter()
                answer = client.get(path)
                took = (time.perf_counter() - started) * 1e3
                row = {"when": when, "path": path.replace(HUGE, "ID"), "answer": time_of, "ms": round(took)}
                print(json.dumps(row | {"status": answer.status_code, "kB": len(answer.content) // 1000}), flush=True)


def wait_for_finding(collector: Serving) -> float:
    """Send the trace with an error; the seconds until its finding can be read."""
    asyncio.run(send(collector, of_spans(large_trace(200, FAULTY))))
    started = time.monotonic()
    with httpx.Client(base_url=collector.url, timeout=60) as client:
        while not client.get("/api/errors", params={"trace": FAULTY, "profile": "0"}).json().get("items"):
            time.sleep(0.05)
    return time.monotonic() - started


def main() -> None:
    """Print all times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spans", type=int, default=100_000)
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--text", type=int, default=40, help="characters of a message")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as store:
        with serving(Path(store)) as collector:
            if options.spans:
                took = asyncio.run(send(collector, of_spans(large_trace(options.spans, HUGE, text=options.text))))
                print(f"{options.spans} spans of one trace acknowledged in {took:.1f} s", flush=True)
                show("open", collector)
                print(f"judged {wait_until_judged(collector, 900):.1f} s later", flush=True)
                show("judged", collector)
            collector.stop()
        with serving(Path(store)) as collector:
            if options.spans:
                show("restarted", collector)
            if options.traces:
                took = asyncio.run(send(collector, tiny(options.traces)))
                print(f"{options.traces} tiny traces acknowledged in {took:.1f} s", flush=True)
                print(f"a finding behind them readable after {wait_for_finding(collector):.2f} s", flush=True)
                print(f"all judged {wait_until_judged(collector, 900):.1f} s later", flush=True)
            collector.stop()


if __name__ == "__main__":
    main()
