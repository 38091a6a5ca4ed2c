"""The sources of items that every pack may name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Final

from tracejury.judges.checks.call_items import attempted_calls
from tracejury.judges.checks.item_source import ItemCase, Items, ItemSource, none_found
from tracejury.schemas.checks import CheckItem

from .completion import completion


def completed(case: ItemCase) -> Items:
    """Whether the task of a session is done, by the first source that decides."""
    spans = (span.raw for trace in case.subject.distinct_traces for span in trace.spans.values())
    terms = case.terms
    found = completion(
        case.subject.answer,
        spans,
        card=terms.card,
        service=terms.service,
        fulfilment=case.goal,
        outcomes=case.outcomes or {},
    )
    return Items(answers=(replace(found.answer, reason=found.reason),)) if found else Items()


def _states(case: ItemCase) -> Items:
    return Items(case.subject.states())


def _answers(case: ItemCase) -> Items:
    return Items((case.subject.answer,) if case.subject.last.exchange.answer else ())


def _policies(case: ItemCase) -> Items:
    return Items(tuple(map(CheckItem, case.terms.policies)))


def _criteria(case: ItemCase) -> Items:
    return Items(tuple(CheckItem(f"{name}: {text}") for name, text in case.check.criteria_texts().items()))


def _calls(case: ItemCase) -> Items:
    """Each attempted call of the exchange, on the scale of the check."""
    last = case.subject.last
    steps = case.subject.record.transcript.steps[last.first : last.last]
    calls = attempted_calls(case.subject.traces[last.trace_id], last.exchange, steps)
    return Items(answers=tuple(call.answered(case.check) for call in calls))


STATES: Final = ItemSource("states", "no states", _states)
OBSERVATIONS: Final = ItemSource("observations", "no observations", none_found, lists=True)
ANSWERS: Final = ItemSource("answers", "no answer", _answers)
POLICIES: Final = ItemSource("policies", "no policies", _policies, rules=True)
CRITERIA: Final = ItemSource("criteria", "no criteria", _criteria, rules=True)
CALLS: Final = ItemSource("calls", "no calls", _calls, asks=False, calls=True)
COMPLETION: Final = ItemSource(
    "completion", "nothing says whether the task was completed", completed, asks=False, outcome=True
)

BUILT_IN: Final = (STATES, OBSERVATIONS, ANSWERS, POLICIES, CRITERIA, CALLS, COMPLETION)


def sources_by_name(own: Collection[ItemSource] = ()) -> Mapping[str, ItemSource]:
    """The sources that a pack may name: all built-in ones, and its own."""
    return {source.name: source for source in (*own, *BUILT_IN)}
