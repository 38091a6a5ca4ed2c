"""Errors as lists of traces ask for them: those that hold and are sure enough, by the trace they show under.

Conditions are fixed texts; whatever a user typed is a bound parameter.
"""

from __future__ import annotations

from typing import Any, Final

from ....schemas.filters import OF_ERRORS, conditions
from ....schemas.queries.reader import Confidence, TraceQuery
from ....schemas.taxonomy import Severity
from ..scope import TENANT
from .findings import HOLDS, least, sure

BITS: Final = 20
"""Of a count of errors in a sort value: three severities fit one number."""
_TOP: Final = 2**BITS - 1

AT_LEAST: Final = {
    Severity.LOW: "Confidence",
    Severity.MEDIUM: "MediumConfidence",
    Severity.HIGH: "HighConfidence",
}
"""The columns of the confidence with which an error is at least so severe."""


def counts(confidence: Confidence, place: str = "1") -> str:
    """A SELECT of the errors of each trace by severity: `Id`, `High`, `Medium`, `Low`."""
    bound = least(confidence, place)
    return (
        f"SELECT Whole AS Id, countIf(HighConfidence >= {bound}) AS High, "
        f"countIf(MediumConfidence >= {bound} AND HighConfidence < {bound}) AS Medium, "
        f"countIf(MediumConfidence < {bound} AND HighConfidence < {bound}) AS Low "
        f"FROM errors FINAL WHERE {TENANT} AND {place} AND {HOLDS} AND {sure(confidence, place)} GROUP BY Id"
    )


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
