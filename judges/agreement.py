"""Agreement of findings with human annotations: every metric of the TRAIL benchmark, and precision beside it.

Two kinds of figure. *Pooled* ones count errors or spans over all traces: `localised`, `span_*`. TRAIL's own are means
over traces, or over categories: `location_accuracy`, `joint_accuracy`, `weighted_category_f1`. The latter follow
Patronus AI's scorer (TRAIL: Trace Reasoning and Agentic Issue Localization, arXiv 2505.08638, `calculate_scores.py`):
sets of locations, a trace without annotated errors counts with 0, a ratio without denominator is 0, and only the 21
leaves of the taxonomy take part in the category F1.

Location and joint accuracy ignore precision (naming every span scores nearly 1), so they never stand alone here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeVar

from tracejury.schemas.taxonomy import TRAIL_CATEGORIES

from .bootstrap import Interval, intervals


@dataclass(frozen=True, slots=True)
class Predicted:
    """The scored part of a finding. `dimensions`: first = primary.

    `elsewhere`: the span ids where it showed or is relayed (`tool_span_id`, `seen_by_span_id`, `also_at`), which count
    in `localised_any` and `span_precision_any` alone. `severity`, `evidence`, `run_id` (the agent run) and `id` take
    part in no figure of this module.
    """

    trace_id: str
    span_id: str
    category: str
    judge: str = ""
    confidence: float = 1.0
    dimensions: tuple[str, ...] = ()
    severity: str = ""
    elsewhere: tuple[str, ...] = ()
    evidence: str = ""
    run_id: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Annotated:
    """One error that a human marked. `invalid`: why it blames what is no error, "" where it stands."""

    trace_id: str
    span_id: str
    category: str
    impact: str = ""
    dimensions: tuple[str, ...] = ()
    invalid: str = ""


Labelled = TypeVar("Labelled", Predicted, Annotated)


@dataclass(frozen=True, slots=True)
class Figures:
    """The headline figures, each in [0, 1] but for `findings_per_trace`."""

    findings_per_trace: float
    localised: float
    span_precision: float
    span_recall: float
    span_f1: float
    weighted_category_f1: float
    location_accuracy: float
    joint_accuracy: float
    localised_any: float
    span_precision_any: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """Figures over all annotations, and over the valid ones, with intervals over traces."""

    traces: int
    errors: int
    invalid: int
    all: Figures
    valid: Figures
    intervals: Mapping[str, Interval]
    valid_intervals: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class TraceTally:
    """The contribution of one trace to the figures; computed once, summed in every resample."""

    findings: int
    errors: int
    localised: int
    predicted_spans: int
    annotated_spans: int
    common_spans: int
    location: float
    joint: float
    annotated_categories: frozenset[str]
    predicted_categories: frozenset[str]
    localised_any: int
    named_spans: int
    common_named_spans: int


def agreement(traces: Sequence[str], annotated: Iterable[Annotated], predicted: Iterable[Predicted]) -> Agreement:
    """Score predictions against annotations over `traces` (ids, each scored; others are ignored)."""
    gold = by_trace(traces, annotated)
    found = by_trace(traces, predicted)
    raw = [tally(gold[t], found[t]) for t in traces]
    valid = [tally([a for a in gold[t] if not a.invalid], found[t]) for t in traces]
    return Agreement(
        traces=len(traces),
        errors=sum(t.errors for t in raw),
        invalid=sum(1 for t in traces for a in gold[t] if a.invalid),
        all=figures(raw),
        valid=figures(valid),
        intervals=intervals(raw, _as_mapping),
        valid_intervals=intervals(valid, _as_mapping),
    )


def tally(annotated: Sequence[Annotated], predicted: Sequence[Predicted]) -> TraceTally:
    """Counts of one trace."""
    gold_spans = {a.span_id for a in annotated}
    found_spans = {p.span_id for p in predicted}
    named_spans = found_spans.union(*(p.elsewhere for p in predicted))
    gold_pairs = {(a.span_id, a.category) for a in annotated}
    found_pairs = {(p.span_id, p.category) for p in predicted}
    return TraceTally(
        findings=len(predicted),
        errors=len(annotated),
        localised=sum(a.span_id in found_spans for a in annotated),
        predicted_spans=len(found_spans),
        annotated_spans=len(gold_spans),
        common_spans=len(gold_spans & found_spans),
        location=ratio(len(gold_spans & found_spans), len(gold_spans)),
        joint=ratio(len(gold_pairs & found_pairs), len(gold_pairs)),
        annotated_categories=frozenset(a.category for a in annotated) & _LEAVES,
        predicted_categories=frozenset(p.category for p in predicted) & _LEAVES,
        localised_any=sum(a.span_id in named_spans for a in annotated),
        named_spans=len(named_spans),
        common_named_spans=len(gold_spans & named_spans),
    )


def figures(tallies: Sequence[TraceTally]) -> Figures:
    """The headline figures over traces.

    * `localised`: annotated errors whose span is some finding's span / annotated errors (pooled).
    * `span_precision`, `span_recall`, `span_f1`: over distinct (trace, span) pairs (pooled).
    * `location_accuracy`, `joint_accuracy`: mean over traces of |predicted and annotated| / |annotated|, over
      distinct spans, or (span, category) pairs.
    * `localised_any`, `span_precision_any`: as `localised` and `span_precision`, over all spans that findings name.
    * `findings_per_trace`: all findings / traces, duplicates of a span included.
    """
    n = len(tallies)
    common = sum(t.common_spans for t in tallies)
    precision = ratio(common, sum(t.predicted_spans for t in tallies))
    recall = ratio(common, sum(t.annotated_spans for t in tallies))
    return Figures(
        findings_per_trace=ratio(sum(t.findings for t in tallies), n),
        localised=ratio(sum(t.localised for t in tallies), sum(t.errors for t in tallies)),
        span_precision=precision,
        span_recall=recall,
        span_f1=f_score(precision, recall),
        weighted_category_f1=weighted_category_f1(tallies),
        location_accuracy=ratio(sum(t.location for t in tallies), n),
        joint_accuracy=ratio(sum(t.joint for t in tallies), n),
        localised_any=ratio(sum(t.localised_any for t in tallies), sum(t.errors for t in tallies)),
        span_precision_any=ratio(sum(t.common_named_spans for t in tallies), sum(t.named_spans for t in tallies)),
    )


def weighted_category_f1(tallies: Sequence[TraceTally]) -> float:
    """F1 of each category's presence in a trace, averaged with its number of annotated traces as weight.

    The same as scikit-learn's `f1_score(annotated, predicted, average="weighted", zero_division=0)` over traces x 21
    indicators, which TRAIL's scorer calls.
    """
    support: Counter[str] = Counter()
    named: Counter[str] = Counter()
    both: Counter[str] = Counter()
    for t in tallies:
        support.update(t.annotated_categories)
        named.update(t.predicted_categories)
        both.update(t.annotated_categories & t.predicted_categories)
    weighted = sum(support[c] * f1 for c in TRAIL_CATEGORIES if (f1 := ratio(2 * both[c], support[c] + named[c])))
    return ratio(weighted, support.total())


def f_score(precision: float, recall: float, beta: float = 1.0) -> float:
    """The weighted harmonic mean of precision and recall; recall weighs `beta` times as much (van Rijsbergen)."""
    weight = beta * beta
    return ratio((1 + weight) * precision * recall, weight * precision + recall)


def ratio(part: float, whole: float) -> float:
    """Part of whole, 0 where there is no whole (as TRAIL's scorer and `zero_division=0` have it)."""
    return part / whole if whole else 0.0


_LEAVES = frozenset(TRAIL_CATEGORIES)


def _as_mapping(tallies: Sequence[TraceTally]) -> dict[str, float]:
    return asdict(figures(tallies))


def by_trace(traces: Iterable[str], items: Iterable[Labelled]) -> dict[str, list[Labelled]]:
    """The items of each of these traces, in their order; those of others are left out."""
    grouped: dict[str, list[Labelled]] = {t: [] for t in traces}
    for item in items:
        if item.trace_id in grouped:
            grouped[item.trace_id].append(item)
    return grouped
