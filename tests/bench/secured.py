"""Durable ingest with keys, TLS and ten rules of redaction, each alone and together, beside plain ingest.

`python tests/bench/secured.py [--passes 5] [--rounds 3] [--protocol grpc] [--only plain --only all]`. Rounds take the
variants in turn, so that what else the machine does meets all of them. The load generator beside the corpus speaks
plain gRPC: for TLS its channels are made secure ones.
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
from typing import Any, Final, NamedTuple

import yaml
from papers import Papers
from processes import serving, tracejury
from served import BENCH, cpu_seconds

SECURED = """
import runpy, sys, grpc
grpc.aio.insecure_channel = lambda at, options: grpc.aio.secure_channel(at, grpc.ssl_channel_credentials(), options)
sys.path.insert(0, sys.argv[1])
sys.argv = [sys.argv[1] + "/load.py", *sys.argv[2:]]
runpy.run_path(sys.argv[0], run_name="__main__")
"""
VARIANTS: Final = {
    "plain": frozenset[str](),
    "keys": frozenset({"keys"}),
    "TLS": frozenset({"tls"}),
    "rules": frozenset({"rules"}),
    "all": frozenset({"keys", "tls", "rules"}),
}
TEN_RULES: Final[dict[str, Any]] = {
    "sets": ["email", "phone", "card", "iban", "api-keys", "bearer"],
    "rules": [
        {"name": "ticket", "pattern": r"\bTICKET-\d{6}\b"},
        {"name": "password", "pattern": r"(?i)password\s*[:=]\s*(\S+)"},
        {"name": "headers", "key": "http.request.header.*"},
        {"name": "user", "key": "enduser.id"},
    ],
}


class Load(NamedTuple):
    """Acknowledged spans a second, and milliseconds of the collector's CPU time a span."""

    speed: float
    cpu: float


def main() -> None:
    """Print a line a run, then the medians and their ratios to plain."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passes", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--protocol", choices=("grpc", "http"), default="grpc")
    parser.add_argument("--only", choices=VARIANTS, action="append")
    options = parser.parse_args()
    if not BENCH.exists():
        sys.exit(f"skipped: the corpus is not at {BENCH}")
    loads: dict[str, list[Load]] = {name: [] for name in options.only or VARIANTS}
    for number in range(options.rounds):
        for name, found in loads.items():
            found.append(one_load(options.protocol, options.passes, options.senders, VARIANTS[name]))
            print(f"round {number + 1}, {name}: {found[-1].speed:.0f} spans/s, {found[-1].cpu:.3f} ms", flush=True)
    first = next(iter(loads.values()))
    for name, found in loads.items():
        speed, cpu = (statistics.median(column) for column in zip(*found, strict=True))
        ratios = sorted(one.speed / other.speed for one, other in zip(found, first, strict=True))
        print(
            f"{name}: {speed:.0f} spans/s, {statistics.median(ratios):.2f} of {next(iter(loads))} "
            f"({ratios[0]:.2f} to {ratios[-1]:.2f}), {cpu:.3f} ms of the collector's CPU time a span"
        )


def one_load(protocol: str, passes: int, senders: int, parts: frozenset[str]) -> Load:
    """One run over an empty store."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        papers = Papers(folder)
        section = {"tls": papers.issue().paths} if "tls" in parts else {}
        redaction = TEN_RULES if "rules" in parts else {}
        config = {"grpc": section, "http": section, "redaction": redaction}
        (folder / "tracejury.yaml").write_text(yaml.safe_dump(config))
        header = ["--header", f"authorization:Bearer {new_key(folder)}"] if "keys" in parts else []
        with serving(folder, "--config", "tracejury.yaml") as collector:
            host = f"localhost:{collector.ports[protocol]}"
            at = host if protocol == "grpc" else f"http{'s' if section else ''}://{host}/v1/traces"
            program = ["-c", SECURED, str(BENCH)] if section and protocol == "grpc" else [str(BENCH / "load.py")]
            command = [sys.executable, *program, "--proto", protocol, "--endpoint", at, *header]
            sizes = ["-n", str(passes), "-c", str(senders)]
            trusted = dict.fromkeys(("SSL_CERT_FILE", "GRPC_DEFAULT_SSL_ROOTS_FILE_PATH"), str(papers.ca))
            before = cpu_seconds(collector)
            done = subprocess.run(
                [*command, *sizes], check=True, capture_output=True, text=True, env=os.environ | trusted
            )
            load = json.loads(done.stdout)
            assert not load["errors"], load["errors"]
            return Load(load["spans_s"], 1000 * (cpu_seconds(collector) - before) / load["spans"])


def new_key(folder: Path) -> str:
    """A key that may send, of the collector in the folder."""
    made = tracejury("keys", "create", "--name", "load", "--scope", "ingest", folder=folder)
    assert made.returncode == 0, made.stderr
    return made.stdout.strip()


if __name__ == "__main__":
    main()
