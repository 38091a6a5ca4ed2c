"""Two baselines that need no rules: blame the author of the first failed execution, and flag every LLM call."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from tracejury.judges.measures.located_claim import LocatedClaim
from tracejury.judges.quoting import values_of
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import ToolCall, Trace, Turn

FIRST_FAILURE: Final = "author of the first failed execution"
EVERY_CALL: Final = "every LLM call"

_FAILED: Final = re.compile(
    r"\bexit(?:ed)?(?: with)?[ _]?(?:code|status)\W{1,4}[1-9]\d{0,4}\b|^Traceback \(most recent call last\)|^Error\b",
    re.IGNORECASE,
)
_HEAD: Final = 200
"""Characters of a result in which a harness tells how the execution ended."""


def first_failure(trace: Trace) -> Iterator[LocatedClaim]:
    """A claim against the LLM call that wrote what failed first; none where nothing failed.

    An execution failed if its call did or its result opens with an exit status, a traceback or an error. What one agent
    wrote may be run by another: then the author is the latest call before whose text holds it, else the latest before.
    """
    failed = [
        (at.raw.end, at.raw.start, turn, call)
        for run in trace.runs
        for turn in run.turns
        for call in turn.tool_calls
        if not call.sub_run_id and _failed(call) and (at := call.span or turn.llm) is not None
    ]
    if failed:
        _, start, turn, call = min(failed, key=lambda f: f[:2])
        author = _author(call, turn, start, _llm_spans(trace))
        if author is not None:
            yield _claim(trace, author, FIRST_FAILURE)


def every_call(trace: Trace) -> Iterator[LocatedClaim]:
    """A claim against each LLM call."""
    return (_claim(trace, span, EVERY_CALL) for span in _llm_spans(trace))


def _failed(call: ToolCall) -> bool:
    return call.error is not None or _FAILED.search((call.result or "")[:_HEAD].lstrip()) is not None


def _author(call: ToolCall, turn: Turn, start: int, spans: Sequence[NormalizedSpan]) -> NormalizedSpan | None:
    if turn.llm is not None and call.requested is not False:
        return turn.llm
    before = [span for span in spans if span.raw.end <= start]
    code = max((_folded(str(value)) for value in values_of(call.arguments)), key=len, default="")
    wrote = [span for span in before if code and code in _folded(span.output)]
    return next(reversed(wrote or before), None)


def _llm_spans(trace: Trace) -> list[NormalizedSpan]:
    return sorted((s for s in trace.spans.values() if s.kind is Kind.LLM), key=lambda s: (s.raw.end, s.span_id))


def _folded(text: str) -> str:
    return " ".join(text.split())


def _claim(trace: Trace, span: NormalizedSpan, judge: str) -> LocatedClaim:
    run = next((r for r in trace.runs for t in r.turns if t.llm is not None and t.llm.span_id == span.span_id), None)
    return LocatedClaim(
        trace_id=span.raw.trace_id,
        run=run.id if run else "",
        agent=run.name if run else "",
        span=span.span_id,
        spans=frozenset({span.span_id}),
        judge=judge,
        category="",
        severity=Severity.HIGH,
        confidence=1.0,
        start=span.raw.start,
    )
