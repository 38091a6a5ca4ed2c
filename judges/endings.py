"""How agent runs ended: whether a run failed, where its failure arose, and how far it reached.

A run failed where its own span says so, whatever the message: the wording only names the kind. Spans that carry one
failure upwards tell of one failure, that of the innermost run: a run that ends in the step in which a run below it
failed relays that failure, unless its own message names a limit, a time-out or a cancellation of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Captured, Kind, NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, Turn, TurnKind

from .failed_steps import failed_steps
from .failure_text import FailureKind, classify, failure_kind
from .wording import WORDINGS, holds_any


class EndKind(StrEnum):
    """Why a run ended without finishing, as far as the message tells."""

    LIMIT = "limit"
    TIMEOUT = "timeout"
    CANCELLED = "cancelled"
    CRASH = "crash"


@dataclass(frozen=True, slots=True)
class Ending:
    """The failure by which a run ended.

    `span`: whose status says so (the run's own, else an enclosing one or its last LLM call); `message`: verbatim from
    it, "" without one. `turn`: the run's last turn, in which it ended. `cause_id`: span of the LLM or tool call that
    failed there and took the run with it, "" for none. `fatal`: nothing above the run went on after it. `relayed`: the
    failure is that of a run below, told again.
    """

    kind: EndKind
    span: NormalizedSpan
    message: str
    turn: Turn | None
    cause_id: str
    fatal: bool
    relayed: bool


_READ: Final = 600
_LIMIT: Final = re.compile(
    r"\b(?:max(?:imum)?|limit of|too many|exceed\w{0,3}|reached)\b[^.;\n]{0,40}"
    r"\b(?:turns?|steps?|iterations?|rounds?|cycles?|loops?|recursions?|depth|(?:llm|tool|model)[ _]calls?|messages"
    r"|budget)\b"
    r"|\b(?:turn|step|iteration|recursion|loop|depth|call|usage|token|message)s?[ _-]?limit\b"
    r"|^(?:max_\w{1,20}|(?:\w{1,20}_)?budget(?:_\w{1,20})?)$"  # a reason of the end as one word
    r"|\b(?:request|tool_calls?|total_tokens?|max_\w{1,20})_limit\b|\bmax_(?:turns|steps|iterations|loops|rounds)\b"
)
_SERVICES: Final = frozenset({FailureKind.RATE, FailureKind.SERVICE, FailureKind.AUTH})


def end_kind(message: str) -> EndKind:
    """The kind of ending that a failed run's message names; a crash where it names none."""
    opening, _, trail = message[:_READ].lower().partition("traceback (most recent call last)")
    low = opening or trail
    kind = classify(low)
    if kind is FailureKind.LIMIT or (kind not in _SERVICES and _LIMIT.search(low)):
        return EndKind.LIMIT
    if kind is FailureKind.TIMEOUT:
        return EndKind.TIMEOUT
    return EndKind.CANCELLED if holds_any(low, WORDINGS["endings"]["cancelled"]) else EndKind.CRASH


def message_of(span: NormalizedSpan) -> str:
    """The message of a failed span, verbatim from it; "" where it has none."""
    told = span.exceptions[-1] if span.exceptions else None
    found = (told.message or told.type) if told else ""
    return (found or span.raw.status_message or span.failure).strip()


def endings(trace: Trace) -> Mapping[str, Ending]:
    """The endings of the runs that failed, by run id."""
    failed = {run.id: span for run in trace.runs if (span := _failed_span(run, trace)) is not None}
    if not failed:
        return {}
    runs = {run.id: run for run in trace.runs}
    relays = {above for run_id in failed if (above := _relayed_to(runs[run_id], runs, failed))}
    return {
        run_id: _ending(runs[run_id], span, fatal=_is_fatal(runs[run_id], runs, failed), relayed=run_id in relays)
        for run_id, span in failed.items()
    }


def _failed_span(run: AgentRun, trace: Trace) -> NormalizedSpan | None:
    """The span that says that the run failed, None for one that did not, or goes on."""
    own = run.span or trace.spans.get(run.id)
    if own is None or own.raw.pending:
        return None
    if not run.turns and trace.state is TraceState.OPEN:
        return None  # what it did, or the span that says that it is no run of its own, may still come
    if run.span is None and own.kind is Kind.LLM:
        # Of a bare client's calls, only the last one's outcome is the run's.
        last = _last(run)
        found = last.llm if last is not None and trace.state in _OVER else None
    elif own.is_error or run.answer or not _recorded(run):
        found = own
    else:
        found = _last_step(run) or (own if run.parent_id else _enclosing(own, trace))
    return found if found is not None and found.is_error else None


def _recorded(run: AgentRun) -> bool:
    """Whether what the model wrote last was recorded, so that a missing answer means something."""
    last = _last(run)
    return last is not None and last.llm is not None and last.llm.content is not Captured.NOTHING


def _last_step(run: AgentRun) -> NormalizedSpan | None:
    """The failed step around the last call of a run that ended without an answer: not all agents' spans tell of it."""
    last = _last(run)
    return next(failed_steps(last), None) if last is not None else None


def _enclosing(own: NormalizedSpan, trace: Trace) -> NormalizedSpan | None:
    """The nearest failed span around a manager's run that ended without an answer."""
    above = own.raw.parent_span_id
    for _ in range(_REACH):
        span = trace.spans.get(above)
        if span is None:
            return None
        if span.is_error:
            return span
        above = span.raw.parent_span_id
    return None


_REACH: Final = 16
_OVER: Final = frozenset({TraceState.SETTLED, TraceState.FAILED})


def _last(run: AgentRun) -> Turn | None:
    return next((turn for turn in reversed(run.turns) if turn.kind is not TurnKind.INNER), None)


def _relayed_to(run: AgentRun, runs: Mapping[str, AgentRun], failed: Mapping[str, NormalizedSpan]) -> str:
    """The id of the run above that ended by the failure of `run`; "" where it went on, or failed by one of its own."""
    above = runs.get(run.parent_id)
    last = _last(above) if above is not None else None
    if above is None or above.id not in failed or last is None:
        return ""
    started = {*last.sub_run_ids, *(call.sub_run_id for call in last.tool_calls)}
    if run.id not in started or (last.llm is not None and last.llm.is_error):
        return ""
    theirs = message_of(failed[above.id])
    same = end_kind(theirs) is EndKind.CRASH or _alike(theirs, message_of(failed[run.id]))
    return above.id if same else ""


def _is_fatal(run: AgentRun, runs: Mapping[str, AgentRun], failed: Mapping[str, NormalizedSpan]) -> bool:
    at = run
    for _ in range(len(runs)):
        if at.parent_id not in runs:
            return True
        above = _relayed_to(at, runs, failed)
        if not above:
            return False
        at = runs[above]
    return False


def _alike(one: str, other: str) -> bool:
    """Whether two messages tell of one failure: they share a long piece, or one holds the other."""
    a, b = one[:_COMPARED], other[:_COMPARED]
    if not a or not b:
        return False
    found = SequenceMatcher(None, a, b, autojunk=False).find_longest_match()
    return found.size >= min(_SHARED, len(a), len(b))


_COMPARED: Final = 400
_SHARED: Final = 32


def _ending(run: AgentRun, span: NormalizedSpan, *, fatal: bool, relayed: bool) -> Ending:
    message, last = message_of(span), _last(run)
    kind = end_kind(message)
    if kind is EndKind.CRASH and failure_kind(message, span) is FailureKind.CANCELLED:
        kind = EndKind.CANCELLED
    return Ending(kind, span, message, last, _cause(last, span, kind), fatal, relayed)


def _cause(last: Turn | None, span: NormalizedSpan, kind: EndKind) -> str:
    """See `Ending.cause_id`."""
    if last is None or span is last.llm or kind is EndKind.CANCELLED:  # which is nobody's mistake
        return ""
    if last.llm is not None and last.llm.is_error:
        return last.llm.span_id
    failed = [call for call in last.tool_calls if call.error is not None and not call.closing]
    for call in islice(reversed(failed), _MOST):
        if kind is EndKind.CRASH or _alike(message_of(span), call.error or ""):
            return call.span.span_id if call.span is not None else last.llm.span_id if last.llm is not None else ""
    waiting = any(
        c.requested and c.result is None and c.error is None and c.executed is not True for c in last.tool_calls
    )
    return last.llm.span_id if waiting and last.llm is not None and kind is EndKind.CRASH else ""


_MOST: Final = 8
