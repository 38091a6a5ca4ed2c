"""kill -9 under load, again and again: `python tests/bench/kill.py [--rounds 5] [--seconds 4]`.

Senders replay the corpus with fresh ids and note the ids of every acknowledged span; the collector is killed in the
middle, started again on the same store, and everything acknowledged must be there; in the end every trace must have
been judged, without being asked for.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path

import httpx
from processes import Serving, serving
from served import CORPUS, wait_until_judged

from tracejury.collector.otlp.client import FreshIds, batches, connect, encoded
from tracejury.collector.otlp.codec.groups import Request, rows, schema_of
from tracejury.collector.otlp.codec.signals import SPANS
from tracejury.collector.otlp.files import read
from tracejury.schemas.errors import TracejuryError

SENDERS = 16


async def send_until_killed(collector: Serving, corpus: Sequence[Request], acknowledged: dict[str, set[str]]) -> None:
    """Send passes of the corpus until the collector no longer answers."""

    async def send() -> None:
        client = connect(f"127.0.0.1:{collector.ports['grpc']}", "grpc")
        while collector.process.poll() is None:
            for part in batches(FreshIds().rewrite(random.choice(corpus)), 64):  # noqa: S311  which trace does not matter
                try:
                    await client.send(encoded(part))
                except TracejuryError:
                    return
                for _, _, span in rows(part):
                    acknowledged.setdefault(span.trace_id.hex(), set()).add(span.span_id.hex())

    await asyncio.gather(*(send() for _ in range(SENDERS)))


def lost(collector: Serving, acknowledged: dict[str, set[str]]) -> tuple[int, int]:
    """(acknowledged spans that are not stored, acknowledged traces that are not judged)."""
    missing = unjudged = 0
    with httpx.Client(base_url=collector.url, timeout=60) as client:
        for trace_id, span_ids in acknowledged.items():
            answer = client.get(f"/api/traces/{trace_id}")
            stored = answer.json()["spans"] if answer.status_code == httpx.codes.OK else 0
            missing += max(len(span_ids) - stored, 0)
        judged, cursor = set[str](), ""
        while True:
            page = client.get("/api/traces", params={"limit": 1000} | ({"cursor": cursor} if cursor else {})).json()
            judged |= {row["trace_id"] for row in page["items"] if row["state"] != "open"}
            cursor = page["next"]
            if not cursor:
                break
        unjudged = len(acknowledged.keys() - judged)
    return missing, unjudged


def main() -> None:
    """Print what was lost; exit with 1 where anything was."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    options = parser.parse_args()
    folder = CORPUS / "traces"
    if not folder.exists():
        sys.exit(f"skipped: the corpus is not at {folder}")
    corpus = [source.request for source in read([folder]) if schema_of(source.request) is SPANS]
    acknowledged: dict[str, set[str]] = {}
    with tempfile.TemporaryDirectory() as store:
        for number in range(options.rounds):
            with serving(Path(store)) as collector:
                threading.Timer(options.seconds, collector.process.kill).start()
                asyncio.run(send_until_killed(collector, corpus, acknowledged))
            print(f"round {number + 1}: killed; {sum(map(len, acknowledged.values()))} spans acknowledged so far")
        rootless = Path(store) / "config.yaml"  # a trace cut in half has no root: do not wait ten minutes for it
        rootless.write_text("judging: {rootless_seconds: 5}\n")
        with serving(Path(store), "--config", str(rootless)) as collector:
            took = wait_until_judged(collector, 600)
            missing, unjudged = lost(collector, acknowledged)
    traces, spans = len(acknowledged), sum(map(len, acknowledged.values()))
    print(
        f"{spans} spans of {traces} traces acknowledged; lost {missing}; unjudged {unjudged}; caught up in {took:.0f} s"
    )
    sys.exit(1 if missing or unjudged else 0)


if __name__ == "__main__":
    main()
