"""From the commit of the span that closes a turn to a webhook's receipt of the finding, at a steady rate.

`python tests/bench/webhook.py [--rate 500] [--seconds 30]`: the corpus as in latency.py; a receiver on this machine
notes when each finding arrives while its trace is open.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import tempfile
import time
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from hook_server import SECRET, Received, answer, hook_server
from played import Measured, Playing, play_corpus, send
from processes import Serving, serving

AFTER = 8.0
"""Seconds for what comes last."""


async def measure(collector: Serving, playing: Sequence[Playing], rate: float, measured: Measured) -> None:
    """Send, and let the last findings arrive."""
    await send(collector, playing, rate, measured)
    await asyncio.sleep(AFTER)


def main() -> None:
    """Print the delays' percentiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    playing = play_corpus(options.rate * options.seconds)
    measured = Measured()
    taken = answer(204)

    def note(handler: BaseHTTPRequestHandler, received: Received) -> None:
        finding = received.said["data"]["finding"]
        measured.seen.setdefault((finding["trace_id"], finding["span_id"], finding["category"]), time.time())
        taken(handler, received)

    os.environ["HOOK_SECRET"] = SECRET
    with tempfile.TemporaryDirectory() as store, hook_server(note) as server:
        config = Path(store) / "config.yaml"
        hook = {"name": "bench", "url": server.url, "secret": "${HOOK_SECRET}", "profile": "0"}
        config.write_text(json.dumps({"webhooks": [hook]}))
        with serving(Path(store), "--config", str(config)) as collector:
            asyncio.run(measure(collector, playing, options.rate, measured))
    delays = sorted(max(measured.seen[k] - at, 0.0) for k, at in measured.acknowledged.items() if k in measured.seen)
    cuts = statistics.quantiles(delays, n=100)
    print(
        f"{len(server.received)} webhooks; {len(delays)} findings of {len(measured.acknowledged)} expected while open: "
        f"median {cuts[49]:.2f} s, p90 {cuts[89]:.2f} s, p99 {cuts[98]:.2f} s, max {delays[-1]:.2f} s"
    )


if __name__ == "__main__":
    main()
