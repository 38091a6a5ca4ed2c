"""The errors of a session that can still be mended, as if it ended now: its last trace, judged without waiting.

A trace settles only after a while of quiet, and what is missing is an error of settled runs alone. Whoever is asked at
the end of a session cannot wait for that; what is found here is stored nowhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.grouping import standing_errors
from tracejury.judges.mending import can_be_mended
from tracejury.judges.suite import Suite
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.queries.reader import Confidence, LocatedError, TraceQuery

from .errors import located_errors
from .stored_reader import StoredReader

MOST_SPANS: Final = 5_000
"""Spans of a trace that is judged while somebody waits: about half a second."""


@dataclass(frozen=True, slots=True)
class MendableErrors:
    """The errors of a session's last trace, worst first; `judged` false: it is too large to be judged at once."""

    trace_id: str
    judged: bool
    errors: Sequence[LocatedError] = ()


def mendable_errors(
    reader: StoredReader, suite: Suite, session_id: str, service: str, confidence: Confidence
) -> MendableErrors:
    """Raises NotFoundError where no trace of that session is known (yet)."""
    rows = reader.traces(TraceQuery(confidence, 1, service=service, session_id=session_id))
    if not rows:
        raise NotFoundError(f"no session {session_id[:64]!r} is stored")
    row = rows[0]
    trace = reader.trace_queries.traces([row.trace_id]).get(row.trace_id) if row.spans <= MOST_SPANS else None
    if trace is None:
        return MendableErrors(row.trace_id, judged=False)
    least = confidence.least(trace.conventions)
    found = [
        error
        for error in standing_errors(suite.judge(trace).findings, trace.runs)
        if error.confidence() >= least and can_be_mended(error, trace, least)
    ]
    worst = sorted(located_errors(trace, map(summary, found), least), key=lambda one: -one.severity.rank)
    return MendableErrors(trace.trace_id, judged=True, errors=worst)
