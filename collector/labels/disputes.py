"""Why an agent run is worth a look: somebody is wrong about it (people, judges, detectors), or none is sure. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, TypeVar

from tracejury.judges.causes import cause
from tracejury.schemas.annotations import Opinion
from tracejury.schemas.taxonomy import TRAIL, Severity
from tracejury.schemas.verdicts import DETECTORS

NEAR: Final = 0.1
"""How far from the threshold a confidence counts as near it."""

Run = tuple[str, str]
"""Trace id, agent run id."""

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class JudgeClaim:
    """A finding that holds, however sure. `by`: who judged, DETECTORS or a judge."""

    run: Run
    span_id: str
    id: str
    fingerprint: str
    judge: str
    by: str
    category: str
    severity: Severity
    confidence: float
    taxonomy: str = TRAIL

    @property
    def error(self) -> tuple[Run, str, str]:
        """What tells its error apart: the findings of one class of cause at one span are of one."""
        return self.run, self.span_id, cause(self.judge, self.taxonomy, self.category)


@dataclass(frozen=True, slots=True)
class PersonOpinion:
    """One person's opinion of a finding, which may be an earlier wording of one that holds."""

    run: Run
    finding_id: str
    fingerprint: str
    opinion: Opinion
    annotator: str
    judge: str
    category: str


@dataclass(frozen=True, slots=True)
class Scored:
    """An LLM judge's score of a run: 0 to 3."""

    run: Run
    judge: str
    score: int


@dataclass(frozen=True, slots=True)
class Known:
    """All that is known of some runs. `least`: the confidence from which on findings show."""

    claims: Sequence[JudgeClaim]
    said: Sequence[PersonOpinion]
    scored: Sequence[Scored]
    least: float
    shown: Sequence[JudgeClaim] = field(init=False)

    def __post_init__(self) -> None:
        """Set what follows."""
        object.__setattr__(self, "shown", [c for c in self.claims if c.confidence >= self.least])


@dataclass(frozen=True, slots=True, order=True)
class Dispute:
    """A reason to look at a run; of several of one kind the first in order is told."""

    weakness: float
    run: Run
    why: str


def disputes(known: Known) -> Mapping[Run, str]:
    """One reason a run, in the order in which to look at them: the strongest kind of reason first."""
    told: dict[Run, str] = {}
    for signal in SIGNALS:
        for one in sorted(signal(known)):
            told.setdefault(one.run, one.why)
    return told


def _standing(known: Known) -> Iterator[tuple[JudgeClaim, PersonOpinion]]:
    # An opinion outlives a new wording by its fingerprint, see schemas/opinions.py. It is about the finding's run, also
    # where it moves the error to another one.
    claims = sorted(known.shown, key=lambda c: (c.run, c.id), reverse=True)
    ids = {c.id: c for c in claims}
    prints = {(c.judge, c.fingerprint): c for c in claims}
    for s in known.said:
        if claim := ids.get(s.finding_id) or prints.get((s.judge, s.fingerprint)):
            yield claim, replace(s, run=claim.run)


def people_contradict(known: Known) -> Iterator[Dispute]:
    """People say different things of one error; the more people, the stronger."""
    for said in _groups(_standing(known), lambda s: s[0].error):
        opinions = sorted({s.opinion for _, s in said})
        if len(opinions) > 1:
            people = len({s.annotator for _, s in said})
            found = " and ".join(sorted({f"{c.judge} found ({c.category})" for c, _ in said}))
            yield Dispute(-people, said[0][0].run, f"people say {' and '.join(opinions)} of what {found}")


def people_disagree(known: Known) -> Iterator[Dispute]:
    """Somebody says that a finding is none, or is of another span."""
    for _, s in _standing(known):
        if s.opinion in (Opinion.DISAGREE, Opinion.OTHER_SPAN):
            yield Dispute(-1, s.run, f"{s.annotator} disagrees with what {s.judge} found ({s.category})")


def score_contradicts(known: Known) -> Iterator[Dispute]:
    """The best score beside errors of weight by the same judge, or one of the two worst beside none."""
    errors_of_weight = {(c.run, c.judge, c.error) for c in known.shown if c.severity is not Severity.LOW}
    counts = Counter((run, judge) for run, judge, _ in errors_of_weight)
    for s in known.scored:
        errors = counts[s.run, s.judge]
        if (s.score == 3 and errors) or (s.score <= 1 and not errors):  # noqa: PLR2004  of scores 0 to 3
            why = f"{s.judge} scores it {s.score} of 3 and names {_errors(errors)} of weight"
            yield Dispute(-abs(s.score - 1.5), s.run, why)


def different_categories(known: Known) -> Iterator[Dispute]:
    """Judges name different errors at one span."""
    for claims in _groups(known.shown, lambda c: (c.run, c.span_id)):
        categories = {c.category for c in claims}
        if len(categories) > 1 and len({c.judge for c in claims}) > 1 and len({c.error for c in claims}) > 1:
            named = ", ".join(sorted({f"{c.judge}: {c.category}" for c in claims}))
            why = f"different errors are seen at span {claims[0].span_id} ({named})"
            yield Dispute(-len(categories), claims[0].run, why)


def detectors_alone(known: Known) -> Iterator[Dispute]:
    """Detectors are sure of an error where LLM judges looked and see none at that span."""
    looked_at = {s.run for s in known.scored}
    for claims in _groups(known.shown, lambda c: (c.run, c.span_id)):
        if claims[0].run in looked_at and all(c.by == DETECTORS for c in claims):
            c = max(claims, key=lambda c: (c.confidence, c.judge, c.category))
            why = f"{c.judge} found {c.category} at span {c.span_id}, where no LLM judge sees an error"
            yield Dispute(-c.confidence, c.run, why)


def unsure(known: Known) -> Iterator[Dispute]:
    """A confidence close to the threshold, on either side."""
    for c in known.claims:
        if (far := abs(c.confidence - known.least)) <= NEAR:
            why = f"{c.judge} is unsure of {c.category} (confidence {round(c.confidence, 2):g})"
            yield Dispute(far, c.run, why)


SIGNALS: Final[Sequence[Callable[[Known], Iterable[Dispute]]]] = (
    people_contradict, people_disagree, score_contradicts, different_categories, detectors_alone, unsure,
)  # fmt: skip
"""The strongest first."""


def _groups(items: Iterable[Item], key: Callable[[Item], Hashable]) -> Iterable[list[Item]]:
    groups: dict[Hashable, list[Item]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    return groups.values()


def _errors(count: int) -> str:
    return {0: "no error", 1: "an error"}.get(count, f"{count} errors")
