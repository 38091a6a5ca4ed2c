"""The figures of a test of rubrics, as rows by name: accuracy by part, differences, what is localised, each rubric."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Any, Final

from tracejury.judges.bootstrap import intervals
from tracejury.judges.measures.confusion import Confusion
from tracejury.judges.measures.kappa import cohen_kappa
from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.measures.wilson import wilson
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import SessionKey
from tracejury.judges.situations.situation_types import Axes, all_situations

from .arms import JudgedSession, Span, SplitOutcome, Tests

OVERALL: Final = "overall"
PARTS: Final[Mapping[str, Callable[[AgreedLabel], bool]]] = {
    OVERALL: lambda _: True,
    "easy": lambda label: label.satisfied is label.good,
    "hard negatives": lambda label: label.satisfied is True and not label.good,
    "hard positives": lambda label: label.satisfied is False and label.good,
    "satisfaction unknown": lambda label: label.satisfied is None,
    "gold": lambda label: label.by_people,
    "silver": lambda label: not label.by_people,
}
"""Which sessions are of a part, by their labels."""
FIGURES: Final = ("accuracy", "f1", "precision", "recall")
"""Of good sessions."""
COMPARED: Final = (OVERALL, "hard negatives")
"""The parts whose accuracy is compared between arms."""


@dataclass(frozen=True, slots=True)
class Spread:
    """A figure by split, None where it is not defined, with the mean and the standard deviation (n - 1) of the rest."""

    splits: tuple[float | None, ...]

    @property
    def mean(self) -> float | None:
        """Over the splits that define it."""
        return fmean(self._defined) if self._defined else None

    @property
    def deviation(self) -> float | None:
        """Of at least two splits."""
        return stdev(self._defined) if len(self._defined) > 1 else None

    @property
    def _defined(self) -> list[float]:
        return [value for value in self.splits if value is not None]


Row = Mapping[str, Any]
"""By column a number, a `Spread`, an interval or a word; None where a figure is not defined."""
Arms = Mapping[str, Sequence[Tests]]
"""By arm, its tests in each split; none in a split in which it could not be learned."""


def arm_tests(outcomes: Sequence[SplitOutcome]) -> Arms:
    """The tests of all arms."""
    found = [outcome.tests() for outcome in outcomes]
    names = dict.fromkeys(name for one in found for name in one)
    return {name: [tests.get(name, ()) for tests in found] for name in names}


def spreads(tests: Sequence[Tests], part: str) -> dict[str, Spread]:
    """The figures of an arm in one part."""
    counted = [Confusion.of((s.label.good, good) for s, good in own if PARTS[part](s.label)) for own in tests]
    return {name: Spread(tuple(getattr(one, name) for one in counted)) for name in FIGURES}


def differences(arms: Arms, of: str) -> dict[str, Row]:
    """By how much the share of tests in which `of` is right exceeds another arm's, by session, with its interval.

    Only tests count in which both say something. The interval, at 95%, is by a bootstrap over sessions, each with all
    its tests; None where nothing is common.
    """
    gains: defaultdict[SessionKey, defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for other, number in ((other, number) for other in arms if other != of for number in range(len(arms[of]))):
        right = {session.key: good == session.label.good for session, good in arms[of][number]}
        for session, good in arms[other][number]:
            for part in COMPARED if session.key in right else ():
                if PARTS[part](session.label):
                    gained = right[session.key] - (good == session.label.good)
                    gains[session.key][f"{other}\n{part}"].append(gained)

    def means(drawn: Sequence[Mapping[str, float]]) -> dict[str, float]:
        found: defaultdict[str, list[float]] = defaultdict(list)
        for unit in drawn:
            for name, gained in unit.items():
                found[name].append(gained)
        return {name: fmean(gained) for name, gained in found.items()}

    units = [{name: fmean(gained) for name, gained in gains[key].items()} for key in sorted(gains)]
    whole, ranges = means(units), intervals(units, means)
    return {
        other: {
            name: found.get(f"{other}\n{part}")
            for part in COMPARED
            for name, found in ((part, whole), (f"{part}, 95%", ranges))
        }
        for other in arms
        if other != of
    }


def localised(outcomes: Sequence[SplitOutcome], planted: Collection[Span], learner: str) -> dict[str, Row]:
    """The share of planted errors in tested sessions at whose span a bad rubric is proven, or the situation is."""
    found: dict[str, list[float | None]] = {"bad rubrics": [], "situation": []}
    for outcome in outcomes:
        judged = list(_judged(outcome, learner))
        pairs = [(at, said) for session, said in judged for at in planted if at[0] in session.recorded.traces]
        hits = sum(at in said.bad_at for at, said in pairs), sum(at == said.situation_at for at, said in pairs)
        for shares, hit in zip(found.values(), hits, strict=True):
            shares.append(hit / len(pairs) if pairs else None)
    return {what: {"share": Spread(tuple(shares))} for what, shares in found.items()}


def situation_kappas(outcomes: Sequence[SplitOutcome], learner: str) -> dict[str, Row]:
    """Cohen's kappa of the judge's proven situations with the labels', and of each axis that follows from them."""
    pairs = [
        [(s.label.situation, said.situation) for s, said in _judged(o, learner) if s.label.situation and said.situation]
        for o in outcomes
    ]
    told: dict[str, Mapping[str, str]] = {"situation": {name: name for name in all_situations()}}
    told |= {axis: {name: getattr(one, axis) for name, one in all_situations().items()} for axis in Axes._fields}
    return {
        what: {"kappa": Spread(tuple(cohen_kappa((of[a], of[b]) for a, b in own).kappa for own in pairs))}
        for what, of in told.items()
    }


def by_situation(tests: Sequence[Tests]) -> dict[str, Row]:
    """How often tested sessions are judged bad by the label's situation, in the order of the paper.

    Sessions without a situation are left out.
    """
    said = [(session, good) for own in tests for session, good in own]
    found: dict[str, Row] = {}
    for name in all_situations():
        if own := [(session.key, good) for session, good in said if session.label.situation == name]:
            bad = sum(not good for _, good in own)
            sessions = len({key for key, _ in own})
            found[name] = {"sessions": sessions, "tests": len(own), "judged bad": bad, "share": bad / len(own)}
    return found


def by_rubric(outcomes: Sequence[SplitOutcome], learner: str) -> dict[str, Row]:
    """Of each rubric of one learner's sets: tested sessions in which it is proven, and how many of these are bad."""
    found: dict[str, Row] = {}
    for outcome in outcomes:
        for rubric in outcome.sets[learner].rubrics if learner in outcome.sets else ():
            hit = [s.label.good for s, said in _judged(outcome, learner) if said.proven.get(rubric.name)]
            bad = hit.count(False)
            row: Row = {"label": rubric.label, "sessions hit": len(hit), "bad": bad}
            share = {"share": bad / len(hit) if hit else None, "95%": wilson(bad, len(hit))}
            found[f"{outcome.split.name} {rubric.name}".strip()] = {**row, **share}
    return found


def _judged(outcome: SplitOutcome, learner: str) -> Iterator[tuple[LabelledSession, JudgedSession]]:
    judged = outcome.judged.get(learner, {})
    return ((one, judged[one.key]) for one in outcome.split.tested if one.key in judged)
