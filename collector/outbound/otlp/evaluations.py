"""Evaluations of one span each, the form that other backends know; those of verdicts, and attributes of spans."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from tracejury.collector.otlp.codec.encode import Plain
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.export_record import JudgedOpinion, TraceRecord
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.verdicts import SubjectKind, Verdict

ERROR_NAME: Final = "tracejury.error"
"""The name under which errors go out; a verdict goes out under its judge's."""
RETRACTED: Final = "retracted"
NOT_APPLICABLE: Final = "not_applicable"
UNSCORED: Final = "unscored"

ON_SPANS: Final = (
    "tracejury.findings.count",
    "tracejury.errors.count",
    "tracejury.severity.max",
    "tracejury.findings.judges",
    "tracejury.findings.categories",
    "tracejury.findings.verifications",
)
"""Attributes that are written on spans with findings; the last only where another judge was asked about one."""

_WHOLE: Final = frozenset({SubjectKind.AGENT_RUN, SubjectKind.EXCHANGE, SubjectKind.TRACE, SubjectKind.SESSION})


@dataclass(frozen=True, slots=True)
class Evaluation:
    """An error or verdict about one span. `id`: 32 hex digits, the same whenever the same is said of it again.

    `score`: of a verdict 0 to 3 (3 best), of a check's its value, 0 to 1; of an error its severity, 1 LOW to 3 HIGH,
    and 0 once it is retracted. `label`: of an error its category. `error`: why there is no score, a class. `kind`: CODE
    or LLM. `at`: unix nanos. `live`: False where it only takes back what was sent before.
    """

    id: str
    trace_id: str
    span_id: str
    end: int
    name: str
    kind: str
    at: int
    score: float | None = None
    label: str = ""
    explanation: str = ""
    error: str = ""
    details: Mapping[str, Plain] | None = None
    live: bool = True

    @property
    def digest(self) -> int:
        """A 64-bit hash of the content, without its time."""
        said = (self.span_id, self.name, self.kind, self.score, self.label, self.explanation, self.error, self.details)
        return hash64(orjson.dumps(said, option=orjson.OPT_SORT_KEYS))


def hash64(data: bytes) -> int:
    """A 64-bit hash that is the same in every process."""
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest())


def shown(record: TraceRecord, sure: Confidence) -> Iterator[Finding]:
    """The current findings of the trace whose confidence reaches the profile's threshold."""
    least = sure.least(record.conventions)
    for opinion in record.opinions:
        said = opinion.said
        if isinstance(said, Finding) and said.state is FindingState.CURRENT and said.confidence >= least:
            yield said


def told_key(evaluation_id: str) -> str:
    """The key under which it is stored that a backend was sent an evaluation."""
    return f"said:{evaluation_id}"


def verdict_evaluations(record: TraceRecord) -> Iterator[Evaluation]:
    """One for each verdict whose span is stored."""
    for opinion in record.opinions:
        if isinstance(opinion.said, Verdict) and opinion.said.subject.kind in _WHOLE:
            found = _of_verdict(record, opinion, opinion.said)
            if found is not None:
                yield found


def _of_verdict(record: TraceRecord, opinion: JudgedOpinion, verdict: Verdict) -> Evaluation | None:
    span_id = record.run_spans.get(verdict.subject.run_id, "") or record.top
    trace_id = record.holder(span_id)
    if not trace_id:
        return None
    subject = verdict.subject
    parts = (subject.tenant, subject.trace_id, subject.kind, subject.id, verdict.judge)
    score = verdict.value if verdict.score is None else float(verdict.score)
    unscored = score is None and not verdict.not_applicable
    return Evaluation(
        id=hashlib.blake2b(orjson.dumps(parts), digest_size=16).hexdigest(),
        trace_id=trace_id,
        span_id=span_id,
        end=record.ends[trace_id, span_id],
        name=verdict.judge,
        kind="LLM",
        at=opinion.at,
        score=score,
        label=NOT_APPLICABLE if verdict.not_applicable else UNSCORED if unscored else "",
        explanation=verdict.unscored_reason if unscored else verdict.reasons,
        error=UNSCORED if unscored else "",
        details={"judge": verdict.judge, "model": verdict.model, "subject": subject.kind.value},
    )


def span_attributes(findings: Iterable[Finding], decided: Mapping[str, int]) -> dict[str, dict[str, Plain]]:
    """Attributes for spans with findings, by span id: number, worst severity, judges, categories, verifications.

    `decided`: how many errors were decided at a span, by its id; an error is counted nowhere else.
    """
    by_span: dict[str, list[Finding]] = {}
    for finding in findings:
        by_span.setdefault(finding.span_id, []).append(finding)
    return {
        span_id: {
            name: value
            for name, value in zip(ON_SPANS, _in_all(found, decided.get(span_id, 0)), strict=True)
            if value != []
        }
        for span_id, found in by_span.items()
    }


def _in_all(found: list[Finding], errors: int) -> tuple[Plain, ...]:
    """The values of `ON_SPANS` for findings at one span, where so many errors were decided."""
    return (
        len(found),
        errors,
        max(found, key=lambda f: f.severity.rank).severity.value,
        sorted({f.judge for f in found}),
        sorted({f.category for f in found}),
        sorted({f.verification.value for f in found if f.verification}),
    )
