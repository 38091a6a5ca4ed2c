"""How labels of one service move the confidence of rules on that service.

Per rule and service a Beta distribution: its prior is the rule's general record, and each finding that people, or
judges, confirmed or refuted is an observation. Without any the general confidence stands.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from ..schemas.profiles import DEFAULT_PROFILE, threshold
from .records import UNPROVEN, confidence_of, family, is_supported, records

STRENGTH: Final = 4
"""How many labelled findings the general record weighs.

It comes from other agents, so it speaks for this one about as much as a handful of its own findings. With 4 two labels
that agree move an unproven rule over the balanced threshold, and ten outweigh any record.
"""

STEP: Final = 0.01
"""The least change of a confidence that makes a new version: a hundredth moves hardly any error between profiles."""

CONFIRMING: Final = 2
"""Right findings of a service without which a rule that is unproven in general stays below balanced there."""


@dataclass(frozen=True, slots=True)
class Prior:
    """What is expected of a rule on any service. `proven`: whether its general record alone lets it be balanced."""

    mean: float
    proven: bool


@dataclass(frozen=True, slots=True)
class RuleOpinion:
    """What somebody, a person or a judge, says of one finding of a rule: that it is right, or that it is wrong."""

    rule: str
    finding_id: str
    right: bool


@dataclass(frozen=True, slots=True)
class ServiceRecord:
    """How many labelled findings of a rule were right and wrong on one service."""

    right: int = 0
    wrong: int = 0

    @property
    def labels(self) -> int:
        """Findings on which the labels agree."""
        return self.right + self.wrong


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
    mean = confidence_of(record)
    return Prior(min(mean, declared) if candidate else mean, is_supported(record) and not candidate)


def tally(opinions: Iterable[RuleOpinion]) -> dict[str, ServiceRecord]:
    """The record of each rule; a finding counts once, and not at all where what is said of it is divided."""
    said: defaultdict[tuple[str, str], set[bool]] = defaultdict(set)
    for opinion in opinions:
        said[opinion.rule, opinion.finding_id].add(opinion.right)
    found: dict[str, ServiceRecord] = {}
    for (rule, _), words in sorted(said.items()):
        if len(words) == 1:
            own, right = found.get(rule, NO_LABELS), True in words
            found[rule] = ServiceRecord(own.right + right, own.wrong + (not right))
    return found


def local_confidence(prior: Prior, record: ServiceRecord) -> float:
    """The mean of the posterior; of an unproven rule below balanced until `CONFIRMING` of its findings were right."""
    if not record.labels:
        return prior.mean
    mean = round((prior.mean * STRENGTH + record.right) / (STRENGTH + record.labels), 4)
    return mean if prior.proven or record.right >= CONFIRMING else min(mean, UNPROVEN)


def moved(
    priors: Mapping[str, Prior], labelled: Mapping[str, ServiceRecord], stood: Mapping[str, LocalConfidence]
) -> dict[str, LocalConfidence]:
    """The rules whose confidence on a service is now another than `stood` by at least `STEP`, by name.

    Also those that got their first labels or lost the last ones: they are not unproven there any more, or are again.
    """
    found: dict[str, LocalConfidence] = {}
    for rule in sorted(priors.keys() & (labelled.keys() | stood.keys())):
        record, old = labelled.get(rule, NO_LABELS), stood.get(rule)
        now = LocalConfidence(record, local_confidence(priors[rule], record))
        before = old.confidence if old is not None and old.record.labels else priors[rule].mean
        begins_or_ends = bool(record.labels) != bool(old is not None and old.record.labels)
        if begins_or_ends or abs(now.confidence - before) >= STEP:
            found[rule] = now
    return found
