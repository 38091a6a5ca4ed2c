"""What keys, TLS and redaction cost a collector that does nothing: `python tests/bench/guarded.py [--rounds 5]`.

Prints a row each: seconds until it is ready, and resident memory 5 s later, as medians of interleaved starts.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from processes import COMMAND, serving
from served import resident

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


def started(kind: str) -> tuple[float, float]:
    """Seconds until a collector is ready, and its MiB once it has been idle."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        text = REDACTION if kind in ("redaction", "all") else ""
        text += certificate(folder) if kind in ("TLS", "all") else ""
        (folder / "tracejury.yaml").write_text(text)
        if kind in ("keys", "all"):
            made = [*COMMAND, "keys", "create", "--name", "x", "--scope", "admin", "--project", "shop"]
            subprocess.run(made, cwd=folder, check=True, capture_output=True)
        began = time.monotonic()
        with serving(folder, "--config", "tracejury.yaml") as collector:
            ready = time.monotonic() - began
            time.sleep(IDLE_SECONDS)
            return ready, resident(collector) / 2**20


def main() -> None:
    """Start each kind in turn, as often as is asked."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    kinds = ("plain", "keys", "TLS", "redaction", "all")
    found = {kind: list[tuple[float, float]]() for kind in kinds}
    for _ in range(rounds):
        for kind in kinds:
            found[kind].append(started(kind))
    print("| | ready | resident, idle |\n|---|---|---|")
    for kind, figures in found.items():
        seconds, sizes = zip(*figures, strict=True)
        print(
            f"| {kind} | {statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f}) "
            f"| {statistics.median(sizes):.0f} MiB ({min(sizes):.0f} to {max(sizes):.0f}) |"
        )


if __name__ == "__main__":
    main()
