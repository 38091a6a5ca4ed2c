"""Durable ingest with TLS beside plain: `python tests/bench/tls.py [--passes 5] [--rounds 3] [--protocol grpc]`.

The load generator beside the corpus speaks plain gRPC: for TLS its channels are made secure ones. Rounds alternate, so
that what else the machine does meets both.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import yaml
from papers import Papers
from processes import serving
from served import BENCH

SECURED = """
import runpy, sys, grpc
grpc.aio.insecure_channel = lambda at, options: grpc.aio.secure_channel(at, grpc.ssl_channel_credentials(), options)
sys.path.insert(0, sys.argv[1])
sys.argv = [sys.argv[1] + "/load.py", *sys.argv[2:]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def main() -> None:
    """Print a line a round, then the medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    options = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    speeds: dict[bool, list[float]] = {False: [], True: []}
    for number in range(options.rounds):
        for secure in (False, True):
            speed = spans_a_second(options.protocol, options.passes, options.senders, secure=secure)
            speeds[secure].append(speed)
            print(f"round {number + 1}, {'TLS' if secure else 'plain'}: {speed:.0f} spans/s", flush=True)
    plain, tls = (statistics.median(speeds[secure]) for secure in (False, True))
    print(f"plain {plain:.0f}, TLS {tls:.0f} spans/s: {tls / plain:.2f}")


def spans_a_second(protocol: str, passes: int, senders: int, *, secure: bool) -> float:
    """Of one run over an empty store."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        papers = Papers(folder)
        section = {"tls": papers.issue().paths} if secure else {}
        (folder / "tracejury.yaml").write_text(yaml.safe_dump({"grpc": section, "http": section}))
        with serving(folder, "--config", "tracejury.yaml") as collector:
            host = f"localhost:{collector.ports[protocol]}"
            at = host if protocol == "grpc" else f"http{'s' if secure else ''}://{host}/v1/traces"
            program = ["-c", SECURED, str(BENCH)] if secure and protocol == "grpc" else [str(BENCH / "load.py")]
            command = [sys.executable, *program, "--proto", protocol, "--endpoint", at]
            sizes = ["-n", str(passes), "-c", str(senders)]
            trusted = dict.fromkeys(("SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"), str(papers.ca))
            done = subprocess.run(
                [*command, *sizes], check=True, capture_output=True, text=True, env=os.environ | trusted
            )
            load = json.loads(done.stdout)
            assert not load["errors"], load["errors"]
            return float(load["spans_s"])


if __name__ == "__main__":
    main()
