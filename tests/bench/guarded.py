"""What keys, TLS and redaction cost a collector that does nothing: `python tests/bench/guarded.py [--rounds 5]`.

Prints a row each, as medians of interleaved starts: seconds until it is ready, the CPU time that took, resident memory
5 s later, and the CPU time of the `--idle` seconds after that, as milliseconds a minute.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from processes import COMMAND, serving
from served import cpu_seconds, resident

REDACTION = "redaction: {sets: [email, phone, card, iban, api-keys, bearer]}\n"
IDLE_SECONDS = 5.0


def certificate(folder: Path) -> str:
    """A configuration of the three listeners with a certificate that is made here."""
    cert, key = folder / "tls.crt", folder / "tls.key"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2",  # noqa: S607
         "-keyout", str(key), "-out", str(cert)], check=True, capture_output=True,
    )  # fmt: skip
    return "".join(f"{name}: {{tls: {{cert: {cert}, key: {key}}}}}\n" for name in ("grpc", "http", "api"))


def started(kind: str, idle: float) -> tuple[float, float, float, float]:
    """Seconds until a collector is ready, those of CPU time; its MiB and milliseconds a minute once it is idle."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = REDACTION if kind in ("redaction", "all") else ""
        text += certificate(folder) if kind in ("TLS", "all") else ""
        (folder / "tracejury.yaml").write_text(text)
        if kind in ("keys", "all"):
            made = [*COMMAND, "keys", "create", "--name", "x", "--scope", "admin", "--project", "shop"]
            subprocess.run(made, cwd=folder, check=True, capture_output=True)
        began = time.monotonic()
        with serving(folder, "--config", "tracejury.yaml", new_store=True) as collector:
            ready, spent = time.monotonic() - began, cpu_seconds(collector)
            time.sleep(IDLE_SECONDS)
            before = cpu_seconds(collector)
            time.sleep(idle)
            return ready, spent, resident(collector) / 2**20, (cpu_seconds(collector) - before) / idle * 60e3


def main() -> None:
    """Start each kind in turn, as often as is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--idle", type=float, default=20.0)
    args = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # images often set it: each start would compile all modules
    kinds = ("plain", "keys", "TLS", "redaction", "all")
    found = {kind: list[tuple[float, float, float, float]]() for kind in kinds}
    for _ in range(args.rounds):
        for kind in kinds:
            found[kind].append(started(kind, args.idle))
    print("| | ready | CPU time | resident, idle | idle, a minute |\n|---|---|---|---|---|")
    for kind, figures in found.items():
        cells = (
            f"{statistics.median(found):.{digits}f} {unit} ({min(found):.{digits}f} to {max(found):.{digits}f})"
            for found, digits, unit in zip(
                zip(*figures, strict=True), (2, 2, 0, 0), ("s", "s", "MiB", "ms"), strict=True
            )
        )
        print(f"| {kind} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
