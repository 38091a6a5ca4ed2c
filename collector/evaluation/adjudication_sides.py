"""The annotated errors and findings of a trace, as a matcher reads them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import Trace

from .adjudicate import ReportedError
from .folder import AnnotatedError
from .rebuilt import RebuiltFolder

Both = tuple[list[ReportedError], list[ReportedError]]
"""Annotated errors and findings of one trace."""


def adjudication_sides(rebuilt: RebuiltFolder, findings: Mapping[str, Sequence[Finding]]) -> dict[str, Both]:
    """Both sides of every trace with annotations, by name; `findings` by name of the trace."""
    places: defaultdict[str, dict[str, int]] = defaultdict(dict)
    for trace in rebuilt.traces:
        places[rebuilt.name(trace)].update(_places(trace, len(places[rebuilt.name(trace)])))
    return {
        name: (
            [_error(number, annotation, places[name]) for number, annotation in enumerate(annotations)],
            [_finding(finding, places[name]) for finding in findings.get(name, ())],
        )
        for name, annotations in rebuilt.folder.annotations.items()
    }


def _places(trace: Trace, before: int) -> dict[str, int]:
    """Numbers of the spans, in order of time."""
    spans = sorted(trace.spans.values(), key=lambda span: (span.raw.start, span.span_id))
    return {span.span_id: number for number, span in enumerate(spans, start=before + 1)}


def _error(number: int, annotation: AnnotatedError, places: Mapping[str, int]) -> ReportedError:
    error = annotation.error
    return ReportedError(number, places.get(error.span_id, 0), f"{error.category}, {error.impact}", annotation.text)


def _finding(finding: Finding, places: Mapping[str, int]) -> ReportedError:
    heading = f"{finding.category}, {finding.severity.value}"
    return ReportedError(
        finding.id, places.get(finding.span_id, 0), heading, f"{finding.evidence} || {finding.explanation}"
    )
