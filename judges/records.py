"""Records of the built-in rules, and the confidence that follows from them.

A rule's record says of each data set in how many of the errors that it saw it was right, over how many agents
(records.toml; made by `tests/support/rule_evidence.py`). An error counts once, however often the rule repeats it. What
one data set alone supports is a guess about the next agent: such a rule stays below the balanced profile.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from statistics import fmean
from typing import Final

from tracejury.schemas.findings import Draft
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold

from .base import Context

INJECTED: Final = frozenset({"captures", "injected"})
"""Data sets of faults that were built in on purpose, so that every finding is known to be right or wrong."""

FAMILIES: Final = (
    ("{}-error", "file|parse|import|code|raised|limit|timeout|rate|auth|not-found|service|broken"),
    ("{}-error-read", "file|parse|import|code|raised|limit|timeout|rate|auth|not-found|service|broken"),
    ("{}-error-at-tool", "file|parse|import|raised|limit|timeout|rate|auth|not-found|service|broken"),
    ("run-{}", "limit|timeout|cancelled|crashed"),
    ("identical-{}", "call|cycle|step|failure"),
    ("model-{}", "rate|timeout|auth|limit|service"),
)
"""Rules that are one rule but for the name of the failure: they share a record."""

_FAMILY: Final = {form.format(kind): form.format("*") for form, kinds in FAMILIES for kind in kinds.split("|")}
_FAMILY["call-limit"] = "identical-*"  # the same scan (judges/loops.py), of calls that are turned down
FAMILY_NAMES: Final = frozenset(_FAMILY.values())
"""Names of the families: `identical-*` and the like."""

COUNTED: Final = frozenset({"runaway"})
"""Rules that only compare recorded figures with a bound. No step is labelled for such a claim, and none of an agent's
words can make it wrong: they keep the confidence that they declare, until a service's labels say otherwise."""

_AGENTS: Final = 2
_SETS: Final = 2
_SUPPORTING: Final = 2
"""Right errors by which a labelled data set supports a rule."""
_SOUND: Final = 0.8
"""Share of right errors from which injected faults support a rule."""

UNPROVEN: Final = 0.98 * threshold(DEFAULT_PROFILE)
"""Factor for rules without support: none of them is balanced, and their order stays."""


@dataclass(frozen=True, slots=True)
class Record:
    """Of `claims` errors that a rule saw in a data set, `right` were at a labelled step, over `agents` agents."""

    right: int
    claims: int
    agents: int

    def __add__(self, other: Record) -> Record:
        return Record(self.right + other.right, self.claims + other.claims, max(self.agents, other.agents))

    @property
    def expected(self) -> float:
        """The share that is expected to be right: the mean of a Beta distribution with a flat prior."""
        return (self.right + 1) / (self.claims + 2)


NEXT_AGENT: Final = Record(0, 0, 0)
"""The record of the next agent, of which nothing is known: it counts as one more data set."""


@cache
def records() -> Mapping[str, Mapping[str, Record]]:
    """The record by data set of each rule or family (`family`)."""
    found: dict[str, dict[str, Record]] = {}
    for rule, rows in tomllib.loads((files(__package__) / "records.toml").read_text("utf-8")).items():
        own = found.setdefault(family(rule), {})
        for data_set, row in rows.items():
            own[data_set] = own.get(data_set, Record(0, 0, 0)) + Record(**row)
    return found


def family(rule: str) -> str:
    """The name under which the record of a rule stands."""
    return _FAMILY.get(rule, rule)


def is_supported(record: Mapping[str, Record]) -> bool:
    """Whether more than one data set, or injected faults in several agents, say that a rule is right."""
    injected = [one for name, one in record.items() if name in INJECTED]
    labelled = [one for name, one in record.items() if name not in INJECTED and one.right >= _SUPPORTING]
    if injected:
        total = sum(injected, Record(0, 0, 0))
        if total.agents >= _AGENTS and total.right >= _SOUND * total.claims:
            return True
    return len(labelled) >= _SETS and sum(one.agents for one in labelled) >= _AGENTS


def confidence_of(record: Mapping[str, Record]) -> float:
    """The confidence of a rule with this record: the mean over data sets and the next agent, each counted once."""
    expected = fmean(one.expected for one in (*record.values(), NEXT_AGENT))
    return round(expected if is_supported(record) else expected * UNPROVEN, 4)


def general_confidence(rule: str, declared: float) -> float:
    """The confidence of a built-in rule on any service."""
    return declared if rule in COUNTED else confidence_of(records().get(family(rule), {}))


Local = Callable[[str, str], Mapping[str, float]]
"""The confidences of the rules that were labelled on a service (of a tenant), by rule."""


def general_only(_tenant: str, _service: str) -> Mapping[str, float]:
    """A `Local` without any service."""
    return {}


class RecordedConfidence:
    """Gives the findings of the built-in rules the confidence of their records.

    `declared`: the confidence that each of them declares. One below the balanced profile marks a candidate, which stays
    below, and so does a finding that its rule doubts more than others. Rules of other packages keep their own. `local`:
    confidences that go before the records', also those of candidates (service_records.py).
    """

    def __init__(self, declared: Mapping[str, float], local: Local = general_only) -> None:
        self._most = {rule: general_confidence(rule, own) for rule, own in declared.items()}
        self._declared, self._local = declared, local
        self.version: str = hashlib.blake2b(repr(sorted(self._most.items())).encode(), digest_size=6).hexdigest()

    def rank(self, ctx: Context, drafts: Sequence[Draft]) -> list[Draft]:
        """The drafts, in order, with their confidence."""
        return list(self._settled(drafts, self._local(ctx.trace.tenant, ctx.trace.service)))

    def _settled(self, drafts: Sequence[Draft], local: Mapping[str, float]) -> Iterator[Draft]:
        balanced = threshold(DEFAULT_PROFILE)
        for draft in drafts:
            most, declared = self._most.get(draft.judge), self._declared.get(draft.judge, 0.0)
            candidate = declared < balanced and draft.judge not in local
            if most is None:
                yield draft
            elif draft.confidence < declared or candidate:
                yield replace(draft, confidence=min(local.get(draft.judge, most), draft.confidence))
            else:
                yield replace(draft, confidence=local.get(draft.judge, most))
