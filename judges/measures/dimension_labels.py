"""The dimensions of an annotated error: as people labelled it, else by its category."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, Final

from tracejury.judges.agreement import Annotated
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.taxonomy import Dimension

Labels = Mapping[str, tuple[tuple[str, ...], ...]]
"""By trace, the dimensions of each of its annotated errors, in the order of its annotations."""

JUDGES: Final[Mapping[str, str]] = MappingProxyType(
    {
        Dimension.PLAN_QUALITY.value: "plan-quality",
        Dimension.PLAN_ADHERENCE.value: "plan-adherence",
        Dimension.GOAL_FULFILMENT.value: "goal-fulfilment",
        Dimension.LOGICAL_CONSISTENCY.value: "logical-consistency",
        Dimension.EXECUTION_EFFICIENCY.value: "execution-efficiency",
        Dimension.TOOL_SELECTION.value: "tool-selection",
        Dimension.TOOL_CALLING.value: "tool-calling",
    }
)
"""The judge of each dimension."""

PAPER_COUNTS: Final[Mapping[str, int]] = MappingProxyType(
    {"LC": 120, "EE": 140, "PA": 61, "PQ": 17, "TS": 93, "TC": 129}
)
"""Errors mapped to each dimension in "What is your agent's GPA?", TRAIL/GAIA dev; none to goal fulfilment."""

PAPER_SERVICE: Final = "gaia-annotation-samples/app:GAIA-Samples"
"""The service of the traces that these counts are of, as TRAIL's files name it."""

DEFAULT_DIMENSIONS: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "Language-only": ("LC",),
        "Tool-related": ("LC", "TC"),
        "Poor Information Retrieval": ("EE",),
        "Incorrect Memory Usage": ("LC",),
        "Tool Output Misinterpretation": ("LC", "TC"),
        "Incorrect Problem Identification": ("PA", "TS"),
        "Tool Selection Errors": ("TS",),
        "Formatting Errors": ("EE", "TC"),
        "Instruction Non-compliance": ("LC",),
        "Tool Definition Issues": ("TC",),
        "Environment Setup Errors": ("TC",),
        "Rate Limiting": (),
        "Authentication Errors": (),
        "Service Errors": (),
        "Resource Not Found": ("TC",),
        "Resource Exhaustion": ("EE",),
        "Timeout Issues": ("EE",),
        "Context Handling Failures": ("LC", "TC"),
        "Resource Abuse": ("EE", "TC"),
        "Goal Deviation": ("LC", "PA", "TS"),
        "Task Orchestration": ("EE",),
    }
)
"""Dimensions of a TRAIL category: those that more than half of its labelled errors on TRAIL/GAIA dev have.

Where fewer than five errors were labelled, what the category's definition says. The environment's own faults (rate
limits, credentials, services) are no judge's.
"""


@dataclass(frozen=True, slots=True)
class LabelledErrors:
    """Annotated errors with their dimensions, in the order given; how many were labelled, how many got defaults."""

    errors: tuple[Annotated, ...]
    labelled: int
    defaulted: int


@dataclass(frozen=True, slots=True)
class DimensionCount:
    """Errors mapped to one dimension."""

    dimension: str
    judge: str
    errors: int


def parse_labels(document: Any) -> dict[str, tuple[tuple[str, ...], ...]]:
    """The labels in a parsed `dimensions.json`: `{trace: [[dimension, …] for each error]}`.

    Raises:
        PermanentError: it has another shape, or names an unknown dimension; names the trace and the error.
    """
    if not isinstance(document, dict):
        raise PermanentError("the dimension labels are no object of traces")
    return {str(trace): _rows(str(trace), rows) for trace, rows in document.items()}


def default_dimensions(category: str) -> tuple[str, ...]:
    """Dimensions of a TRAIL category; none for what is not a leaf of the taxonomy."""
    return DEFAULT_DIMENSIONS.get(category, ())


def with_dimensions(annotated: Iterable[Annotated], labels: Labels) -> LabelledErrors:
    """Each error with the dimensions labelled for it, else the default of its category.

    The errors of a trace must stand in the order of its labels. An error labelled with no dimension keeps none.

    Raises:
        PermanentError: a trace has not as many labels as errors; names it.
    """
    errors = tuple(annotated)
    counts = Counter(e.trace_id for e in errors)
    for trace, count in counts.items():
        if trace in labels and len(labels[trace]) != count:
            raise PermanentError(f"{len(labels[trace])} errors of {trace} have dimension labels, {count} are annotated")
    place: defaultdict[str, int] = defaultdict(int)
    result = []
    for error in errors:
        rows = labels.get(error.trace_id)
        own = default_dimensions(error.category) if rows is None else rows[place[error.trace_id]]
        place[error.trace_id] += 1
        result.append(replace(error, dimensions=own))
    labelled = sum(count for trace, count in counts.items() if trace in labels)
    return LabelledErrors(tuple(result), labelled, len(errors) - labelled)


def dimension_counts(annotated: Sequence[Annotated]) -> tuple[DimensionCount, ...]:
    """The number of errors mapped to each of the seven dimensions."""
    counts = Counter(d for error in annotated for d in set(error.dimensions))
    return tuple(DimensionCount(d, judge, counts[d]) for d, judge in JUDGES.items())


_KNOWN: Final = frozenset(d.value for d in Dimension)


def _rows(trace: str, rows: Any) -> tuple[tuple[str, ...], ...]:
    if not isinstance(rows, list):
        raise PermanentError(f"the dimension labels of {trace} are no list")
    return tuple(_labels(trace, place, row) for place, row in enumerate(rows))


def _labels(trace: str, place: int, row: Any) -> tuple[str, ...]:
    if not isinstance(row, list):
        raise PermanentError(f"the dimension labels of error {place} of {trace} are no list")
    unknown = next((label for label in row if not isinstance(label, str) or label not in _KNOWN), None)
    if unknown is not None:
        raise PermanentError(f"error {place} of {trace} is labelled {unknown!r:.40}, which is no dimension")
    return tuple(dict.fromkeys(row))
