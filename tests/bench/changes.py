"""What a look at what other processes stored takes over 3,000,000 spans: `python tests/bench/changes.py`."""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from typing import Final

from tracejury.collector.store.changes import OFTEN, OVERLAP, StoredChanges
from tracejury.collector.store.config import StoreConfig
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND

SPANS: Final = 3_000_000
INSERT: Final = 20_000
LOOKS: Final = 15

# Ten spans a trace, 2,000 a second until just now: an insert every ten seconds.
_FILL: Final = f"""
INSERT INTO spans (TraceId, SpanId, SpanName, StartNanos, EndNanos, SpanAttributes, ReceivedAt, StoredBy, StoredAt)
SELECT
    lower(hex(MD5(toString(intDiv(number, 10))))), lower(hex(number)), 'chat', 1, 2,
    map('input.value', randomPrintableASCII(200)),
    now64(9) - toIntervalSecond(10 * intDiv({SPANS} - 1 - number, {INSERT})) AS at, 'work-1', at
FROM numbers({SPANS})
SETTINGS max_insert_block_size = {INSERT}, min_insert_block_size_rows = {INSERT}, min_insert_block_size_bytes = 0,
    max_threads = 1
"""


def main() -> None:
    """Print a line for each kind of look."""
    with tempfile.TemporaryDirectory() as folder:
        store = SharedStore.open(f"chdb://{folder}/db", StoreConfig(retention_days=None))
        migrate(store)
        store.command(_FILL)
        time.sleep(20)  # until most merges are done
        (newest,) = store.rows("SELECT toUnixTimestamp64Nano(max(StoredAt)) FROM spans")[0]
        for what, back in (("three seconds back", OFTEN), ("a minute back", OVERLAP)):
            took, worked = [], []
            for _ in range(LOOKS):
                changes = StoredChanges(store, newest, reads_rows=True)
                now = newest if back == OFTEN else newest + 10 * SECOND
                began, cpu = time.perf_counter(), time.process_time()
                found = changes.read(now).arrived
                took.append((time.perf_counter() - began) * 1000)
                worked.append((time.process_time() - cpu) * 1000)
            times = f"{statistics.median(took):.0f} ms, {statistics.median(worked):.0f} ms of CPU"
            sys.stdout.write(f"{what}: {len(found)} changes, {times}\n")
        store.close()


if __name__ == "__main__":
    main()
