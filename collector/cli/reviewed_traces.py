"""The traces and sessions that people labelled as a whole, written as files that judges are evaluated on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from tracejury.collector.api.client import ApiClient
from tracejury.schemas.annotations import Review, SessionLabel
from tracejury.schemas.errors import ConfigError, NotFoundError

_MOST: Final = 1_000
"""Traces of a session."""
_ID: Final = re.compile(r"[0-9a-f]{32}")


class Reviewed:
    """Picks the traces with reviews and the sessions with labels out of an export, however that is cut in pieces."""

    def __init__(self) -> None:
        self._rest = b""
        self._last: dict[tuple[str, str, str, str], bool] = {}

    def feed(self, piece: bytes) -> None:
        """The next piece."""
        *lines, self._rest = (self._rest + piece).split(b"\n")
        for line in lines:
            row = json.loads(line) if line else {}
            if parts := _PLACES.get(row.get("kind", "")):
                kind, one, other = (row[name] for name in ("kind", *parts))
                self._last[kind, one, other, row["annotator"]] = not row["withdrawn"]

    @property
    def trace_ids(self) -> list[str]:
        """Those with a review that stands; an export has the earliest change first."""
        return sorted({one for one, _ in self._standing(Review.kind)})

    @property
    def sessions(self) -> list[tuple[str, str]]:
        """Service and id of those with a label that stands."""
        return sorted(self._standing(SessionLabel.kind))

    def _standing(self, of: str) -> set[tuple[str, str]]:
        return {(one, other) for (kind, one, other, _), stands in self._last.items() if stands and kind == of}


_PLACES: Final = {Review.kind: ("trace_id", "agent_run_id"), SessionLabel.kind: ("service", "session_id")}


def traces_of(client: ApiClient, service: str, session_id: str) -> list[str]:
    """The traces of a session; its own id where it is a trace by itself, or gone. Raises TracejuryError."""
    try:
        rows, _ = client.traces({"session": session_id, "service": service}, _MOST)
    except ConfigError:  # no such session or service is stored, or its name is longer than lists can filter by
        rows = []
    return [row.trace_id for row in rows] or [session_id]


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
