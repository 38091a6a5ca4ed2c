"""Records of rules: in how many cases a rule was right, by data set, and over the others with each data set left out.

A rule that was made on one data set is right there by construction. Its record over the *other* data sets says what to
expect of an agent that nobody has seen. Data sets with runs in common are left out together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from .rule_cases import RuleCase
from .step_figures import LabelledTrace


@dataclass(frozen=True, slots=True)
class RuleRecord:
    """Of `claims` cases, in `right` a finding stands at a labelled span, and in `right_any` one names such a span.

    `agents`: names of the agents in whose runs the rule fired.
    """

    claims: int = 0
    right: int = 0
    right_any: int = 0
    agents: frozenset[str] = frozenset()

    def __add__(self, other: RuleRecord) -> RuleRecord:
        return RuleRecord(
            self.claims + other.claims,
            self.right + other.right,
            self.right_any + other.right_any,
            self.agents | other.agents,
        )


RuleRecords = Mapping[str, Mapping[str, RuleRecord]]
"""By rule and data set, both sorted."""


def rule_records(judged: Mapping[str, Iterable[tuple[LabelledTrace, Sequence[RuleCase]]]]) -> RuleRecords:
    """The record of each rule in each data set in which it fired; `judged`: labels and cases by data set."""
    records: defaultdict[str, defaultdict[str, RuleRecord]] = defaultdict(lambda: defaultdict(RuleRecord))
    for data_set, traces in judged.items():
        for trace, cases in traces:
            labelled = frozenset(trace.errors)
            for case in cases:
                record = RuleRecord(1, int(bool(case.at & labelled)), int(bool(case.spans & labelled)), case.agents)
                records[case.judge][data_set] += record
    return {rule: dict(sorted(rows.items())) for rule, rows in sorted(records.items())}


def leave_one_out(
    records: RuleRecords, data_sets: Iterable[str], overlaps: Collection[frozenset[str]] = ()
) -> RuleRecords:
    """For each rule and data set, the sum of the rule's records in all other data sets.

    `overlaps`: pairs of data sets with runs in common. A data set is left out with those that it shares runs with.
    """
    left_out = {name: {name}.union(*(pair for pair in overlaps if name in pair)) for name in data_sets}
    return {
        rule: {
            name: sum((r for other, r in rows.items() if other not in gone), RuleRecord())
            for name, gone in sorted(left_out.items())
        }
        for rule, rows in records.items()
    }
