"""The figures of a test of rubrics: accuracy by part, differences, what is localised, and the record of each rubric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import fsum
from statistics import stdev
from typing import Final

from tracejury.judges.bootstrap import Interval, intervals
from tracejury.judges.measures.confusion import Confusion
from tracejury.judges.measures.kappa import cohen_kappa
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.measures.wilson import wilson
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import SessionKey
from tracejury.judges.situations.situation_types import Axes, all_situations

from .arms import JudgedSession, Span, SplitOutcome, Tests

OVERALL: Final = "overall"
HARD_NEGATIVES: Final = "hard negatives"
PARTS: Final[Mapping[str, Callable[[AgreedLabel], bool]]] = {
    OVERALL: lambda _: True,
    "easy": lambda label: label.satisfied is label.good,
    HARD_NEGATIVES: lambda label: label.satisfied is True and not label.good,
    "hard positives": lambda label: label.satisfied is False and label.good,
    "satisfaction unknown": lambda label: label.satisfied is None,
    "gold": lambda label: label.by_people,
    "silver": lambda label: not label.by_people,
}
"""Which sessions are of a part, by their labels."""
_OF_ONE_LABEL: Final = frozenset({HARD_NEGATIVES, "hard positives"})
FIGURES: Final = ("accuracy", "f1", "precision", "recall")
"""Of good sessions."""
COMPARED: Final = (OVERALL, HARD_NEGATIVES)
"""The parts whose accuracy is compared between arms."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure by split, None where it is not defined, with the mean and the standard deviation (n - 1) of the rest."""

    splits: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """Over the splits that define it."""
        return fsum(self._defined) / len(self._defined) if self._defined else None

    @property
    def deviation(self) -> float | None:
        """Of at least two splits."""
        return stdev(self._defined) if len(self._defined) > 1 else None

    @property
    def _defined(self) -> list[float]:
        return [value for value in self.splits if value is not None]


def arm_tests(outcomes: Sequence[SplitOutcome]) -> dict[str, list[Tests]]:
    """By arm, its tests in each split; none in a split in which it could not be learned."""
    found = [outcome.tests() for outcome in outcomes]
    return {
        arm: [tests.get(arm, ()) for tests in found] for arm in dict.fromkeys(name for one in found for name in one)
    }


def part_figures(tests: Sequence[Tests]) -> dict[str, dict[str, Spread]]:
    """The figures of an arm by part; accuracy alone where all sessions have one label."""
    found: dict[str, dict[str, Spread]] = {}
    for part, belongs in PARTS.items():
        counted = [Confusion.of((s.label.good, good) for s, good in own if belongs(s.label)) for own in tests]
        names = FIGURES[:1] if part in _OF_ONE_LABEL else FIGURES
        found[part] = {name: Spread(tuple(getattr(one, name) for one in counted)) for name in names}
    return found


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much the accuracy of one arm exceeds another's, with its interval at 95%; None where nothing is common."""

    difference: float | None
    interval: Interval | None


def differences(arms: Mapping[str, Sequence[Tests]], of: str) -> dict[str, dict[str, Difference]]:
    """By other arm and part: the mean over splits of the difference of accuracies, on the sessions that both judge.

    The interval is by a bootstrap over sessions, each with all its tests.
    """
    columns: dict[_Column, int] = {}
    units: defaultdict[SessionKey, dict[int, int]] = defaultdict(dict)
    for session, column, gained in _gains(arms, of):
        units[session][columns.setdefault(column, len(columns))] = gained

    def mean_gains(drawn: Sequence[Mapping[int, int]]) -> dict[str, float]:
        sums, counts = [0] * len(columns), [0] * len(columns)
        for unit in drawn:
            for column, gained in unit.items():
                sums[column] += gained
                counts[column] += 1
        means: defaultdict[str, list[float]] = defaultdict(list)
        for (other, part, _), column in columns.items():
            if counts[column]:
                means[f"{other}\n{part}"].append(sums[column] / counts[column])
        return {name: fsum(found) / len(found) for name, found in means.items()}

    drawn = [units[key] for key in sorted(units)]
    whole, ranges = mean_gains(drawn), intervals(drawn, mean_gains)
    return {
        other: {
            part: Difference(whole.get(name), ranges.get(name)) for part in COMPARED for name in [f"{other}\n{part}"]
        }
        for other in arms
        if other != of
    }


_Column = tuple[str, str, int]
"""Another arm, a part, and the offset of a split."""


def _gains(arms: Mapping[str, Sequence[Tests]], of: str) -> Iterator[tuple[SessionKey, _Column, int]]:
    """1 where `of` alone is right of a tested session, -1 where the other arm alone is, else 0."""
    for number, own in enumerate(arms[of]):
        right = {session.key: good == session.label.good for session, good in own}
        for other, tests in arms.items():
            common = [one for one in tests[number] if one[0].key in right] if other != of else []
            for session, good in common:
                gained = right[session.key] - (good == session.label.good)
                yield from (
                    (session.key, (other, part, number), gained) for part in COMPARED if PARTS[part](session.label)
                )


def localised(outcomes: Sequence[SplitOutcome], planted: Collection[Span], learner: str) -> dict[str, Spread]:
    """The share of planted errors in tested sessions at whose span a bad rubric is proven, or the situation is."""
    found: dict[str, list[float | None]] = {"bad rubrics": [], "situation": []}
    for outcome in outcomes:
        pairs = [
            (at, said)
            for session, said in _judged(outcome, learner)
            for at in planted
            if at[0] in session.recorded.traces
        ]
        hits = sum(at in said.bad_at for at, said in pairs), sum(at == said.situation_at for at, said in pairs)
        for shares, hit in zip(found.values(), hits, strict=True):
            shares.append(hit / len(pairs) if pairs else None)
    return {what: Spread(tuple(shares)) for what, shares in found.items()}


def situation_kappas(outcomes: Sequence[SplitOutcome], learner: str) -> dict[str, Spread]:
    """Cohen's kappa of the judge's proven situations with the labels', and of each axis that follows from them."""
    found: dict[str, list[float | None]] = {name: [] for name in ("situation", *Axes._fields)}
    for outcome in outcomes:
        pairs = [
            (session.label.situation, said.situation)
            for session, said in _judged(outcome, learner)
            if session.label.situation and said.situation
        ]
        found["situation"].append(cohen_kappa(pairs).kappa)
        of = all_situations()
        for axis in Axes._fields:
            by_axis = ((getattr(of[label], axis), getattr(of[said], axis)) for label, said in pairs)
            found[axis].append(cohen_kappa(by_axis).kappa)
    return {what: Spread(tuple(kappas)) for what, kappas in found.items()}


@dataclass(frozen=True, slots=True)
class SituationShare:
    """How often tested sessions of one situation are judged bad; a session counts once a test."""

    sessions: int
    tests: int
    bad: int

    @property
    def share(self) -> float:
        """Of the tests."""
        return self.bad / self.tests


def by_situation(tests: Sequence[Tests]) -> dict[str, SituationShare]:
    """By the label's situation, in the order of the paper; sessions without one are left out."""
    found: defaultdict[str, list[tuple[SessionKey, bool]]] = defaultdict(list)
    for own in tests:
        for session, good in own:
            found[session.label.situation].append((session.key, good))
    return {
        name: SituationShare(len({key for key, _ in said}), len(said), sum(not good for _, good in said))
        for name in all_situations()
        if (said := found[name])
    }


@dataclass(frozen=True, slots=True)
class RubricRecord:
    """Tested sessions of one split in which a rubric is proven, and how many of these are bad."""

    split: str
    rubric: str
    label: str
    hit: int
    bad: int

    @property
    def share(self) -> float | None:
        """Of bad sessions among those hit; None where none is."""
        return self.bad / self.hit if self.hit else None

    @property
    def interval(self) -> Interval | None:
        """Of the share, by Wilson."""
        return wilson(self.bad, self.hit)


def by_rubric(outcomes: Sequence[SplitOutcome], learner: str) -> list[RubricRecord]:
    """The record of each rubric of one learner's sets."""
    return [
        RubricRecord(outcome.split.name, rubric.name, rubric.label, len(hit), hit.count(False))
        for outcome in outcomes
        if learner in outcome.sets
        for rubric in outcome.sets[learner].rubrics
        for hit in [[s.label.good for s, said in _judged(outcome, learner) if said.proven.get(rubric.name, 0)]]
    ]


def _judged(outcome: SplitOutcome, learner: str) -> Iterator[tuple[LabelledSession, JudgedSession]]:
    judged = outcome.judged.get(learner, {})
    return ((one, judged[one.key]) for one in outcome.split.tested if one.key in judged)
