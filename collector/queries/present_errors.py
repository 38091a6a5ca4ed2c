"""Errors and findings as models of the API. Pure functions."""

from __future__ import annotations

from tracejury.schemas.decisive import why_and_instead
from tracejury.schemas.queries.reader import ErrorView, LocatedError, LocatedFinding
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.errors import (
    ErrorDetailJson,
    ErrorJson,
    ListedFindingJson,
    LocatedFindingJson,
    SpanErrorJson,
)


def present_error(located: LocatedError) -> ErrorJson:
    """An error."""
    return fill(ErrorJson, located.error, **_of_error(located))


def present_error_at(located: LocatedError, span_id: str) -> SpanErrorJson:
    """An error as one of its spans sees it."""
    return fill(SpanErrorJson, located.error, **_of_error(located), role=located.error.spans[span_id].value)


def present_error_detail(view: ErrorView) -> ErrorDetailJson:
    """An error with its findings."""
    located = view.located
    more = {"findings": list(view.findings), "least_confidence": located.least}
    return fill(ErrorDetailJson, located.error, **_of_error(located), **more)


def present_located_finding(located: LocatedFinding) -> LocatedFindingJson:
    """A finding outside its trace."""
    return fill(LocatedFindingJson, located.finding, service=located.service, agent=located.agent)


def present_listed_finding(located: LocatedFinding) -> ListedFindingJson:
    """A finding in a list."""
    return ListedFindingJson(**vars(present_located_finding(located)), unproven_on_service=located.unproven)


def _of_error(located: LocatedError) -> dict[str, object]:
    error = located.error
    why, instead = why_and_instead(error.decided)
    return {
        "shown_trace_id": located.whole,
        "service": located.service,
        "agent": located.agent,
        "dimension": next(iter(error.dimensions), None),
        "severity": located.severity,
        "finding_ids": list(error.findings),
        "unproven_on_service": located.unproven,
        "human_label": located.label,
        "decisive": error.decisive,
        "decided_why": why or None,
        "instead": instead or None,
    }
