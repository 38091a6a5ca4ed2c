"""The answers to one check, and its verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.findings import Finding
from tracejury.schemas.shown import folded
from tracejury.schemas.verdicts import Verdict

from .case import AskedCheck, CheckCase
from .check_types import ItemSource
from .formula import measured
from .grounding import Grounded
from .how_asked import HowAsked
from .questions import taken
from .reply import Said

NOTHING: Final[Mapping[ItemSource, str]] = {
    ItemSource.STATES: "no states",
    ItemSource.OBSERVATIONS: "no observations",
    ItemSource.ANSWERS: "no answer",
    ItemSource.POLICIES: "no policies",
    ItemSource.CALLS: "no calls",
    ItemSource.COMPLETION: "nothing says whether the task was completed",
    ItemSource.CRITERIA: "no criteria",
    ItemSource.FAILURE: "the task has an oracle, or nothing says that it failed",
    ItemSource.ORACLE: "the task has no oracle",
}
"""Why a check without items is not applicable."""


@dataclass(slots=True)
class CheckTally:
    """Collects what is said of one check. `beyond`: listed items above the limit; `unasked`: why nothing was asked.

    `found`: findings that are no item's answer.
    """

    asked: AskedCheck
    failure: str = ""
    unasked: str = ""
    model: str = ""
    beyond: int = 0
    found: list[Finding] = field(default_factory=list)
    _given: dict[int | str, Grounded] = field(default_factory=dict)

    def take(self, said: Said, grounded: Grounded) -> None:
        """The answer to one item; of several (from several chapters) the worst counts."""
        key = folded(said.mention) if said.position is None else said.position
        old = self._given.get(key)
        if old is None or self._weight(grounded) > self._weight(old):
            self._given[key] = grounded

    def _weight(self, grounded: Grounded) -> tuple[int, bool]:
        answer, _ = grounded
        return self.asked.check.answers.index(answer.answer), answer.grounded

    @property
    def items(self) -> tuple[ItemAnswer, ...]:
        """The answers, in the order of the items."""
        if not self.asked.check.asks:
            return self.asked.answers
        keys = sorted(self._given, key=lambda key: key if isinstance(key, int) else 0)
        return tuple(self._given[key][0] for key in keys)

    @property
    def findings(self) -> list[Finding]:
        """What was found, unless the check is unscored."""
        found = [finding for _, finding in self._given.values() if finding is not None]
        return [] if self.failure else [*found, *self.found]

    def verdict(self, case: CheckCase, how: HowAsked) -> Verdict:
        """The verdict: a value, or why there is none."""
        check = self.asked.check
        items = () if self.failure else self.items
        counted = measured(how.formulas[check.name], [items])
        verified = counted.verified
        return Verdict(
            judge=check.name,
            version=how.versions[check.name],
            subject=case.subject,
            score=None,
            model=self.model,
            not_applicable=not self.failure and verified.value is None,
            unscored_reason=self.failure,
            reasons="" if self.failure else self._told(items, counted.ungrounded),
            sampling_probability=case.probability,
            value=verified.value,
            raw=counted.raw.value,
            numerator=verified.numerator,
            denominator=verified.denominator,
            items=items,
        )

    def _told(self, items: tuple[ItemAnswer, ...], ungrounded: int) -> str:
        check = self.asked.check
        best = sum(item.best for item in items)
        said = [self.unasked or NOTHING[check.items]]
        if items:
            said = [f"{check.answers[0]} for {best} of {len(items)} {check.items.value}"]
        left_out = len(self.asked.items) - taken(self.asked) + self.beyond if check.asks else 0
        said += [f"{count} {what}" for count, what in ((ungrounded, "ungrounded"), (left_out, "left out")) if count]
        return "; ".join(said)
