"""Precision over findings, under its own name: the share of a judge's findings that sit on an annotated span.

Annotators do not mark everything, so it is a lower bound of the share that is right; and a finding on an annotated span
need not speak of what was annotated there, so with `matches` the share that does stands beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from ...schemas.taxonomy import Severity
from ..agreement import Annotated, Predicted
from ..bootstrap import Interval, intervals
from .matching import Match

ALL: Final = "all"
SEVERITIES: Final = (ALL, *(s.value for s in reversed(Severity)))


@dataclass(frozen=True, slots=True)
class FindingRow:
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
    annotated: Sequence[Annotated],
    predicted: Sequence[Predicted],
    matches: Iterable[Match] | None = None,
) -> tuple[FindingRow, ...]:
    """Rows by judge (all first) and severity (all first); a finding counts once, for the judge that made it.

    Without findings of a severity there is no row. `matches`: indices into the two sequences.
    """
    spans = {(a.trace_id, a.span_id) for a in annotated}
    told = None if matches is None else {m.finding for m in matches if m.caught}
    facts = [
        _Fact(p, (p.trace_id, p.span_id) in spans, told is not None and i in told) for i, p in enumerate(predicted)
    ]
    judges = (ALL, *sorted({p.judge for p in predicted}))
    adjudicated = told is not None
    return tuple(row for judge in judges for row in _rows(judge, facts, adjudicated=adjudicated))


@dataclass(frozen=True, slots=True)
class _Fact:
    finding: Predicted
    on_span: bool
    matched: bool


def _rows(judge: str, facts: Sequence[_Fact], *, adjudicated: bool) -> Iterator[FindingRow]:
    own = [f for f in facts if judge in {ALL, f.finding.judge}]
    for severity in SEVERITIES:
        chosen = [f for f in own if severity in {ALL, f.finding.severity}]
        if not chosen:
            continue
        drawn = intervals(_by_trace(chosen), _shares) if severity == ALL else {}
        yield FindingRow(
            judge=judge,
            severity=severity,
            findings=len(chosen),
            on_span=sum(f.on_span for f in chosen),
            matched=sum(f.matched for f in chosen) if adjudicated else None,
            intervals={name: i for name, i in drawn.items() if adjudicated or name != "matched"},
        )


def _by_trace(facts: Iterable[_Fact]) -> list[tuple[int, int, int]]:
    grouped: defaultdict[str, list[_Fact]] = defaultdict(list)
    for fact in facts:
        grouped[fact.finding.trace_id].append(fact)
    return [(len(fs), sum(f.on_span for f in fs), sum(f.matched for f in fs)) for fs in grouped.values()]


def _shares(rows: Sequence[tuple[int, int, int]]) -> dict[str, float]:
    findings, on_span, matched = (sum(column) for column in zip(*rows, strict=True))
    return {"on_span": on_span / findings, "matched": matched / findings}
