"""The answers to one check, and its verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.findings import Finding
from tracejury.schemas.shown import folded
from tracejury.schemas.verdicts import Verdict

from .case import AskedCheck, CheckCase
from .grounding import Grounded
from .how_asked import HowAsked
from .questions import taken
from .reply import Said
from .verdict import verdict_of


@dataclass(slots=True)
class CheckTally:
    """Collects what is said of one check. `beyond`: listed items above the limit; `unasked`: why nothing was asked.

    `given`: by position, or by words where the model lists them, the answers to items; `found`: findings that are no
    item's answer.
    """

    asked: AskedCheck
    failure: str = ""
    unasked: str = ""
    model: str = ""
    beyond: int = 0
    found: list[Finding] = field(default_factory=list)
    given: dict[int | str, Grounded] = field(default_factory=dict)

    def take(self, said: Said, grounded: Grounded) -> None:
        """The answer to one item; of several (from several chapters) the worst counts, or the one that settles it.

        On a scale without an order those that are proven go first, then those of the highest rank, then the first.
        """
        key = folded(said.mention) if said.position is None else said.position
        old = self.given.get(key)
        if old is None or self._weight(grounded) > self._weight(old):
            self.given[key] = grounded

    def _weight(self, grounded: Grounded) -> tuple[int, int, bool]:
        answer, check = grounded.answer, self.asked.check
        word = check.meanings.get(answer.answer)
        if word is not None and word.rank is not None:
            return 1 + answer.grounded, word.rank, answer.grounded
        worse = check.answers.index(answer.answer) * (-1 if check.settles == "best" else 1)
        counts = answer.grounded or check.unproven == "left-out"
        return worse if counts else 0, worse, answer.grounded

    @property
    def items(self) -> tuple[ItemAnswer, ...]:
        """The answers, in the order of the items."""
        if not self.asked.check.asks:
            return self.asked.answers
        keys = sorted(self.given, key=lambda key: key if isinstance(key, int) else 0)
        return tuple(self.given[key].answer for key in keys)

    @property
    def findings(self) -> list[Finding]:
        """What was found, unless the check is unscored."""
        found = [one.finding for one in self.given.values() if one.finding is not None]
        return [] if self.failure else [*found, *self.found]

    def verdict(self, case: CheckCase, how: HowAsked) -> Verdict:
        """The verdict: a value, or why there is none."""
        check, items = self.asked.check, self.items
        told = self.unasked or check.items.nothing
        if scaled := [item for item in items if item.answer in check.answers]:
            given = Counter(item.answer for item in scaled)
            told = f"{_told(given, check.answers)} of {len(scaled)} {check.items.name}"
        left_out = len(self.asked.items) - taken(self.asked) + self.beyond if check.asks else 0
        return verdict_of(
            check,
            how.versions[check.name],
            how.formulas[check.name],
            case.subject,
            [items],
            items=items,
            failure=self.failure,
            told=[told],
            counts={"left out": left_out},
            model=self.model,
            probability=case.probability,
        )


def _told(given: Counter[str], answers: Sequence[str]) -> str:
    """How many items have the best answer; of a scale of numbers, such as strengths, how many have each."""
    if all(map(str.isdecimal, answers)):
        return ", ".join(f"{answer} for {given[answer]}" for answer in answers if given[answer])
    return f"{answers[0]} for {given[answers[0]]}"
