"""A judge to compare with: one call over the raw trace, as the TRAIL benchmark does it.

Its findings pass no evidence gate; those that name no span of the trace are counted as dropped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Final

from tracejury.judges.annotations import canonical_category
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.baseline import baseline_prompt
from tracejury.judges.llm.case import ServiceDescription
from tracejury.judges.llm.client import Client, Reply
from tracejury.judges.llm.json_object import json_object
from tracejury.processors.transcript.views import raw_view
from tracejury.schemas.errors import LlmError, TracejuryError
from tracejury.schemas.findings import Finding, finding_id, fingerprint
from tracejury.schemas.taxonomy import TRAIL, Severity
from tracejury.schemas.trajectory import Trace

from .judges_result import WHOLE_TRACE, RunResult

BASELINE: Final = "trail-baseline"
"""Its name as a judge."""

MOST_ERRORS: Final = 200
MOST_CHARACTERS: Final = 2000


async def judge_baseline(trace: Trace, description: ServiceDescription, client: Client) -> RunResult:
    """The baseline's result for a trace; without a usable answer it is unscored."""
    prompt = baseline_prompt(raw_view(trace), description, trace_id=trace.trace_id, service=trace.service)
    try:
        listed = _errors(await client.complete(prompt))
    except TracejuryError as error:
        return RunResult(WHOLE_TRACE, "trace", failures={BASELINE: str(error)})
    dropped: Counter[str] = Counter()
    findings: dict[str, Finding] = {}
    for item in listed:
        made = _finding(trace, item)
        if isinstance(made, str):
            dropped[made] += 1
        else:
            findings[made.id] = made
    return RunResult(WHOLE_TRACE, "trace", findings=tuple(findings.values()), dropped=dropped)


def _errors(reply: Reply) -> list[Mapping[str, Any]]:
    try:
        listed = json_object(reply.text, "errors")["errors"]
    except (AnswerError, KeyError):
        raise LlmError('no JSON of the form {"errors": [...]}') from None
    if not isinstance(listed, list):
        raise LlmError('"errors" is no list')
    return [error if isinstance(error, dict) else {} for error in listed[:MOST_ERRORS]]


def _finding(trace: Trace, error: Mapping[str, Any]) -> Finding | str:
    """The finding, or why there is none."""
    location, category, evidence, description, impact = (
        value[:MOST_CHARACTERS].strip() if isinstance(value := error.get(key), str) else ""
        for key in ("location", "category", "evidence", "description", "impact")
    )
    span_id = location.lower()
    if span_id not in trace.spans:
        return "unknown-span"
    severity = impact.upper()
    leaf = canonical_category(category)
    return Finding(
        id=finding_id(trace.tenant, trace.trace_id, span_id, BASELINE, leaf, evidence),
        fingerprint=fingerprint(trace.tenant, trace.trace_id, span_id, TRAIL, leaf),
        tenant=trace.tenant,
        trace_id=trace.trace_id,
        span_id=span_id,
        agent_run_id="",
        turn=None,
        judge=BASELINE,
        dimensions=(),
        taxonomy=TRAIL,
        category=leaf,
        severity=Severity(severity) if severity in set(Severity) else Severity.MEDIUM,
        confidence=1.0,
        evidence=evidence,
        explanation=description,
    )
