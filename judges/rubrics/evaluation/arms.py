"""The ways to label sessions that are compared: sets of rubrics, what is switched off of them, and no set at all."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.judges.rubrics.learning.training import LabelledSession, Learning
from tracejury.judges.rubrics.rubric_set import RubricSet, SessionKey
from tracejury.judges.rubrics.session_label import Weighing, found_label

from .splits import Split

SCOPE: Final = "SCOPE"
RAW: Final = ", raw"
"""Ends the name of an arm that counts what no quote proves."""
LEARNERS: Final[Mapping[str, Learning]] = {
    SCOPE: Learning(),
    "SCOPE without areas": Learning(areas=False),
    "SPUR": Learning("spur", learn_from="satisfied"),
    "SPUR from good": Learning("spur"),
}
"""What is learned in each split."""
_SWITCHES: Final[Mapping[str, Weighing]] = {
    " without weights": Weighing(weights=False),
    " without make-or-break": Weighing(make_or_break=False),
    ", veto 1": Weighing(veto=1),
    ", veto 5": Weighing(veto=5),
    ", veto 10": Weighing(veto=10),
}

Span = tuple[str, str]
"""Trace id and span id."""
Tests = Sequence[tuple[LabelledSession, bool]]
"""Tested sessions, each with whether it was said to be good."""


@dataclass(frozen=True, slots=True)
class JudgedSession:
    """What a judge said of a session by a set: the strengths of its rubrics by name, `proven` ones and as `said`.

    `bad_at`: where bad rubrics are proven. `situation`: its proven one, "" for none, or if it was not asked;
    `situation_at`: where it went wrong.
    """

    proven: Mapping[str, int]
    said: Mapping[str, int]
    bad_at: frozenset[Span] = frozenset()
    situation: str = ""
    situation_at: Span = ("", "")


@dataclass(frozen=True, slots=True)
class SplitOutcome:
    """What came of a split: the sets by learner, what was said by each, and of a learner without a set why."""

    split: Split
    sets: Mapping[str, RubricSet]
    judged: Mapping[str, Mapping[SessionKey, JudgedSession]]
    missing: Mapping[str, str] = field(default_factory=dict)

    def tests(self) -> dict[str, Tests]:
        """By arm, what it says of the sessions that it can judge."""
        return dict(self._tests())

    def _tests(self) -> Iterator[tuple[str, Tests]]:
        tested = self.split.tested
        yield "all bad", [(one, False) for one in tested]
        yield "satisfied = good", [(one, said) for one in tested if (said := one.label.satisfied) is not None]
        for name, rubrics in self.sets.items():
            judged = [(one, self.judged[name][one.key]) for one in tested if one.key in self.judged[name]]
            switched = name == SCOPE and rubrics.method == "scope"
            for switch, weighing in {"": Weighing(), **(_SWITCHES if switched else {})}.items():
                for end, proven in (("", True), (RAW, False)):
                    yield (
                        f"{name}{switch}{end}",
                        [
                            (one, found_label(rubrics, said.proven if proven else said.said, weighing).label == "good")
                            for one, said in judged
                        ],
                    )
