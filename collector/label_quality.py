"""Precision and recall of judges and detectors against the labels of people. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..judges.measures.wilson import wilson
from ..schemas.annotations import Annotation, Opinion
from ..schemas.findings import Finding
from ..schemas.opinions import opinions_on
from ..schemas.rates import Estimate
from .labels import JudgeQuality

Place = tuple[str, str, str, str]
"""Trace, span, taxonomy and category: one error, whoever names it."""


@dataclass(frozen=True, slots=True)
class LabelledRun:
    """An agent run with labels, what holds of it, and who looked at it.

    `annotations`: those that stand; `reviewed`: somebody has looked at the whole of it; `judges`: names of LLM judges
    with a verdict on it. Detectors look at every run.
    """

    findings: Sequence[Finding]
    annotations: Sequence[Annotation]
    reviewed: bool
    judges: frozenset[str]


def quality_of(runs: Sequence[LabelledRun]) -> list[JudgeQuality]:
    """How each judge and detector fares whose findings people labelled, or that looked at a reviewed run, by name.

    Precision: of findings that people have an opinion on the share that most of them agree with; those that they are
    evenly divided about are left out. An error that was made at another span is none at this one. Recall: of the
    errors that people see in reviewed runs (missed ones, other spans, and findings that are agreed with, of whoever)
    that the judge looked at, the share that it names at that span in that category. Wilson's intervals.
    """
    decided = [_decided(run) for run in runs]
    judged: dict[str, list[bool]] = defaultdict(list)
    for run, right in zip(runs, decided, strict=True):
        for finding in run.findings:
            if finding.id in right:
                judged[finding.judge].append(right[finding.id])
    llm = frozenset[str]().union(*(run.judges for run in runs))
    seen = [(run, _errors(run, right)) for run, right in zip(runs, decided, strict=True) if run.reviewed]
    return [
        _quality(judge, judged[judge], [s for s in seen if judge not in llm or judge in s[0].judges])
        for judge in sorted({*judged, *(judge for run, _ in seen for judge in run.judges)})
    ]


def _decided(run: LabelledRun) -> dict[str, bool]:
    """By finding: whether most people agree with it."""
    votes = {i: Counter(o.opinion is Opinion.AGREE for o in said) for i, said in _opinions(run).items()}
    return {i: vote[True] > vote[False] for i, vote in votes.items() if vote[True] != vote[False]}


def _opinions(run: LabelledRun) -> Mapping[str, Sequence[Annotation]]:
    return opinions_on(run.findings, run.annotations)


def _errors(run: LabelledRun, right: Mapping[str, bool]) -> frozenset[Place]:
    agreed = (_place(f) for f in run.findings if right.get(f.id))
    marked = (_place(a) for a in run.annotations if a.opinion in (Opinion.MISSED, Opinion.OTHER_SPAN))
    return frozenset((*agreed, *marked))


def _quality(judge: str, judged: Sequence[bool], seen: Sequence[tuple[LabelledRun, frozenset[Place]]]) -> JudgeQuality:
    errors = sum(len(places) for _, places in seen)
    found = sum(len(places & {_place(f) for f in run.findings if f.judge == judge}) for run, places in seen)
    return JudgeQuality(
        judge, len(judged), sum(judged), _share(sum(judged), len(judged)), errors, found, _share(found, errors)
    )


def _place(error: Finding | Annotation) -> Place:
    return error.trace_id, error.span_id, error.taxonomy, error.category


def _share(hits: int, trials: int) -> Estimate | None:
    interval = wilson(hits, trials)
    return Estimate(hits / trials, *interval) if interval else None
