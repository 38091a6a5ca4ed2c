"""Durable ingest of the corpus with judging on: `python tests/bench/ingest.py [--passes 20] [--senders 16]`.

Drives the load generator that stands beside the corpus, then waits until judging has caught up.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from processes import serving
from served import BENCH, metrics, resident, wait_until_judged


def main() -> None:
    """Print one line of figures a run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=20)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--spans", type=int, default=512, help="spans a request at most")
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    parser.add_argument("--config", default="")
    options = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    with tempfile.TemporaryDirectory() as folder:
        extra = ["--config", options.config] if options.config else []
        started = time.monotonic()
        with serving(Path(folder), *extra, new_store=True) as collector:
            ready = time.monotonic() - started
            host = f"127.0.0.1:{collector.ports[options.protocol]}"
            target = host if options.protocol == "grpc" else f"http://{host}/v1/traces"
            command = [sys.executable, str(BENCH / "load.py"), "--proto", options.protocol, "--endpoint", target]
            sizes = ["-n", str(options.passes), "-c", str(options.senders), "--max-spans", str(options.spans)]
            load = json.loads(subprocess.run([*command, *sizes], check=True, capture_output=True, text=True).stdout)
            during = metrics(collector)
            caught_up = wait_until_judged(collector, 1800)
            after = metrics(collector)
            judgings = during.get("tracejury_judge_judged_traces_total", 0)
            print(
                f"ready {ready:.2f} s; {load['spans']} spans ({load['MB']} MB) in {load['secs']} s: "
                f"{load['spans_s']:.0f} spans/s, p50 {load['p50_ms']} ms, p99 {load['p99_ms']} ms, "
                f"errors {load['errors']}; {judgings:.0f} judgings when the load ended, "
                f"caught up after {caught_up:.1f} s (5 s of quiet in it); committed "
                f"{after['otelcol_exporter_sent_spans_total']:.0f}, spilled requests "
                f"{after['tracejury_judge_spilled_requests_total']:.0f}, resident {resident(collector) / 2**20:.0f} MiB"
            )


if __name__ == "__main__":
    main()
