"""Every file of a part of spans truncated, changed and deleted in turn: a loss is always said.

Each case starts a collector on a damaged copy of a store and compares what it answers with what was acknowledged. A
case fails where the collector does not start, and where spans are missing, or cannot be read, and neither `/readyz` nor
`tracejury store check` says so.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
from house import House, made_up_request, open_house
from processes import tracejury

TRACES = 40
SPANS = 30


def truncate(file: Path) -> None:
    """To half of its bytes."""
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size // 2)


def change(file: Path) -> None:
    """A byte in the middle."""
    data = bytearray(file.read_bytes())
    if data:
        data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


DAMAGES: tuple[Callable[[Path], None], ...] = (truncate, change, Path.unlink)


def spans_part(folder: Path) -> Path:
    """The part of the table of spans, which is a single file where it is small."""
    files = (folder / ".tracejury/db/store").glob("*/*/*/*")
    named = (p for p in files if p.name in ("columns.txt", "data.packed") and p.parent.name[:4].isdigit())
    return next(p.parent for p in named if b"`Events.Nanos`" in p.read_bytes())


def readable(house: House) -> int:
    """Spans of all listed traces that can be read."""
    found = 0
    for one in house.traces():
        answer = httpx.get(f"{house.url}/api/traces/{one['trace_id']}/otlp", trust_env=False, timeout=60)
        found += answer.text.count('"spanId"') if answer.status_code == 200 else 0
    return found


def cases(whole: Path) -> Iterator[str]:
    """What went wrong with each case; "" where nothing did."""
    for name in sorted(file.name for file in spans_part(whole).iterdir()):
        for damage in DAMAGES:
            with tempfile.TemporaryDirectory() as copied:
                folder = Path(copied) / "copy"
                shutil.copytree(whole, folder, symlinks=True)  # the engine's own
                damage(spans_part(folder) / name)
                yield outcome(folder, f"{name} {damage.__name__}")


def outcome(folder: Path, case: str) -> str:
    """Serve the damaged copy, then check it."""
    try:
        with open_house(folder) as house:
            status = httpx.get(f"{house.url}/readyz", trust_env=False, timeout=30).json().get("status", "not ready")
            left = readable(house)
            house.serving.stop()
    except AssertionError as error:  # one part is no reason not to start
        print(f"{'NO START':9}{case}: {str(error)[-300:]!r}", flush=True)
        return case
    checked = tracejury("store", "check", folder=folder).returncode
    lost = TRACES * SPANS - left
    silent = lost > 0 and status == "ready" and checked == 0
    print(
        f"{'SILENT' if silent else 'ok':7}{case:45}{lost:6} spans lost, {status}, check exits with {checked}",
        flush=True,
    )
    return case if silent else ""


def main() -> None:
    """All cases; exits with 1 where one is silent."""
    with tempfile.TemporaryDirectory() as made:
        whole = Path(made) / "whole"
        whole.mkdir()
        with open_house(whole) as house:
            house.put(made_up_request(TRACES, SPANS))
            house.wait_until_settled(TRACES)
            house.serving.stop()
        silent = [case for case in cases(whole) if case]
    print(f"{len(silent)} cases failed")
    sys.exit(bool(silent))


if __name__ == "__main__":
    main()
