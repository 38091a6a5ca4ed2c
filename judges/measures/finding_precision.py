"""Precision over findings, under its own name: the share of a judge's findings that sit on an annotated span.

Annotators do not mark everything, so it is a lower bound of the share that is right; and a finding on an annotated span
need not speak of what was annotated there, so with `matches` the share that does stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.judges.agreement import Annotated, Predicted
from tracejury.judges.bootstrap import Interval, intervals
from tracejury.schemas.taxonomy import Severity

from .matching import Match

ALL: Final = "all"
SEVERITIES: Final = (ALL, *(s.value for s in reversed(Severity)))


@dataclass(frozen=True, slots=True)
class PrecisionRow:
    """One judge's findings of one severity (`ALL`: any judge, any severity).

    `on_span`: on an annotated span; `matched`: matched with an annotated error, None where nobody adjudicated.
    `intervals`: 95% over traces with findings, by "on_span", "matched", for the rows over all severities.
    """

    judge: str
    severity: str
    findings: int
    on_span: int
    matched: int | None
    intervals: Mapping[str, Interval] = field(default_factory=dict)

    @property
    def precision(self) -> float | None:
        """Share on annotated spans, None without findings."""
        return self.on_span / self.findings if self.findings else None

    @property
    def matched_precision(self) -> float | None:
        """Share matched with an annotated error, None without findings or adjudication."""
        return None if self.matched is None or not self.findings else self.matched / self.findings


def finding_precision(
    annotated: Sequence[Annotated], predicted: Sequence[Predicted], matches: Iterable[Match] | None = None
) -> tuple[PrecisionRow, ...]:
    """Rows by judge (all first) and severity (all first); a finding counts once, for the judge that made it.

    Without findings of a severity there is no row. `matches`: indices into the two sequences.
    """
    spans = {(a.trace_id, a.span_id) for a in annotated}
    matched = None if matches is None else {m.finding for m in matches if m.caught}
    facts = [(p, (p.trace_id, p.span_id) in spans, i in (matched or ())) for i, p in enumerate(predicted)]
    rows = (
        _row(judge, severity, facts, adjudicated=matched is not None)
        for judge in (ALL, *sorted({p.judge for p in predicted}))
        for severity in SEVERITIES
    )
    return tuple(row for row in rows if row.findings)


Fact = tuple[Predicted, bool, bool]
"""A finding; whether it is on an annotated span, and matched with an annotated error."""


def _row(judge: str, severity: str, facts: Iterable[Fact], *, adjudicated: bool) -> PrecisionRow:
    chosen = [fact for fact in facts if judge in {ALL, fact[0].judge} and severity in {ALL, fact[0].severity}]
    by_trace: defaultdict[str, Counts] = defaultdict(lambda: (0, 0, 0))
    for finding, on_span, matched in chosen:
        findings, spans, matches = by_trace[finding.trace_id]
        by_trace[finding.trace_id] = findings + 1, spans + on_span, matches + matched
    drawn = intervals(list(by_trace.values()), _shares) if severity == ALL else {}
    return PrecisionRow(
        judge=judge,
        severity=severity,
        findings=len(chosen),
        on_span=sum(on_span for _, on_span, _ in chosen),
        matched=sum(matched for _, _, matched in chosen) if adjudicated else None,
        intervals={name: i for name, i in drawn.items() if adjudicated or name != "matched"},
    )


Counts = tuple[int, int, int]
"""Of one trace: findings, those on annotated spans, those that are matched."""


def _shares(traces: Sequence[Counts]) -> dict[str, float]:
    findings, on_span, matched = map(sum, zip(*traces, strict=True))
    return {"on_span": on_span / findings, "matched": matched / findings}
