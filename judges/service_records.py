"""How labels of one service move the confidence of rules on that service.

Per rule and service a Beta distribution: its prior is the rule's general record, and each error that people, or judges,
confirmed or refuted is an observation, however many findings the rule has in it. Without any the general confidence
stands.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold

from .records import COUNTED, UNPROVEN, family, general_confidence, is_supported, records

STRENGTH: Final = 4
"""How many labelled errors the general record weighs.

It comes from other agents, so it speaks for this one about as much as a handful of its own errors. With 4 two labels
that agree move an unproven rule over the balanced threshold, and ten outweigh any record.
"""

JUDGED: Final = 0.25
"""What an LLM judge's opinion on an error weighs; a person's label weighs 1.

A judge is no reference: in a trial its own claims were right in about half of the cases in its weakest dimensions
(docs/llm-judges.md). Its opinions on one rule are not independent either, since it reads the same text and errs in the
same way each time. So all of them together weigh at most as much as the general record, and people can always outweigh
them.
"""

STEP: Final = 0.01
"""The least change of a confidence that makes a new version: a hundredth moves hardly any error between profiles."""

ALIKE: Final = 0.95
"""The share of one answer from which a model's answers are all alike."""

ALIKE_FROM: Final = 30
"""Errors from which on answers can be alike: with one in five wrong, 30 are all right once in 800 times."""

CONFIRMING: Final = 2
"""Errors that people must find right on a service before a rule that is unproven in general is balanced there."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is expected of a rule on any service. `proven`: whether its general record alone lets it be balanced."""

    mean: float
    proven: bool


@dataclass(frozen=True, slots=True)
class RuleOpinion:
    """What a person, or (`judged`) a judge, says of a rule's findings in one error: that they are right, or wrong.

    `by`: the judge's model.
    """

    rule: str
    error_id: str
    right: bool
    judged: bool = False
    by: str = ""


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """How many errors that a rule saw on one service people found right and wrong, and judges confirmed and refuted."""

    right: int = 0
    wrong: int = 0
    confirmed: int = 0
    refuted: int = 0

    @property
    def labels(self) -> int:
        """Errors on which the labels agree."""
        return self.right + self.wrong

    @property
    def judged(self) -> int:
        """Errors without a label on which the judges agree."""
        return self.confirmed + self.refuted


@dataclass(frozen=True, slots=True)
class LocalConfidence:
    """A rule's record on a service, and the confidence that follows from it and from the rule's general record."""

    record: ServiceRecord
    confidence: float


NO_LABELS: Final = ServiceRecord()


def prior_of(rule: str, declared: float) -> Prior:
    """The prior of a built-in rule that declares this confidence; a candidate declares one below balanced."""
    record = records().get(family(rule), {})
    candidate = declared < threshold(DEFAULT_PROFILE)
    mean, proven = general_confidence(rule, declared), rule in COUNTED or is_supported(record)
    return Prior(min(mean, declared) if candidate else mean, proven and not candidate)


def is_alike(confirmed: int, refuted: int) -> bool:
    """Whether a model confirms, or refutes, nearly all errors that it decides on: then it does not look at them."""
    return confirmed + refuted >= ALIKE_FROM and max(confirmed, refuted) >= ALIKE * (confirmed + refuted)


def heard(opinions: Iterable[RuleOpinion]) -> list[RuleOpinion]:
    """The opinions on one service without those of models whose answers are all alike there."""
    said = list(opinions)
    errors = Counter((by, right) for by, _, right in {(o.by, o.error_id, o.right) for o in said if o.judged})
    alike = {by for by, _ in errors if is_alike(errors[by, True], errors[by, False])}
    return [o for o in said if not o.judged or o.by not in alike]


def tally(opinions: Iterable[RuleOpinion]) -> dict[str, ServiceRecord]:
    """The record of each rule; an error counts once, and not at all where what is said of it is divided.

    What people say goes before what judges say.
    """
    people: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    judges: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for opinion in opinions:
        (judges if opinion.judged else people)[opinion.rule, opinion.error_id].add(opinion.right)
    agreed = {key: words for key, words in {**judges, **people}.items() if len(words) == 1}
    counts = Counter((rule, (rule, error) in people, True in words) for (rule, error), words in agreed.items())
    ways = [(person, right) for person in (True, False) for right in (True, False)]
    return {rule: ServiceRecord(*(counts[rule, *way] for way in ways)) for rule in sorted({rule for rule, _ in agreed})}


def local_confidence(prior: Prior, record: ServiceRecord) -> float:
    """The mean of the posterior; of an unproven rule below balanced until people found `CONFIRMING` errors right."""
    if not record.labels and not record.judged:
        return prior.mean
    each = min(JUDGED, STRENGTH / max(record.judged, 1))
    right = prior.mean * STRENGTH + record.right + each * record.confirmed
    mean = round(right / (STRENGTH + record.labels + each * record.judged), 4)
    return mean if prior.proven or record.right >= CONFIRMING else min(mean, UNPROVEN)


def moved(
    priors: Mapping[str, Prior], labelled: Mapping[str, ServiceRecord], stood: Mapping[str, LocalConfidence]
) -> dict[str, LocalConfidence]:
    """The rules whose confidence on a service is now another than `stood` by at least `STEP`, by name.

    Also those that got their first labels or lost the last ones: they are not unproven there any more, or are again.
    """
    found: dict[str, LocalConfidence] = {}
    for rule in sorted(priors.keys() & (labelled.keys() | stood.keys())):
        record, old = labelled.get(rule, NO_LABELS), stood.get(rule, LocalConfidence(NO_LABELS, 0.0))
        now = LocalConfidence(record, local_confidence(priors[rule], record))
        before = old.confidence if old.record.labels or old.record.judged else priors[rule].mean
        begins_or_ends = _said(record) != _said(old.record)
        if begins_or_ends or abs(now.confidence - before) >= STEP:
            found[rule] = now
    return found


def _said(record: ServiceRecord) -> tuple[bool, bool]:
    """Whether people have said anything of the rule, and whether judges have."""
    return record.labels > 0, record.judged > 0
