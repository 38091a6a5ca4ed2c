"""Shares of failing runs corrected by labels: which runs people looked at, and what people and judges say of each.

Only reviews that the label queue drew at random count, of runs that the question is about and that were judged. A run's
human truth is that of its errors that the question is about (`people.seen_errors`): 1 where people see one, 0 where
nobody does: what is not marked in a reviewed run is none. An error that judges found has its own category, severity and
dimensions, however many of its findings have labels. A run whose only errors are contested is left out: whether it has
one is not known.
"""

from __future__ import annotations

import shlex
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tracejury.collector.store.derived.facts import SCOPE, Fact, FactError
from tracejury.judges.measures.dimension_labels import DEFAULT_DIMENSIONS
from tracejury.judges.measures.people import SeenError
from tracejury.judges.measures.ppi import Pair, calibrated_share
from tracejury.schemas.annotations import ErrorLabel
from tracejury.schemas.rates import By, Estimate, Sums, Unit
from tracejury.schemas.taxonomy import TRAIL, Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import LAST, iso_time

from .question import OF_RUNS, Question

ENOUGH: Final = 20
"""Reviewed runs without which there is no calibrated share."""

NAMED: Final = 3
"""Strata that are named where nobody has looked at them."""

SHORT: Final = 100
"""Characters of a service that a command may name."""

Group = tuple[int, str]
"""Point in time and name."""


@dataclass(frozen=True, slots=True)
class ReviewedRun:
    """A run that the queue drew and somebody reviewed; it stands for `weight` runs of its stratum."""

    fact: Fact
    errors: Sequence[SeenError]
    weight: float


@dataclass(frozen=True, slots=True)
class UnseenStratum:
    """One of runs of which nobody has reviewed a drawn one; `runs`: how many of them the question is about."""

    name: str
    service: str
    runs: int


@dataclass(frozen=True, slots=True)
class UnseenStrata:
    """Strata that the question is about and of which nobody has reviewed a drawn run.

    `groups`: in which its runs are (of errors: "", whatever the error); None where they are too many to be told.
    """

    strata: Sequence[UnseenStratum] = ()
    groups: frozenset[Group] | None = frozenset()


@dataclass(frozen=True, slots=True)
class Calibration:
    """Pairs of people's and judges' words for the whole (`total`) and by group; or why there are none of the whole."""

    total: Sequence[Pair] = ()
    groups: Mapping[Group, Sequence[Pair]] = field(default_factory=dict)
    refused: str = ""

    def of_total(self, sums: Sums) -> Estimate | None:
        """The share of everything asked, as people would see it; None where too few runs were reviewed."""
        return _share(sums, self.total)

    def of_group(self, group: Group, sums: Sums) -> Estimate | None:
        """Likewise of one row."""
        return _share(sums, self.groups.get(group, ()))


def refusal(q: Question) -> str:
    """Why no labels can correct what is asked, "" where they can."""
    if q.unit is not Unit.RUN:
        return f"people review agent runs: there is no calibrated share of {q.unit.value}s"
    if q.judge is not None or q.pack or q.by is By.JUDGE:
        return "people look for errors, not for those of one judge: see its precision and recall instead"
    if q.simulated:
        return "labels of people correct the rates of real sessions only"
    if q.behaviour or q.by is By.BEHAVIOUR or q.stated[0]:
        named = "attribute, tag or user" if q.stated[0] else "behaviour"
        return f"the label queue draws runs whoever their users are: there is no calibrated share by {named}"
    if By.TOOL in q.findings or q.by is By.TOOL:
        return "labels do not name tools"
    return ""


def too_few(reviewed: int, least: int) -> Calibration:
    """None, since people reviewed so few runs in all, drawn or not, and `least` are needed."""
    told = f"people reviewed {counted(reviewed, 'run')}, drawn or not"
    return Calibration(refused=f"{told}; {least} that the label queue drew are needed")


def calibration(q: Question, looked: Iterable[ReviewedRun], unseen: UnseenStrata | None = None) -> Calibration:
    """The calibration of a question: none for groups with runs of `unseen` strata."""
    if why := refusal(q):
        return Calibration(refused=why)
    chosen = [run for run in looked if _of(q, run.fact)]
    if len(chosen) < ENOUGH:
        return Calibration(
            refused=f"the label queue drew {counted(len(chosen), 'reviewed run')} of these; {ENOUGH} are needed"
        )
    words = [(run, _words(q, run)) for run in chosen]
    total = _pairs(q, words)
    if len(total) < ENOUGH:
        of = f"of {counted(len(chosen), 'reviewed run')} that the label queue drew of these"
        return Calibration(refused=f"people contradict each other on the errors {of}; {ENOUGH} others are needed")
    groups = _groups(q, words)
    if unseen and unseen.strata:
        seen = {group: pairs for group, pairs in groups.items() if not _is_blind(q, group, unseen)}
        return Calibration(groups=seen, refused=nobody_looked(q, unseen.strata))
    return Calibration(total, groups)


def _is_blind(q: Question, group: Group, unseen: UnseenStrata) -> bool:
    at, name = group
    return unseen.groups is None or (at, "" if q.of_findings else name) in unseen.groups


def nobody_looked(q: Question, unseen: Sequence[UnseenStratum]) -> str:
    """Which strata are missing, and what to do about it, on one line."""
    named = ", ".join(f"{one.name} ({counted(one.runs, 'run')})" for one in unseen[:NAMED])
    more = f" and {len(unseen) - NAMED:,} more" if len(unseen) > NAMED else ""
    return f"nobody has reviewed a drawn run of {named}{more}; they come first in: {_queue(q, unseen)}"


def _queue(q: Question, unseen: Sequence[UnseenStratum]) -> str:
    """The command whose answer begins with them."""
    words = ["tracejury", "labels", "queue"]
    service, *others = {one.service for one in unseen}
    if not others and service.isprintable() and 0 < len(service) <= SHORT:
        words += ["--service", service]
    words += ["--since", iso_time(q.since) or ""] if q.since else []
    words += ["--until", iso_time(q.until) or ""] if q.until < LAST else []
    return shlex.join(words)


@dataclass(frozen=True, slots=True)
class _Trait:
    """The aspects of an error that a question may be about, whoever sees it."""

    taxonomy: str
    category: str
    severity: int
    dimensions: tuple[str, ...]

    def named(self, by: By) -> tuple[str, ...]:
        return {
            By.TAXONOMY: (self.taxonomy,),
            By.CATEGORY: (f"{self.taxonomy}/{self.category}",),
            By.SEVERITY: (list(Severity)[self.severity].value,),
            By.DIMENSION: self.dimensions,
        }[by]

    def asked_for(self, q: Question) -> bool:
        return self.severity >= q.severity and all(value in self.named(by) for by, value in q.findings.items())


@dataclass(frozen=True, slots=True)
class _Words:
    """Errors of one run: those that judges see, and those that people see."""

    judge: Sequence[_Trait]
    human: Sequence[tuple[_Trait, ErrorLabel]]

    def under(self, by: By, name: str) -> _Words:
        """The errors of one name."""
        return _Words(
            [t for t in self.judge if name in t.named(by)], [(t, y) for t, y in self.human if name in t.named(by)]
        )

    def names(self, by: By) -> frozenset[str]:
        return frozenset(name for t in (*self.judge, *(t for t, _ in self.human)) for name in t.named(by))

    @property
    def truth(self) -> float | None:
        """That of its errors, as of `truth_of`."""
        return truth_of(label for _, label in self.human)


def truth_of(labels: Iterable[ErrorLabel]) -> float | None:
    """1 where people see an error, 0 where nobody does; None where those that anybody sees are contested."""
    told = frozenset(labels)
    if ErrorLabel.RIGHT in told:
        return 1.0
    return None if told else 0.0


def _groups(q: Question, words: Sequence[tuple[ReviewedRun, _Words]]) -> dict[Group, Sequence[Pair]]:
    groups: defaultdict[Group, list[tuple[ReviewedRun, _Words]]] = defaultdict(list)
    names = frozenset[str]()
    if q.by is not None and q.of_findings:
        by = q.by
        names = names.union(*(word.names(by) for _, word in words))
    for run, word in words:
        at = run.fact.at // q.step * q.step if q.step else q.since
        if q.by is None or not q.of_findings:
            groups[at, "" if q.by is None else _attribute(run.fact, OF_RUNS[q.by])].append((run, word))
        else:
            for name in names:
                groups[at, name].append((run, word.under(q.by, name)))
    return {group: _pairs(q, own) for group, own in groups.items()}


def _pairs(q: Question, words: Iterable[tuple[ReviewedRun, _Words]]) -> list[Pair]:
    return [
        Pair(truth, bool(word.judge), run.weight * run.fact.standings[q.population].weight)
        for run, word in words
        if (truth := word.truth) is not None
    ]


def found_errors(q: Question, fact: Fact) -> list[FactError]:
    """The errors of a run that judges of the question's population see, in its profile."""
    least = _least(q, fact)
    return [e for e in fact.errors if e.confidences[0] >= least and SCOPE[q.population] in e.scopes]


def _least(q: Question, fact: Fact) -> float:
    return q.least.recognised if fact.recognised else q.least.unrecognised


def _words(q: Question, run: ReviewedRun) -> _Words:
    least = _least(q, run.fact)
    judge = [
        _Trait(e.taxonomy, e.category, e.severity(least).rank, tuple(d.value for d in e.dimensions))
        for e in found_errors(q, run.fact)
    ]
    human = [(_seen(run.fact, error, least), error.label) for error in run.errors]
    return _Words([t for t in judge if t.asked_for(q)], [(t, y) for t, y in human if t.asked_for(q)])


def _seen(fact: Fact, seen: SeenError, least: float) -> _Trait:
    """The error that judges found; else what people say, in the dimensions of what their judge found, or usual ones."""
    if error := seen.error:
        severity = error.severity(min(least, error.confidence))
        dimensions = tuple(dimension.value for dimension in error.dimensions)
        return _Trait(error.taxonomy, error.category, severity.rank, dimensions)
    said = seen.said[0]
    judges = {a.judge for a in seen.said if a.judge}
    own = {d.value for e in fact.errors if e.judge in judges and e.category == said.category for d in e.dimensions}
    usual = DEFAULT_DIMENSIONS.get(said.category, ()) if said.taxonomy == TRAIL else ()
    return _Trait(said.taxonomy, said.category, max(a.severity.rank for a in seen.said), tuple(sorted(own)) or usual)


def _of(q: Question, fact: Fact) -> bool:
    """Whether the question is about the run, and it was judged."""
    told = all(_attribute(fact, column) == value for column, value in q.runs.items())
    return told and q.since <= fact.at < q.until and fact.standings[q.population].weight > 0


def _attribute(fact: Fact, column: str) -> str:
    return {
        "Service": fact.service,
        "Version": fact.version,
        "Agent": fact.agent,
        "Role": fact.role,
        "Model": fact.model,
        "Session": fact.session,
    }[column]


def _share(sums: Sums, pairs: Sequence[Pair]) -> Estimate | None:
    return calibrated_share(sums, pairs) if len(pairs) >= ENOUGH else None
