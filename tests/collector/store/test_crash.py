"""kill -9 at any moment: what was acknowledged is there afterwards."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from sizes import sized

SUPPORT = Path(__file__).parents[2] / "support"

# Sixteen senders commit batch after batch and say which ones were acknowledged, until the process is killed.
SEND = """
import asyncio, itertools, sys
from store_parts import a_span
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.migrate import migrate
from tracejury.collector.store.writer import GroupCommitWriter
from tracejury.schemas.batch import Batch

async def main():
    store = SharedStore.open(sys.argv[1])
    migrate(store)
    writer = GroupCommitWriter(store)
    await writer.start()
    numbers = itertools.count()
    async def sender():
        while True:
            n = next(numbers)
            trace_id, text = f"{n + 1:032x}", {"x": "y" * 2000}
            spans = [a_span(trace_id=trace_id, span_id=f"{k:016x}", attributes=text) for k in range(9)]
            await writer.submit(Batch(spans, (), 20_000))
            print(n, flush=True)
    await asyncio.gather(*(sender() for _ in range(16)))

asyncio.run(main())
"""

# A process of its own reads them back: this one's engine is on another folder.
READ = """
import json, sys
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.judging import StoredJudging
store = SharedStore.open(sys.argv[1])
ids = json.loads(sys.stdin.read())
judging = StoredJudging(store)
known = judging.known_rows(ids)
unjudged = {trace_id for _, trace_id in judging.unjudged("v", 100_000)}
print(json.dumps([[i for i in ids if known.get(i) != 9], [i for i in ids if i not in unjudged]]))
"""


@pytest.mark.parametrize("acknowledged", [1, sized(60, 400)])
def test_no_acknowledged_span_is_lost(tmp_path: Path, acknowledged: int) -> None:
    """Killed after so many acknowledgements, in the middle of others: each is whole, and found to be judged."""
    dsn = f"chdb://{tmp_path}/db"
    with subprocess.Popen(  # noqa: S603  our own script
        [sys.executable, "-c", SEND, dsn], env={"PYTHONPATH": str(SUPPORT)}, stdout=subprocess.PIPE, text=True
    ) as sender:
        assert sender.stdout is not None
        said = [int(sender.stdout.readline()) for _ in range(acknowledged)]
        sender.send_signal(signal.SIGKILL)
        said += [int(line) for line in sender.stdout.read().splitlines() if line]
    assert len(said) >= acknowledged
    ids = [f"{n + 1:032x}" for n in said]
    done = subprocess.run(  # noqa: S603  our own script
        [sys.executable, "-c", READ, dsn], input=json.dumps(ids), capture_output=True, text=True, check=True, timeout=60
    )
    assert json.loads(done.stdout) == [[], []]
