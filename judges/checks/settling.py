"""Items that settle: the answers of a session as a fold over what was said of its exchanges. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tracejury.schemas.checks import CheckItem, ItemAnswer
from tracejury.schemas.verdicts import Verdict

from .check_types import Check


@dataclass(frozen=True, slots=True)
class SettledItems:
    """`states`: after each exchange the answers so far, in the order of the items.

    `left`: items that are not settled and had no answer of the last exchange: to be asked about at the close.
    """

    states: tuple[tuple[ItemAnswer, ...], ...]
    left: tuple[CheckItem, ...]

    @property
    def answers(self) -> tuple[ItemAnswer, ...]:
        """What holds after the last exchange."""
        return self.states[-1] if self.states else ()

    def entries(self, most: int | None, final: Sequence[ItemAnswer]) -> list[Sequence[ItemAnswer]]:
        """An entry an exchange, with the `final` answers in the last; exactly `most`, if so many may be taken.

        Exchanges that a shorter session does not have keep the answers before.
        """
        known = [*self.states[: most or None]] or [()]
        known[-1] = tuple(final)
        return [*known, *[known[-1]] * ((most or 0) - len(known))]


def settled_items(check: Check, items: Sequence[CheckItem], said: Sequence[Verdict | None]) -> SettledItems:
    """The answers to the items. `said`: of each exchange in order its verdict, None where it has none.

    An item keeps the first answer that settles it, else it has the last one. So the result is the same in whatever
    order exchanges were judged, side by side, or again after late spans.
    """
    wanted = {item.text for item in items}
    latest: dict[str, ItemAnswer] = {}
    states: list[tuple[ItemAnswer, ...]] = []
    given: frozenset[str] = frozenset()
    for verdict in said:
        answers = verdict.items if verdict is not None and not verdict.unscored_reason else ()
        given = frozenset(answer.item for answer in answers)
        for answer in answers:
            if answer.item in wanted and not settles(check, latest.get(answer.item)):
                latest[answer.item] = answer
        states.append(tuple(latest[item.text] for item in items if item.text in latest))
    left = (item for item in items if item.text not in given and not settles(check, latest.get(item.text)))
    return SettledItems(tuple(states), tuple(left))


def settles(check: Check, answer: ItemAnswer | None) -> bool:
    """Whether the answer settles its item; one whose quote does not stand settles nothing."""
    return answer is not None and answer.grounded and answer.answer == check.settling
