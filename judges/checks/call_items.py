"""The attempted calls of an exchange, and which of them failed: by structure, as the detectors see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.judges.detectors.failures import tool_evidence
from tracejury.judges.facts import CallFacts
from tracejury.judges.failure_text import FailureKind, told_at
from tracejury.judges.names import Role, reads
from tracejury.judges.quoting import json_text, quote, quote_call
from tracejury.judges.read_call import read_call
from tracejury.judges.tool_schema import breach, parameters_of, reason_of_refusal
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.shown import shown_line
from tracejury.schemas.trajectory import AgentRun, Exchange, ToolCall, Trace, Turn, TurnKind
from tracejury.schemas.transcript import Step

from .check_types import Check

_LONGEST: Final = 200  # characters of an item's text, and of why it failed


@dataclass(frozen=True, slots=True)
class AttemptedCall:
    """A call that the manager of an exchange attempted.

    `item`: the call in one line, at its tool's span if it has one, else at the LLM call that asked for it. `why`: why
    it failed, in one line, "" where it did not, as far as known. `quote`: of a failed call, what the item's span
    records of it. `breach`: of one that ran and did not fail, how its arguments break its tool's schema, "" for none.
    """

    item: CheckItem
    why: str = ""
    quote: str = ""
    breach: str = ""

    @property
    def failed(self) -> bool:
        """Whether it is known to have failed."""
        return bool(self.why)

    def answered(self, check: Check) -> ItemAnswer:
        """The item on the scale of a check that is answered by structure: its best, or its last where it failed.

        A breach has the word between these, if there is one, and is as good as the best.
        """
        item, words = self.item, check.answers
        reason = f"It ran, though the tool {self.breach}." if self.breach else ""
        return ItemAnswer(
            item=item.text,
            answer=words[-1] if self.failed else words[1] if self.breach and words[2:] else words[0],
            best=not self.failed,
            reason=f"The call failed: {self.why}." if self.failed else reason,
            label=item.label,
            trace_id=item.trace_id,
            span_id=item.span_id,
            quote=self.quote,
        )


def attempted_calls(trace: Trace, exchange: Exchange, steps: Sequence[Step] = ()) -> tuple[AttemptedCall, ...]:
    """All calls of the exchange's own run, in order; `steps`: of its record, for the labels.

    A failed call was refused (also for breaking its tool's schema), could not be read, named a tool that was not there,
    brought an error, or started an agent whose run failed. That something was not found is an answer, unless the tool
    was to change it. What is recorded neither to have run nor to have failed did not fail. How the run hands over its
    answer is no call, nor is an agent that the harness started unasked.
    """
    run = trace.run(exchange.run_id)
    if run is None or exchange.first < 0:
        return ()
    labels: dict[str, str] = {}
    for step in steps:
        labels.setdefault(step.span_id, step.label)
    turns = run.turns[exchange.first : exchange.last + 1]
    return tuple(
        call for turn in turns if turn.kind is not TurnKind.INNER for call in _of_turn(trace, run, turn, labels)
    )


def _of_turn(trace: Trace, run: AgentRun, turn: Turn, labels: Mapping[str, str]) -> Iterator[AttemptedCall]:
    for call in turn.tool_calls:
        facts = read_call(call, turn, run)
        unasked = call.requested is False and call.span is None
        if call.closing or unasked or facts.role is Role.FINAL:
            continue
        sub_run = trace.run(call.sub_run_id) if call.sub_run_id else None
        span = call.span or (turn.llm if call.requested else None) or (sub_run.span if sub_run else None) or turn.llm
        why = _why(facts, turn, run, sub_run)
        yield AttemptedCall(
            item=_item(trace, call, span, labels),
            why=why,
            quote=_quote(turn, facts, span) if why else "",
            breach="" if why or not facts.ran else breach(call.arguments, parameters_of(call, run.tools)),
        )


def _item(trace: Trace, call: ToolCall, span: NormalizedSpan | None, labels: Mapping[str, str]) -> CheckItem:
    arguments = json_text(call.arguments) if call.arguments not in (None, "", {}) else ""
    text = shown_line(f"{call.name}({arguments})", _LONGEST)
    if span is None:
        return CheckItem(text)
    return CheckItem(text, labels.get(span.span_id, ""), trace.home(span.span_id), span.span_id)


def _why(facts: CallFacts, turn: Turn, run: AgentRun, sub_run: AgentRun | None) -> str:
    call, failure = facts.call, facts.failure
    # Of a call without an outcome nobody knows before the run is over or goes on.
    known = failure is not None or run.status != "unfinished" or turn.index < len(run.turns) - 1
    if facts.refusal is not None and known:
        return _refusal(facts, run)
    if failure is not None and (not failure.page or reads(call.name) is False):
        return shown_line(_line(failure.text) or "it ended in an error", _LONGEST)
    if sub_run is not None and sub_run.status == "error":
        return shown_line(f"the run of {call.name} failed", _LONGEST)
    return ""


def _refusal(facts: CallFacts, run: AgentRun) -> str:
    match facts.refusal:
        case FailureKind.UNKNOWN_TOOL:
            return "there is no such tool"
        case FailureKind.MALFORMED:
            return "the arguments are no valid JSON"
        case FailureKind.SCHEMA:
            found = reason_of_refusal(facts.call.arguments, parameters_of(facts.call, run.tools))
            return shown_line(f"the tool {found or 'does not take these arguments'}", _LONGEST)
        case _:
            return shown_line(f"refused: {_line(facts.failure.text) if facts.failure else ''}", _LONGEST)


def _line(text: str) -> str:
    """The line of a failure's text that says what happened."""
    text = text.strip()
    return next(iter(quote(text, told_at(text)).splitlines()), "")


def _quote(turn: Turn, facts: CallFacts, span: NormalizedSpan | None) -> str:
    if span is None or span is turn.llm:
        return quote_call(turn, facts.call)
    failure = facts.failure.text if facts.failure is not None else span.error_text
    return tool_evidence(span, facts.call, failure)
