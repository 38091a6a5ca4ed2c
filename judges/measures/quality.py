"""Precision and recall of judges and detectors against the labels of people.

Labels that the queue drew at random speak for all runs, each weighted by how many runs of its stratum it stands for
(Horvitz and Thompson 1952); what people happened to look at speaks for itself. So where at least DRAWN runs were drawn
and looked at, only those count. Findings and errors of one run stand or fall together: intervals are Wilson's at the
effective size of runs (`rates.effective`).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.annotations import Annotation, ErrorLabel, Opinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.opinions import opinions_on
from tracejury.schemas.queries.labels import JudgeQuality
from tracejury.schemas.rates import Estimate, Sums

from .error_labels import label_of, labels_on
from .people import SeenError, seen_errors
from .rates import share

_Item = TypeVar("_Item")

DRAWN: Final = 20
"""Reviewed runs, drawn at random, from which on nothing else counts."""


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """An agent run with labels, what holds of it, and who looked at it.

    `annotations`: those that stand (`people.said_of_run`); `reviewed`: somebody has looked at the whole of it;
    `judges`: names of LLM judges that scored it (detectors look at every run); `silent`: of those that gave no score,
    since there was nothing for them to judge or they failed: they have not missed anything. `weight`: how many runs it
    stands for where the queue drew it and somebody reviewed it, else 0. `errors`: all that stand in its trace.
    """

    findings: Sequence[Finding]
    annotations: Sequence[Annotation]
    reviewed: bool
    judges: frozenset[str]
    weight: float = 0.0
    silent: frozenset[str] = frozenset()
    errors: Sequence[ErrorSummary] = ()


def quality_of(runs: Sequence[LabelledRun]) -> list[JudgeQuality]:
    """The quality of each judge and detector with labelled findings or reviewed runs, by name.

    A finding is right where people with an opinion on it see an error, at its span or at another one; it is localised
    where most of them agree as it stands. Without an opinion of its own it has those on the error that it is of, if it
    is at that one's primary span. Where people contradict each other whether it is right, it is left out. Errors are
    those that people see (`people.seen_errors`), named by whomever; contested ones are left out, too.
    """
    drawn = sum(run.weight > 0 for run in runs) >= DRAWN
    chosen = [run for run in runs if run.weight > 0 or not drawn]
    labelled: defaultdict[str, list[_Labelled]] = defaultdict(list)
    for run in chosen:
        for judge, part in _by_judge(run).items():
            labelled[judge].append(_Labelled(run, part))
    llm = frozenset[str]().union(*(run.judges | run.silent for run in runs))
    seen = [_Seen(run, _errors(run)) for run in chosen if run.reviewed]
    spoke = {name for one in seen for name in (*one.run.judges, *(f.judge for f in one.run.findings))}
    names = sorted({*labelled, *spoke})
    return [
        _quality(judge, labelled[judge], [s for s in seen if judge not in llm or judge in s.run.judges], drawn=drawn)
        for judge in names
    ]


@dataclass(frozen=True, slots=True)
class _Labelled:
    """The opinions of people on one judge's findings in a run: of each whether it is right, and localised."""

    run: LabelledRun
    opinions: Sequence[tuple[bool, bool]]


@dataclass(frozen=True, slots=True)
class _Seen:
    run: LabelledRun
    errors: Sequence[SeenError]

    def found(self, judge: str) -> int:
        own = [f for f in self.run.findings if f.judge == judge]
        return sum(any(_names(f, error) for f in own) for error in self.errors)


def _by_judge(run: LabelledRun) -> Mapping[str, Sequence[tuple[bool, bool]]]:
    said = opinions_on(run.findings, run.annotations)
    of_errors = labels_on(run.errors, [a for a in run.annotations if not a.withdrawn])
    covered = {f: (of_errors.get(e.id, ()), e.span_id) for e in run.errors for f in e.findings}
    by_judge: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
    for finding in run.findings:
        of_error, span_id = covered.get(finding.id, ((), ""))
        opinions = said.get(finding.id) or (of_error if span_id == finding.span_id else ())
        label = label_of(opinions)
        if label in (ErrorLabel.RIGHT, ErrorLabel.WRONG):
            agreed = sum(a.opinion is Opinion.AGREE for a in opinions)
            by_judge[finding.judge].append((label is ErrorLabel.RIGHT, 2 * agreed > len(opinions)))
    return by_judge


def _errors(run: LabelledRun) -> list[SeenError]:
    return [error for error in seen_errors(run.annotations, run.errors) if error.label is ErrorLabel.RIGHT]


def _quality(judge: str, labelled: Sequence[_Labelled], seen: Sequence[_Seen], *, drawn: bool) -> JudgeQuality:
    def weight(run: LabelledRun) -> float:
        return run.weight if drawn else 1.0

    opinions = [opinion for one in labelled for opinion in one.opinions]
    return JudgeQuality(
        judge=judge,
        findings=len(opinions),
        agreed=sum(right for right, _ in opinions),
        precision=_share(labelled, lambda o: (weight(o.run), sum(r for r, _ in o.opinions), len(o.opinions))),
        errors=sum(len(s.errors) for s in seen),
        found=sum(s.found(judge) for s in seen),
        recall=_share(seen, lambda s: (weight(s.run), s.found(judge), len(s.errors))),
        localised=sum(localised for _, localised in opinions),
        drawn=drawn,
    )


def _share(clusters: Sequence[_Item], counts: Callable[[_Item], tuple[float, int, int]]) -> Estimate | None:
    """Of (weight, hits, units) by run."""
    total = Sums()
    for w, b, t in map(counts, clusters):
        if t:
            w2 = w * w
            total += Sums(
                n=1, units=t, hits=b, w=w, w2=w2, wt=w * t, w2t2=w2 * t * t, wb=w * b, w2b2=w2 * b * b, w2bt=w2 * b * t
            )
    return share(total)


def _names(finding: Finding, seen: SeenError) -> bool:
    """Whether a finding is at a place where people see the error, or of it where they see it at its primary span."""
    if (finding.trace_id, finding.span_id, finding.taxonomy, finding.category) in seen.places:
        return True
    error = seen.error
    if error is None or finding.id not in error.findings or finding.span_id != error.span_id:
        return False
    return any(a.opinion is not Opinion.OTHER_SPAN for a in seen.said)
