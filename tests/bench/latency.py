"""From the commit of the span that closes a turn to its finding being readable, at a steady rate.

`python tests/bench/latency.py [--rate 500] [--seconds 30]`: sends the corpus's traces in 32-span requests, in the
order in which the spans ended, many traces at once. Which request makes a finding possible is computed beforehand
by judging every prefix of each trace; a reader polls the API for what shows.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from pathlib import Path

from played import measure, play_corpus
from processes import serving


def main() -> None:
    """Print the delays' percentiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rate", type=float, default=500)
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    playing = play_corpus(options.rate * options.seconds)
    with tempfile.TemporaryDirectory() as store, serving(Path(store)) as collector:
        measured = asyncio.run(measure(collector, playing, options.rate))
    delays = sorted(max(measured.seen[k] - at, 0.0) for k, at in measured.acknowledged.items() if k in measured.seen)
    cuts = statistics.quantiles(delays, n=100)
    print(
        f"{len(delays)} findings of {len(measured.acknowledged)} expected while open: median {cuts[49]:.2f} s, "
        f"p90 {cuts[89]:.2f} s, p99 {cuts[98]:.2f} s, max {delays[-1]:.2f} s"
    )


if __name__ == "__main__":
    main()
