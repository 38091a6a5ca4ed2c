"""Errors as evaluations: one for each error, under the id and at the span with which a backend was first told of it.

The id of an error changes when a late finding moves or joins it. Each id that it had is that of an error that one of
its findings leads by itself. So a backend was told of the error if it was told any of these ids: the earliest of them
goes on, and the others, those of errors that joined it, are taken back. Versions that sent findings used their ids.
Pure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence

from tracejury.collector.otlp.codec.encode import Plain
from tracejury.judges.causes import led_by
from tracejury.schemas.agent_errors import AgentError, whole_error
from tracejury.schemas.decisive import why_and_instead
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.export_record import JudgedOpinion, TraceRecord
from tracejury.schemas.queries.reader import Confidence

from .evaluations import ERROR_NAME, RETRACTED, Evaluation, hash64, told_key


def errors_in(records: Sequence[TraceRecord]) -> tuple[AgentError, ...]:
    """The current errors of all traces that were judged as one, as they are stored."""
    findings = {o.said.id: o.said for record in records for o in record.opinions if isinstance(o.said, Finding)}
    whole = (whole_error(told, findings) for record in records for told in record.found)
    return tuple(error for error in whole if error is not None and error.state is FindingState.CURRENT)


def decided_at(record: TraceRecord, errors: Iterable[AgentError], sure: Confidence) -> Counter[str]:
    """How many errors that are sure enough were decided at a span of the trace, by the span's id."""
    least = sure.least(record.conventions)
    own = (error for error in errors if error.lead.trace_id == record.trace_id)
    return Counter(error.lead.span_id for error in own if error.confidence() >= least)


def error_evaluations(
    records: Sequence[TraceRecord], errors: Sequence[AgentError], sure: Confidence
) -> Iterator[Evaluation]:
    """Those of all traces that were judged as one, with these `errors`, where their spans are stored.

    What a backend was told and what holds no more, or not surely enough, comes last and does not live.
    """
    own = {record.trace_id: record for record in records}
    opinions = {o.said.id: o for record in records for o in record.opinions if isinstance(o.said, Finding)}
    findings = [o.said for o in opinions.values() if isinstance(o.said, Finding)]
    sent = frozenset(number for record in records for number in record.sent)
    ids, used = {error.id for error in errors}, set[str]()
    for error in errors:
        least = sure.least(own[error.lead.trace_id].conventions)
        if error.confidence() < least:
            continue
        told_id, told = _first_told(error, sent, (ids | used) - {error.id})
        used.add(told_id)
        end = own[told.trace_id].ends.get((told.trace_id, told.span_id))
        if end is not None:
            yield _found(error, least, opinions[error.lead.id], told_id, told, end)
    for finding in sorted(findings, key=lambda f: (-f.confidence, f.id)):
        end = own[finding.trace_id].ends.get((finding.trace_id, finding.span_id))
        for told_id in (led_by(finding), finding.id):
            if told_id not in used and end is not None and _is_told(told_id, sent):
                used.add(told_id)
                yield _retracted(finding, opinions[finding.id], told_id, end)


def _first_told(error: AgentError, sent: Collection[int], others: Collection[str]) -> tuple[str, Finding]:
    """The id with which the backend was first told of the error, with the finding whose it is; else its own.

    `others`: ids that are of other errors.
    """
    earliest = sorted(error.findings, key=lambda f: (f.first_seen, f.id))
    known = ((told_id, finding) for finding in earliest for told_id in (led_by(finding), finding.id))
    told = ((told_id, finding) for told_id, finding in known if told_id not in others and _is_told(told_id, sent))
    return next(told, (error.id, error.lead))


def _is_told(evaluation_id: str, sent: Collection[int]) -> bool:
    return hash64(told_key(evaluation_id).encode()) in sent


def _found(
    error: AgentError, least: float, opinion: JudgedOpinion, told_id: str, told: Finding, end: int
) -> Evaluation:
    lead, severity = error.lead, error.severity(least)
    details: dict[str, Plain] = {
        "error.id": error.id,
        "error.span_id": lead.span_id,
        "title": error.title,
        "judge": lead.judge,
        "judges": sorted({finding.judge for finding in error.findings}),
        "taxonomy": lead.taxonomy,
        "category": lead.category,
        "severity": severity.value,
        "confidence": error.confidence(),
        "dimensions": [d.value for d in lead.dimensions],
        **_verification(lead),
    }
    details["decisive"] = bool(error.decided)
    if instead := why_and_instead(error.decided)[1]:
        details["instead"] = instead
    return Evaluation(
        id=told_id,
        trace_id=told.trace_id,
        span_id=told.span_id,
        end=end,
        name=ERROR_NAME,
        kind=_kind(opinion),
        at=min(finding.first_seen for finding in error.findings),
        score=float(severity.rank + 1),
        label=lead.category,
        explanation=_explanation(lead),
        details=details,
    )


def _retracted(finding: Finding, opinion: JudgedOpinion, told_id: str, end: int) -> Evaluation:
    return Evaluation(
        id=told_id,
        trace_id=finding.trace_id,
        span_id=finding.span_id,
        end=end,
        name=ERROR_NAME,
        kind=_kind(opinion),
        at=opinion.at,
        score=0.0,
        label=RETRACTED,
        explanation=_explanation(finding),
        details={"error.id": led_by(finding), "title": finding.shown_title, "judge": finding.judge},
        live=False,
    )


def _verification(lead: Finding) -> dict[str, Plain]:
    """What another judge says of the lead, where one was asked."""
    if not lead.verification:
        return {}
    return {
        "error.verification": lead.verification.value,
        "error.verified_by": lead.verified_by,
        "error.verification_reason": lead.verification_reason,
    }


def _kind(opinion: JudgedOpinion) -> str:
    return "CODE" if opinion.by_code else "LLM"


def _explanation(finding: Finding) -> str:
    return f"{finding.explanation}\nEvidence: {finding.evidence}" if finding.evidence else finding.explanation
