"""The traces that people reviewed, written as files that judges are evaluated on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.errors import NotFoundError

_ID: Final = re.compile(r"[0-9a-f]{32}")


class Reviewed:
    """Picks the traces with reviews out of an export, however that is cut in pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._last: dict[tuple[str, str, str], bool] = {}

    def feed(self, piece: bytes) -> None:
        """The next piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            row = json.loads(line) if line else {}
            if row.get("kind") == "review":
                self._last[row["trace_id"], row["agent_run_id"], row["annotator"]] = not row["withdrawn"]

    @property
    def trace_ids(self) -> list[str]:
        """Those with a review that stands; an export has the earliest change first."""
        return sorted({trace_id for (trace_id, _, _), stands in self._last.items() if stands})


def write_traces(client: ApiClient, trace_ids: Iterable[str], folder: Path) -> tuple[int, int]:
    """Each trace as `folder`/traces/ID.json; how many there are, and how many the store has no more.

    Raises:
        TracejuryError: the collector cannot be asked.
        OSError: the folder cannot be written.
    """
    target = folder / "traces"
    target.mkdir(parents=True, exist_ok=True)
    written = gone = 0
    for trace_id in trace_ids:
        try:
            # An id that came over the network names a file only where it is one.
            content = b"".join(client.received(trace_id)) if _ID.fullmatch(trace_id) else b""
        except NotFoundError:
            content = b""
        if content:
            (target / f"{trace_id}.json").write_bytes(content)
        written, gone = written + bool(content), gone + (not content)
    return written, gone
