"""Sources of items: what the key `items` of a check names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final

from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.transcript import RecordedExchange, SessionRecord
from tracejury.schemas.verdicts import Verdict

if TYPE_CHECKING:
    from tracejury.judges.packs.cards.task_cards import SessionTerms

    from .check_types import Check


@dataclass(frozen=True)
class RecordedSubject:
    """An exchange (`number` in the record, from 0) or (None) a session, whose record ends with it.

    `traces`: by the id of each trace that a span of theirs is of. `states`: finds the states of the last exchange;
    `unseen`: why the calls of its tools were not recorded, "" where they were.
    """

    record: SessionRecord
    traces: Mapping[str, Trace]
    states: Callable[[], tuple[CheckItem, ...]]
    unseen: Callable[[], str]
    number: int | None = None

    @property
    def last(self) -> RecordedExchange:
        """The exchange, or the session's last."""
        return self.record.exchanges[-1 if self.number is None else self.number]

    @property
    def answer(self) -> CheckItem:
        """The last answer, at its step."""
        last = self.last
        spans = {step.label: step for step in self.record.transcript.steps[last.first : last.last]}
        step = spans.get(last.answered)
        text = " ".join(last.exchange.answer.split())[:200]
        return CheckItem(text, last.answered, step.trace_id, step.span_id) if step else CheckItem(text)

    @property
    def distinct_traces(self) -> list[Trace]:
        """Each trace once, in order."""
        return [*{trace.trace_id: trace for trace in self.traces.values()}.values()]


@dataclass(frozen=True)
class ItemCase:
    """What a source finds the items of a check in.

    `find_terms`: what holds for the session, for which all its spans are looked at. At the close of a session, `goal`:
    the verdict on the goal of its last exchange's run; `outcomes`: by source, what other checks say of whether the task
    was done.
    """

    check: Check
    subject: RecordedSubject
    find_terms: Callable[[], SessionTerms]
    goal: Verdict | None = None
    outcomes: Mapping[str, ItemAnswer] | None = None

    @cached_property
    def terms(self) -> SessionTerms:
        """What holds for the session."""
        return self.find_terms()


@dataclass(frozen=True, slots=True)
class Items:
    """The items of a check in a subject: `asked` of a model, or `answers` by structure.

    `nothing`: why there are none, where more is known than the source's own words.
    """

    asked: tuple[CheckItem, ...] = ()
    answers: tuple[ItemAnswer, ...] = ()
    nothing: str = ""


@dataclass(frozen=True, slots=True)
class ItemSource:
    """Where the items of a check are from.

    `nothing`: why a check without items is not applicable. `asks`: a model answers, else `find` gives the answers.
    `lists`: the model lists the items itself. `early`: a check of sessions is also asked of each exchange that has
    ended (without a model also of one that goes on), and of the whole session again at its close. `needs`: the key of
    the task card without which there are no items. `outcome`: the answer says whether the task was done. `calls`: items
    are calls of tools. `rules`: items are rules, which stand at no step: the title of a finding says which. `anywhere`:
    answers may stand at a span that the record does not show, as the call of a sub-agent, and need no quote there.
    """

    name: str
    nothing: str
    find: Callable[[ItemCase], Items]
    asks: bool = True
    lists: bool = False
    early: bool = False
    needs: str = ""
    outcome: bool = False
    calls: bool = False
    rules: bool = False
    anywhere: bool = False

    def __str__(self) -> str:
        return self.name


def none_found(case: ItemCase) -> Items:  # noqa: ARG001  the form of all sources
    """No items: the model lists them, or they are found elsewhere."""
    return Items()


FINDINGS: Final = ItemSource("findings", "no findings", none_found)
"""What was found before: reviews (`judges/reviews`) ask about it, packs never do."""
