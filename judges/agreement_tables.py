"""Agreement broken down: by category, by dimension, by detector and by the impact that annotators gave."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .agreement import Annotated, Predicted, f_score, ratio

Span = tuple[str, str]
Keys = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class LabelRow:
    """One category or dimension.

    Of the `errors` annotated with it, `localised` lie on any finding's span and `matched` on the span of a finding
    with the same label (`recall` is their share). Of the `findings` with it, `span_precision` is the share on
    annotated spans and `precision` the share on spans annotated with the same label. `f2` weighs recall twice.
    """

    errors: int
    localised: float
    matched: int
    recall: float
    findings: int
    span_precision: float
    precision: float
    f1: float
    f2: float


@dataclass(frozen=True, slots=True)
class DetectorRow:
    """One judge's findings, in how many traces, and how many annotated errors lie on their spans.

    `span_precision` is the share on annotated spans, `precision` the share on spans annotated with the same category.
    """

    findings: int
    traces: int
    errors: int
    span_precision: float
    precision: float
    mean_confidence: float


@dataclass(frozen=True, slots=True)
class ImpactRow:
    """Errors of one impact: the share on any finding's span, and on one with the same category."""

    errors: int
    localised: float
    joint: float


def per_category(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> dict[str, LabelRow]:
    """Rows by category, those annotated or predicted, by name."""
    return _label_rows(annotated, predicted, lambda a: (a.category,), lambda p: (p.category,))


def per_dimension(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> dict[str, LabelRow]:
    """Rows by dimension; an error or a finding of several dimensions counts in each of them."""
    return _label_rows(annotated, predicted, lambda a: a.dimensions, lambda p: p.dimensions)


def per_detector(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> dict[str, DetectorRow]:
    """Rows by judge, by name."""
    spans = {_span(a) for a in annotated}
    pairs = {(_span(a), a.category) for a in annotated}
    rows = {}
    for judge in sorted({p.judge for p in predicted}):
        own = [p for p in predicted if p.judge == judge]
        places = {_span(p) for p in own}
        rows[judge] = DetectorRow(
            findings=len(own),
            traces=len({p.trace_id for p in own}),
            errors=sum(_span(a) in places for a in annotated),
            span_precision=_share(_span(p) in spans for p in own),
            precision=_share((_span(p), p.category) in pairs for p in own),
            mean_confidence=ratio(sum(p.confidence for p in own), len(own)),
        )
    return rows


def per_impact(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> dict[str, ImpactRow]:
    """Rows by impact as annotated (LOW, MEDIUM, HIGH), by name."""
    places = {_span(p) for p in predicted}
    pairs = {(_span(p), p.category) for p in predicted}
    rows = {}
    for impact in sorted({a.impact for a in annotated}):
        own = [a for a in annotated if a.impact == impact]
        rows[impact] = ImpactRow(
            errors=len(own),
            localised=_share(_span(a) in places for a in own),
            joint=_share((_span(a), a.category) in pairs for a in own),
        )
    return rows


Row = LabelRow | DetectorRow | ImpactRow

BREAKDOWNS: Final[Mapping[str, Callable[[Sequence[Annotated], Sequence[Predicted]], Mapping[str, Row]]]] = {
    "detector": per_detector,
    "category": per_category,
    "dimension": per_dimension,
    "impact": per_impact,
}


def _label_rows(
    annotated: Sequence[Annotated],
    predicted: Sequence[Predicted],
    labels_of: Callable[[Annotated], Keys],
    claims_of: Callable[[Predicted], Keys],
) -> dict[str, LabelRow]:
    spans = {_span(a) for a in annotated}
    places = {_span(p) for p in predicted}
    labelled = {(_span(a), label) for a in annotated for label in labels_of(a)}
    claimed = {(_span(p), label) for p in predicted for label in claims_of(p)}
    rows = {}
    for label in sorted({label for _, label in labelled | claimed}):
        errors = [_span(a) for a in annotated if label in labels_of(a)]
        claims = [_span(p) for p in predicted if label in claims_of(p)]
        matched = sum((span, label) in claimed for span in errors)
        precision = _share((span, label) in labelled for span in claims)
        recall = ratio(matched, len(errors))
        rows[label] = LabelRow(
            errors=len(errors),
            localised=_share(span in places for span in errors),
            matched=matched,
            recall=recall,
            findings=len(claims),
            span_precision=_share(span in spans for span in claims),
            precision=precision,
            f1=f_score(precision, recall),
            f2=f_score(precision, recall, beta=2.0),
        )
    return rows


def _span(item: Annotated | Predicted) -> Span:
    return item.trace_id, item.span_id


def _share(hits: Iterable[bool]) -> float:
    answers = list(hits)
    return ratio(sum(answers), len(answers))
