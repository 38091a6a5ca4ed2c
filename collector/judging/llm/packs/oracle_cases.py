"""The oracle of a task card, asked of a session, or of an exchange of one that goes on. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tracejury.judges.checks.case import AskedCheck
from tracejury.judges.checks.check_types import Check
from tracejury.judges.packs.pack_types import Pack
from tracejury.judges.packs.rut.calls import OracleCall, calls_of
from tracejury.judges.packs.rut.card import Oracle
from tracejury.judges.packs.rut.figures import counted
from tracejury.judges.packs.rut.oracle_case import OracleCase
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import broken
from tracejury.judges.packs.rut.state import emitted
from tracejury.judges.quoting import quote as cut
from tracejury.processors.doctor.examine import without_tool_spans
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import Verdict

from .pack_cases import RecordedSubject, completed
from .pack_panel import SessionTerms

_UNSEEN: Final = "neither calls of tools nor answers of models were recorded"
_MOST_CALLS: Final = 40
_MOST_TEXT: Final = 300


def asked_oracle(pack: Pack, check: Check, subject: RecordedSubject, terms: SessionTerms) -> AskedCheck:
    """The check with its answers, or why there are none.

    Of a session: the outcome, and beside it each other rule that a call broke. Of an exchange: the rules that its calls
    broke, as far as the session goes.
    """
    card = terms.match.card
    if card is None or card.oracle is None:
        return AskedCheck(check, (), pack.name)
    case, traces = _case(card.oracle, pack, subject, terms), _traces(subject)
    if unseen := without_tool_spans(traces) or (not case.calls and not any(map(_answered, traces)) and _UNSEEN):
        return AskedCheck(check, (), pack.name, (), unseen)
    answers, why = (_outcome if subject.number is None else _so_far)(check, subject, case)
    distinct: dict[tuple[str, ...], ItemAnswer] = {}
    for one in answers:
        distinct.setdefault((one.answer, one.trace_id, one.span_id), one)
    return AskedCheck(check, (), pack.name, tuple(distinct.values()), why)


def asked_failure(
    pack: Pack, check: Check, subject: RecordedSubject, terms: SessionTerms, goal: Verdict | None
) -> AskedCheck:
    """The check by which mode a task without an oracle failed; without an item where it did not."""
    card = terms.match.card
    done = () if card and card.oracle else completed(pack, check, subject, terms, goal).answers
    if not done or done[0].best:
        return AskedCheck(check, (), pack.name)
    case = _case(Oracle(type="refuse_or_scope"), pack, subject, terms)
    told = [f"{one.tool} {'writes' if case.writes(one.tool) else 'reads'}" for one in case.calls[:_MOST_CALLS]]
    wanted = (card.instruction if card else "") or subject.record.exchanges[0].exchange.asked
    text = f"The task failed ({done[0].reason[:_MOST_TEXT]}). Calls in order: {', '.join(told) or 'none'}. "
    return AskedCheck(check, (CheckItem(f"{text}Task: {' '.join(wanted.split())[:_MOST_TEXT]}"),), pack.name)


def _traces(subject: RecordedSubject) -> list[Trace]:
    return [*{trace.trace_id: trace for trace in subject.traces.values()}.values()]


def _answered(trace: Trace) -> bool:
    """Whether it shows what a model answered, and so the calls that it asked for."""
    turns = (turn for run in trace.runs for turn in run.turns if turn.llm is not None)
    return any(turn.text or turn.tool_requests for turn in turns)


Answers = tuple[list[ItemAnswer], str]
"""The answers, and why there are none where there are none."""


def _case(oracle: Oracle, pack: Pack, subject: RecordedSubject, terms: SessionTerms) -> OracleCase:
    exchanges, service, traces = subject.record.exchanges, pack.settings.terms(terms.service), _traces(subject)
    numbers = {(one.trace_id, one.exchange.id): number for number, one in enumerate(exchanges)}
    states = emitted(span.raw for trace in traces for span in trace.spans.values())
    answered = tuple(bool(one.exchange.answer) for one in exchanges)
    writes = oracle.writing(service.writes if service else ())
    return OracleCase(oracle, writes, calls_of(traces, numbers), answered, states)


def _outcome(check: Check, subject: RecordedSubject, case: OracleCase) -> Answers:
    found = judge(case)
    if found.success is None:
        return [], found.reason
    guessed = f" Guessed by name: {', '.join(case.guessed)}." if case.guessed else ""
    told = f"{counted(len(case.calls), case.budget)}{found.reason}{guessed}"
    if found.mode is None:
        return [ItemAnswer(check.title, check.answers[0], best=True, reason=told)], ""
    word = found.mode.value if found.sure else check.answers[-1]
    mode = _answer(check, subject, word, told, found.call, found.argument)
    return [mode, *_broken(check, subject, case, over=True)], ""


def _so_far(check: Check, subject: RecordedSubject, case: OracleCase) -> Answers:
    return [*_broken(check, subject, case, over=False)], "its calls break no rule of the oracle"


def _broken(check: Check, subject: RecordedSubject, case: OracleCase, *, over: bool) -> Iterator[ItemAnswer]:
    for one in broken(case, over=over):
        if subject.number in (None, one.call.exchange):
            yield _answer(check, subject, one.mode.value, one.reason, one.call)


def _answer(
    check: Check, subject: RecordedSubject, word: str, reason: str, call: OracleCall | None, argument: str = ""
) -> ItemAnswer:
    """The answer at a call, or at an argument of it; without a call at the last answer, else at the last step."""
    steps = subject.record.transcript.steps
    if call is not None:
        at = (call.trace_id, call.span_id)
        label = next((step.label for step in steps if (step.trace_id, step.span_id) == at), "")
        item, quote = CheckItem("", label, *at), call.quote(argument)
    else:
        item, quote = subject.answer, cut(subject.last.exchange.answer)
        if not item.span_id and steps:
            item = CheckItem("", steps[-1].label, steps[-1].trace_id, steps[-1].span_id)
            quote = subject.traces[item.trace_id].spans[item.span_id].raw.name
    given = ItemAnswer(check.title, word.replace(" ", "-"), best=False, reason=reason)
    return replace(given, label=item.label, trace_id=item.trace_id, span_id=item.span_id, quote=quote)
