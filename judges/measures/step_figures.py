"""Claims against labelled steps: localisation, precision, false alarms, and who and when.

Every count is of one trace and adds up, so figures of any set of traces are those of the sum. A ratio without a
denominator is None: a data set without errors has no localisation, and one without claims no precision.

The agent and the step to blame are those of Who&When (Zhang et al., *Which Agent Causes Task Failures and When?*, arXiv
2505.00212): one answer a trace, and a trace without one counts as wrong.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields

from tracejury.judges.agreement import f_score
from tracejury.schemas.taxonomy import Severity

from .located_claim import LocatedClaim


@dataclass(frozen=True, slots=True)
class LabelledTrace:
    """The labels of one trace. `errors`: the span of each labelled error, as often as it was labelled.

    `error_free`: people looked and marked nothing. `agent` and `step` (a span id) answer who is to blame and when, ""
    where nobody said; `speakers`: the agents that spoke at a span, where the source of the trace names them.
    """

    name: str
    errors: tuple[str, ...] = ()
    error_free: bool = False
    agent: str = ""
    step: str = ""
    speakers: Mapping[str, frozenset[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StepFigures:
    """Counts over traces, and the shares of them.

    A span counts once a trace. `named` are primary spans, `right` those of them on a label; `named_any` and `right_any`
    count all named spans. `alarmed`: error-free traces with a claim of severity MEDIUM or HIGH, `alarmed_any` with any
    claim. `answers`: traces that say who is to blame and when.
    """

    traces: int = 0
    errors: int = 0
    claims: int = 0
    localised: int = 0
    localised_any: int = 0
    labelled: int = 0
    named: int = 0
    right: int = 0
    named_any: int = 0
    right_any: int = 0
    error_free: int = 0
    alarmed: int = 0
    alarmed_any: int = 0
    answers: int = 0
    right_agent: int = 0
    right_step: int = 0

    @property
    def localisation(self) -> float | None:
        """Labelled errors whose span is the primary span of a claim."""
        return _share(self.localised, self.errors)

    @property
    def localisation_any(self) -> float | None:
        """Labelled errors whose span any claim names."""
        return _share(self.localised_any, self.errors)

    @property
    def precision(self) -> float | None:
        """Primary spans on a label."""
        return _share(self.right, self.named)

    @property
    def precision_any(self) -> float | None:
        """Named spans on a label."""
        return _share(self.right_any, self.named_any)

    @property
    def recall(self) -> float | None:
        """Labelled spans that are primary spans."""
        return _share(self.right, self.labelled)

    @property
    def recall_any(self) -> float | None:
        """Labelled spans that are named."""
        return _share(self.right_any, self.labelled)

    @property
    def f1(self) -> float | None:
        """Of precision and recall of primary spans."""
        return f_score(self.precision or 0.0, self.recall or 0.0) if self.labelled else None

    @property
    def f1_any(self) -> float | None:
        """Of precision and recall of all named spans."""
        return f_score(self.precision_any or 0.0, self.recall_any or 0.0) if self.labelled else None

    @property
    def false_alarms(self) -> float | None:
        """Error-free traces with a claim of severity MEDIUM or HIGH."""
        return _share(self.alarmed, self.error_free)

    @property
    def false_alarms_any(self) -> float | None:
        """Error-free traces with a claim."""
        return _share(self.alarmed_any, self.error_free)

    @property
    def agent_accuracy(self) -> float | None:
        """Answers whose agent is right."""
        return _share(self.right_agent, self.answers)

    @property
    def step_accuracy(self) -> float | None:
        """Answers whose step is right."""
        return _share(self.right_step, self.answers)


def trace_figures(trace: LabelledTrace, claims: Sequence[LocatedClaim]) -> StepFigures:
    """Counts of one trace and the claims in it."""
    labelled = frozenset(trace.errors)
    named = frozenset(c.span for c in claims)
    named_any = frozenset(span for c in claims for span in c.spans)
    blamed = most_certain(claims)
    answered = bool(trace.agent or trace.step)
    return StepFigures(
        traces=1,
        errors=len(trace.errors),
        claims=len(claims),
        localised=sum(span in named for span in trace.errors),
        localised_any=sum(span in named_any for span in trace.errors),
        labelled=len(labelled),
        named=len(named),
        right=len(named & labelled),
        named_any=len(named_any),
        right_any=len(named_any & labelled),
        error_free=int(trace.error_free),
        alarmed=int(trace.error_free and any(c.severity is not Severity.LOW for c in claims)),
        alarmed_any=int(trace.error_free and bool(claims)),
        answers=int(answered),
        right_agent=int(answered and blamed is not None and _is_by(blamed, trace)),
        right_step=int(answered and blamed is not None and blamed.span == trace.step),
    )


def most_certain(claims: Iterable[LocatedClaim]) -> LocatedClaim | None:
    """The surest claim of the highest severity; of several the earliest."""
    return min(claims, key=lambda c: (-c.severity.rank, -c.confidence, c.start, c.span), default=None)


def total(figures: Iterable[StepFigures]) -> StepFigures:
    """The sum of counts."""
    rows = list(figures)
    return StepFigures(**{f.name: sum(getattr(row, f.name) for row in rows) for f in fields(StepFigures)})


def _is_by(claim: LocatedClaim, trace: LabelledTrace) -> bool:
    return trace.agent in trace.speakers.get(claim.span, {claim.agent})


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
