"""The sources of items of RUT: the outcome of a task by the oracle of its card, and its failure without one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.item_source import ItemCase, Items, ItemSource, RecordedSubject
from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.cards.task_cards import SessionTerms
from tracejury.judges.packs.emitted_states import emitted
from tracejury.judges.packs.sources import completed
from tracejury.judges.quoting import quote as cut
from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.trajectory import Trace

from .calls import OracleCall, calls_of
from .figures import counts
from .oracle_case import OracleCase
from .outcome import judge
from .rules import broken

_UNSEEN: Final = "neither calls of tools nor answers of models were recorded"
_MOST_CALLS: Final = 40
_MOST_TEXT: Final = 300


def _by_oracle(case: ItemCase) -> Items:
    """Of a session: the outcome, and beside it each other rule that a call broke.

    Of an exchange: the rules that its calls broke, as far as the session goes.
    """
    card, subject = case.terms.card, case.subject
    if card is None or card.oracle is None:
        return Items()
    oracle_case = _case(card.oracle, subject, case.terms)
    unseen = subject.unseen()
    shown = oracle_case.calls or any(map(_answered, subject.distinct_traces)) or _failed(subject)
    if unseen or not shown:
        return Items(nothing=unseen or _UNSEEN)
    if subject.number is None:
        return _outcome(case.check, subject, oracle_case)
    found = _once(_broken(case.check, subject, oracle_case, over=False))
    return Items(answers=found, nothing="its calls break no rule of the oracle")


def _failure(case: ItemCase) -> Items:
    """The failure of a task without an oracle; nothing where it did not fail."""
    card, subject = case.terms.card, case.subject
    done = () if card and card.oracle else completed(case).answers
    if not done or done[0].best:
        return Items()
    calls = _case(Oracle(type="refuse_or_scope"), subject, case.terms)
    told = [f"{one.tool} {'writes' if calls.writes(one.tool) else 'reads'}" for one in calls.calls[:_MOST_CALLS]]
    wanted = (card.instruction if card else "") or subject.record.exchanges[0].exchange.asked
    text = f"The task failed ({done[0].reason[:_MOST_TEXT]}). Calls in order: {', '.join(told) or 'none'}. "
    return Items((CheckItem(f"{text}Task: {' '.join(wanted.split())[:_MOST_TEXT]}"),))


def _failed(subject: RecordedSubject) -> bool:
    """Whether every exchange ended in an error without an answer: then it is no matter of what is recorded."""
    runs = {(trace.trace_id, run.id): run for trace in subject.distinct_traces for run in trace.runs}
    ended = [(one.exchange.answer, runs.get((one.trace_id, one.exchange.run_id))) for one in subject.record.exchanges]
    return bool(ended) and all(not answer and run is not None and run.status == "error" for answer, run in ended)


def _answered(trace: Trace) -> bool:
    """Whether it shows what a model answered, and so the calls that it asked for."""
    turns = (turn for run in trace.runs for turn in run.turns if turn.llm is not None)
    return any(turn.text or turn.tool_requests for turn in turns)


def _case(oracle: Oracle, subject: RecordedSubject, terms: SessionTerms) -> OracleCase:
    exchanges, traces = subject.record.exchanges, subject.distinct_traces
    numbers = {(one.trace_id, one.exchange.id): number for number, one in enumerate(exchanges)}
    states = emitted(span.raw for trace in traces for span in trace.spans.values())
    answered = tuple(bool(one.exchange.answer) for one in exchanges)
    writes = oracle.writing(terms.service.writes if terms.service else ())
    return OracleCase(oracle, writes, calls_of(traces, numbers), answered, states)


def _outcome(check: Check, subject: RecordedSubject, case: OracleCase) -> Items:
    found = judge(case)
    if found.success is None:
        return Items(nothing=found.reason)
    guessed = f" Guessed by name: {', '.join(case.guessed)}." if case.guessed else ""
    told = f"{len(case.calls)} calls of {case.budget}. {found.reason}{guessed}"
    numbers = counts(len(case.calls), case.budget)
    if found.mode is None:
        return Items(answers=(ItemAnswer(check.title, check.answers[0], best=True, reason=told), *numbers))
    word = found.mode.value if found.sure else check.answers[-1]
    mode = _answer(check, subject, word, told, found.call, found.argument)
    return Items(answers=(*_once([mode, *_broken(check, subject, case, over=True)]), *numbers))


def _broken(check: Check, subject: RecordedSubject, case: OracleCase, *, over: bool) -> Iterator[ItemAnswer]:
    for one in broken(case, over=over):
        if subject.number in (None, one.call.exchange):
            yield _answer(check, subject, one.mode.value, one.reason, one.call)


def _once(answers: Iterable[ItemAnswer]) -> tuple[ItemAnswer, ...]:
    """The first of several alike at one span."""
    distinct: dict[tuple[str, ...], ItemAnswer] = {}
    for one in answers:
        distinct.setdefault((one.answer, one.trace_id, one.span_id), one)
    return tuple(distinct.values())


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


SOURCES: Final = (
    ItemSource(
        "oracle",
        "the task has no oracle",
        _by_oracle,
        asks=False,
        early=True,
        needs="oracle",
        outcome=True,
        anywhere=True,
    ),
    ItemSource("failure", "the task has an oracle, or nothing says that it failed", _failure),
)
"""Of this pack alone."""
