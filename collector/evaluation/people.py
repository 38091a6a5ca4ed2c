"""Labels and scores that people gave to agent runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...judges.measures.scales import ScaleRating
from ...schemas.taxonomy import Severity

Reviewed = Mapping[str, frozenset[str]]
"""By trace id, the agent runs that somebody has looked at as a whole."""


@dataclass(frozen=True, slots=True)
class MarkedError:
    """An error that most people see who said anything of it, with their words."""

    trace_id: str
    run_id: str
    span_id: str
    category: str
    severity: Severity
    text: str


@dataclass(frozen=True, slots=True)
class People:
    """Scores, marked errors and reviewed runs; `reviewed` is None where people gave nothing but `scores`.

    A `reviewed` run has no errors but the `marked` ones.

    Scores are by trace id, or as their list names traces.
    """

    scores: Sequence[ScaleRating] = ()
    marked: Sequence[MarkedError] = ()
    reviewed: Reviewed | None = None
