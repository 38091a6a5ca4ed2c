"""What people marked by hand, in the words of findings: the labels that judges are measured against."""

from __future__ import annotations

from dataclasses import dataclass

from .taxonomy import TRAIL, Severity


@dataclass(frozen=True, slots=True)
class Annotation:
    """One error that a person sees at one span. `id` is the annotator's own; `changed_at` in unix nanos.

    `withdrawn`: the annotator took it back; it is kept, and counts nowhere.
    """

    id: str
    trace_id: str
    span_id: str
    annotator: str
    category: str
    severity: Severity
    evidence: str = ""
    explanation: str = ""
    taxonomy: str = TRAIL
    withdrawn: bool = False
    changed_at: int = 0
    tenant: str = ""
