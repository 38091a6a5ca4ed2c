"""Errors as lists of traces ask for them: those that hold and are sure enough, by the trace they show under.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from tracejury.collector.store.scope import TENANT
from tracejury.schemas.filters import OF_ERRORS, conditions
from tracejury.schemas.queries.listing import WorstError
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.taxonomy import Severity

from .findings import HOLDS, least, sure
from .latest import ERRORS

BITS: Final = 20
"""Of a count of errors in a sort value: three severities fit one number."""
_TOP: Final = 2**BITS - 1

AT_LEAST: Final = {
    Severity.LOW: "Confidence",
    Severity.MEDIUM: "MediumConfidence",
    Severity.HIGH: "HighConfidence",
}
"""The columns of the confidence with which an error is at least so severe."""

SHOWING: Final = f"TraceId IN (SELECT TraceId FROM errors WHERE {TENANT} AND Whole IN {{trace_ids:Array(String)}})"
"""The condition on traces whose errors show under those of `trace_ids`, or once did."""

SEVERITIES: Final = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)
"""As counts of them are ordered."""


def counts(confidence: Confidence, place: str = "1", *, few: bool = False) -> str:
    """A SELECT of the errors of each trace by severity, and the worst: `Id`, `High`, `Medium`, `Low`, `Worst`.

    `few`: the condition `place` is one on `TraceId`, and names few traces.
    """
    rows = f"{ERRORS.newest(place)} WHERE {ERRORS.holds}" if few else f"errors FINAL WHERE {TENANT} AND {place}"
    bound = least(confidence, place)
    return (
        f"WITH multiIf(HighConfidence >= {bound}, 1, MediumConfidence >= {bound}, 2, 3) AS Rank "
        "SELECT Whole AS Id, countIf(Rank = 1) AS High, countIf(Rank = 2) AS Medium, countIf(Rank = 3) AS Low, "
        "min((Rank, -Confidence, FirstSeen, errors.Id, TraceId, SpanId, Title)) AS Worst "
        f"FROM {rows} AND {HOLDS} AND {sure(confidence, place)} GROUP BY Whole"
    )


def worst_error(found: Sequence[Any]) -> WorstError | None:
    """The error of a `Worst`: the most severe, of equally severe ones the surest, then the first; None for none."""
    rank, _, _, error_id, trace_id, span_id, title = found
    return WorstError(error_id, trace_id, span_id, title, SEVERITIES[rank - 1]) if rank else None


def worst(high: str, medium: str, low: str) -> str:
    """Counts as one number that orders by the worst first."""
    return (
        f"toUInt64(bitShiftLeft(least({high}, {_TOP}), {2 * BITS}) + bitShiftLeft(least({medium}, {_TOP}), {BITS}) "
        f"+ least({low}, {_TOP}))"
    )


def filtered(query: TraceQuery) -> tuple[list[str], dict[str, Any]]:
    """Conditions on one error that the query asks for; none where it asks for none."""
    asked, values = conditions(OF_ERRORS, query)
    if query.severity is not None:
        asked.append(sure(query.confidence, column=AT_LEAST[query.severity]))
    return asked, values
