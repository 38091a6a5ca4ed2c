"""What a picture costs that each call of a trace sends again: `PYTHONPATH=tests/support python tests/bench/media.py`.

Size on disk of 20 calls that are committed one after the other, each with the same 1 MB of bytes, at once and when
parts are merged; the same with pictures in the spans. Then how long a span is looked through for what may be taken out:
the fastest and the median of the passes, for a small span and for 1 MB of text of several kinds.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

from store_parts import a_span

from tracejury.collector.store.committer import Committer, WriterCounters
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.dead_letter import DeadLetterFolder
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas import inline_media
from tracejury.schemas.batch import Batch
from tracejury.schemas.spans import Span

CALLS = 20
MEGABYTE = 1_000_000
BYTES = """
SELECT sum(bytes_on_disk) FROM system.parts
WHERE active AND database = currentDatabase() AND table IN ('spans', 'media')
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=20)
    passes = parser.parse_args().passes
    noise = hashlib.shake_128(b"picture").digest(MEGABYTE)
    picture = base64.b64encode(b"\x89PNG\r\n\x1a\n" + noise).decode()
    long = inline_media.LONG
    for how, limit in (("stored once a trace", long), ("stored in the spans", 1 << 40)):
        inline_media.LONG = limit  # type: ignore[misc]  # as if all texts were short
        at_once, merged = on_disk(picture)
        out(f"{CALLS} calls with one picture of 1 MB, {how}: {at_once / 1e6:.1f} MB, merged {merged / 1e6:.1f} MB")
    inline_media.LONG = long  # type: ignore[misc]
    sentence = "The quick brown fox jumps over 12 lazy dogs at https://example.org/a/b?c=1. "
    texts = {
        "30 short texts": "", "1 MB of prose": sentence * (MEGABYTE // len(sentence)),
        "1 MB of hexadecimal digits": noise.hex()[:MEGABYTE], "1 MB of a picture": picture[:MEGABYTE],
        "1 MB in lines of 4096": ("A" * 4095 + "\n") * (MEGABYTE // 4096),
    }  # fmt: skip
    for name, text in texts.items():
        least, median = looked_through(
            a_span(attributes=dict.fromkeys(map(str, range(30)), "x" * 99) | {"t": text}), passes
        )
        out(f"{name}: {1000 * least:.3f} ms, median {1000 * median:.3f} ms")


def on_disk(picture: str) -> tuple[int, int]:
    """Bytes of the calls at once, and when merged."""
    with tempfile.TemporaryDirectory() as folder:
        store = SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))
        migrate(store)
        committer = Committer(store, DeadLetterFolder(Path(folder), 1), WriterCounters())
        for number in range(CALLS):
            span = a_span(span_id=f"{number:016x}", attributes={"input.value": f"data:image/png;base64,{picture}"})
            committer.commit([Batch([span], [], len(picture))])
        at_once = store.rows(BYTES)[0][0]
        for table in ("spans", "media"):
            store.command(f"OPTIMIZE TABLE {table} FINAL")
        merged = store.rows(BYTES)[0][0]
        store.close()
    return int(at_once), int(merged)


def looked_through(span: Span, passes: int) -> tuple[float, float]:
    """Seconds: the least and the median."""
    found = []
    for _ in range(passes):
        began = time.perf_counter()
        inline_media.TakenMedia().take([span])
        found.append(time.perf_counter() - began)
    return min(found), statistics.median(found)


def out(line: str) -> None:
    sys.stdout.write(f"{line}\n")


if __name__ == "__main__":
    main()
