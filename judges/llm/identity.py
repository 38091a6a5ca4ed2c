"""Findings from claims that passed the gate: judge, confidence and id."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from tracejury.schemas.findings import Finding, normalise_evidence
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity
from tracejury.schemas.transcript import StepKind, Transcript

from .answer_types import Claim
from .criteria_types import Criteria
from .members import LlmJudges
from .placing import ClaimLocation, provisional_finding


def owner(claim: Claim, asked: Sequence[Criteria]) -> Criteria | None:
    """The judge whom the claim belongs to: that of the first of its dimensions that one of those asked has."""
    codes = {judge.code: judge for judge in asked}
    return next((codes[code] for code in claim.codes if code in codes), None)


def taxonomy(claim: Claim, judge: Criteria) -> str:
    """The taxonomy of the claim's category, "" where it has none."""
    if claim.category in judge.categories:
        return judge.taxonomy
    return TRAIL if claim.category in TRAIL_CATEGORIES else ""


def finding(claim: Claim, stand: ClaimLocation, judge: Criteria, panel: LlmJudges, shown: Transcript) -> Finding:
    """The claim as a provisional finding of `judge`; what is immaterial is as sure as what is LOW.

    A claim that rests on text which the judge was not shown is LOW.
    """
    severity = Severity.LOW if claim.cut else claim.severity
    surest = severity if claim.material else Severity.LOW
    confidence = min(panel.criteria.confidence(judge.name, s) for s in (claim.severity, surest))
    kinds = {step.label: step.kind for step in shown.steps}
    showed = [label for label in claim.shown_at if shown.spans.get(label, stand.span_id) != stand.span_id]
    did = next((shown.spans[label] for label in showed if kinds[label] is not StepKind.LLM), "")
    saw = next((shown.spans[label] for label in showed if kinds[label] is StepKind.LLM), "")
    relayed = [shown.spans.get(label, "") for label in (*claim.labels[1:], *claim.also_at)]
    return provisional_finding(
        stand,
        judge.name,
        taxonomy(claim, judge),
        claim.category,
        dimensions=tuple(Dimension(code) for code in claim.codes if code in tuple(Dimension)),
        severity=severity,
        confidence=confidence,
        explanation=claim.why,
        tool_span_id=did,
        seen_by_span_id=saw,
        also_at=tuple(dict.fromkeys(i for i in relayed if i and i != stand.span_id)),
        title=claim.title,
    )


def one_a_decision(findings: Iterable[Finding]) -> list[Finding]:
    """One answer's findings; of those with one span, category and quote, one: the surest, with all dimensions."""
    return _merged(findings, lambda f: f"{f.fingerprint} {normalise_evidence(f.evidence)}")


def _merged(findings: Iterable[Finding], key: Callable[[Finding], str]) -> list[Finding]:
    """Each key once: the surest and gravest, with the dimensions and places of all."""
    kept: dict[str, Finding] = {}
    for new in findings:
        old = kept.setdefault(key(new), new)
        first, second = (new, old) if _weight(new) > _weight(old) else (old, new)
        kept[key(new)] = replace(
            first,
            dimensions=tuple(dict.fromkeys((*first.dimensions, *second.dimensions))),
            also_at=tuple(dict.fromkeys((*first.also_at, *second.also_at))),
            tool_span_id=first.tool_span_id or second.tool_span_id,
            seen_by_span_id=first.seen_by_span_id or second.seen_by_span_id,
            title=first.title or second.title,
        )
    return list(kept.values())


def _weight(found: Finding) -> tuple[float, int]:
    return (found.confidence, found.severity.rank)


def ordered(spans: Mapping[str, NormalizedSpan], findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Each id once, by time of the span (one of `spans`), category and judge."""
    once = _merged(findings, lambda f: f.id)
    return tuple(sorted(once, key=lambda f: (_start(spans, f), f.span_id, f.category, f.judge, f.id)))


def _start(spans: Mapping[str, NormalizedSpan], found: Finding) -> int:
    span = spans.get(found.span_id)
    return span.raw.start if span is not None else 0
