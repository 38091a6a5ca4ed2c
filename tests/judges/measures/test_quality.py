"""Precision and recall against labels: what is right, what was missed, for how many runs a label stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from store_parts import a_finding

from tracejury.judges.grouping import group
from tracejury.judges.measures.quality import DRAWN, LabelledRun, quality_of
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.agent_errors import summary
from tracejury.schemas.annotations import Annotation, Opinion
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.labels import JudgeQuality
from tracejury.schemas.rates import Estimate

AGREE, DISAGREE, MOVED, MISSED = Opinion.AGREE, Opinion.DISAGREE, Opinion.OTHER_SPAN, Opinion.MISSED
FOUND = a_finding(judge="rule")
OTHER = "e" * 16


def said(opinion: Opinion, of: Finding = FOUND, by: str = "ann", span: str = "") -> Annotation:
    """An opinion on a finding, or, MISSED, an error of its category at another span."""
    missed = opinion is MISSED
    return Annotation(
        id=f"{by}/{of.id}/{opinion}", trace_id=of.trace_id,
        span_id=span or (OTHER if missed or opinion is MOVED else of.span_id), annotator=by,
        category=of.category, severity=of.severity, taxonomy=of.taxonomy, opinion=opinion,
        finding_id="" if missed else of.id,
        judge="" if missed else of.judge, changed_at=1,
    )  # fmt: skip


def run(
    findings: Sequence[Finding] = (FOUND,),
    annotations: Sequence[Annotation] = (),
    *,
    reviewed: bool = True,
    judges: frozenset[str] = frozenset(),
    weight: float = 0.0,
) -> LabelledRun:
    """One labelled run."""
    return LabelledRun(findings, annotations, reviewed, judges, weight)


def only(runs: Sequence[LabelledRun]) -> JudgeQuality:
    """The figures of the one judge."""
    (quality,) = quality_of(runs)
    return quality


@pytest.mark.parametrize(
    ("opinions", "counts"),
    [
        pytest.param([AGREE], (1, 1, 1), id="right"),
        pytest.param([DISAGREE], (1, 0, 0), id="wrong"),
        pytest.param([MOVED], (1, 1, 0), id="right, at the wrong span"),
        pytest.param([AGREE, MOVED], (1, 1, 0), id="right, divided where"),
        pytest.param([AGREE, AGREE, MOVED], (1, 1, 1), id="most say here"),
        pytest.param([AGREE, DISAGREE], (0, 0, 0), id="contested: left out"),
        pytest.param([AGREE, DISAGREE, DISAGREE], (0, 0, 0), id="contested, though most say wrong"),
        pytest.param([DISAGREE, DISAGREE], (1, 0, 0), id="all say wrong"),
        pytest.param([], (0, 0, 0), id="nobody said anything"),
    ],
)
def test_people_decide_what_is_right(opinions: list[Opinion], counts: tuple[int, int, int]) -> None:
    """Findings with opinions, those that are right, those at the right span; of a reviewed run by LLM or rule."""
    annotations = [said(opinion, by=f"p{n}") for n, opinion in enumerate(opinions)]
    found = quality_of([run(annotations=annotations, judges=frozenset({"llm"}))])
    rule = next((q for q in found if q.judge == "rule"), JudgeQuality("rule", 0, 0, None, 0, 0, None))
    assert (rule.findings, rule.agreed, rule.localised) == counts


def test_a_judge_misses_nothing_where_there_was_nothing_for_it_to_judge() -> None:
    """Runs that it did not score are in no recall of it, also where it scored none; rules look at every run."""
    missed = said(MISSED)
    scored = run((), [missed], judges=frozenset({"plan"}))
    silent = replace(run((), [missed]), silent=frozenset({"plan"}))
    (quality,) = quality_of([scored, silent, silent])
    assert (quality.judge, quality.errors, quality.found) == ("plan", 1, 0)
    claim = a_finding(judge="plan")
    (quality,) = quality_of([replace(run((claim,), [missed]), silent=frozenset({"plan"}))])
    assert (quality.errors, quality.recall) == (0, None)


def test_one_finding_a_run_gives_wilsons_interval() -> None:
    """Seven of nine are right."""
    quality = only([run(annotations=[said(AGREE if n < 7 else DISAGREE)], reviewed=False) for n in range(9)])
    expected = wilson(7, 9)
    assert expected is not None
    assert quality.precision is not None
    assert (quality.precision.low, quality.precision.high) == pytest.approx(expected)
    assert quality.recall is None


def test_findings_of_one_run_tell_less_than_of_many() -> None:
    """Ten findings right in one run and ten wrong in another: as good as two."""
    many = [replace(FOUND, id=f"{n:032x}", span_id=f"{n:016x}") for n in range(10)]
    together = [run(many, [said(opinion, f) for f in many], reviewed=False) for opinion in (AGREE, DISAGREE)]
    apart = [run([f], [said(o, f)], reviewed=False) for o in (AGREE, DISAGREE) for f in many]
    assert width(only(together).precision) > 1.4 * width(only(apart).precision)


def width(estimate: Estimate | None) -> float:
    """Of its interval."""
    assert estimate is not None
    return estimate.high - estimate.low


def test_recall_is_of_what_people_see_in_reviewed_runs() -> None:
    """Found, and missed at another span; not in runs that nobody looked at as a whole."""
    quality = only([run(annotations=[said(AGREE), said(MISSED)]), run((), [said(MISSED)], reviewed=False)])
    assert (quality.errors, quality.found) == (2, 1)
    assert quality.recall is not None
    assert quality.recall.value == 0.5


def test_a_detector_is_measured_where_people_marked_errors_only() -> None:
    """Nobody has an opinion on its findings, but whether it found what people saw is known."""
    quality = only([run(annotations=[said(MISSED)])])
    assert (quality.judge, quality.findings, quality.precision) == ("rule", 0, None)
    assert (quality.errors, quality.found) == (1, 0)


def test_an_llm_judge_answers_for_runs_that_it_looked_at() -> None:
    """A detector for all."""
    llm = replace(FOUND, judge="llm", id="a" * 32)
    looked = run((llm, FOUND), [said(AGREE, llm), said(AGREE)], judges=frozenset({"llm"}))
    by_name = {q.judge: q for q in quality_of([looked, run(annotations=[said(MISSED)])])}
    assert (by_name["llm"].errors, by_name["rule"].errors) == (1, 2)


def test_labels_drawn_at_random_speak_for_all_runs() -> None:
    """From so many on, each weighs what it stands for, and what people chose themselves does not count."""
    right = [run(annotations=[said(AGREE)], weight=9.0)] * (DRAWN // 2)
    wrong = [run(annotations=[said(DISAGREE)], weight=1.0)] * (DRAWN // 2)
    chosen = [run(annotations=[said(DISAGREE)])] * 50
    few, enough = only([*right, *wrong[1:], *chosen]), only([*right, *wrong, *chosen])
    assert (few.drawn, enough.drawn) == (False, True)
    assert few.findings == DRAWN - 1 + 50
    assert enough.findings == DRAWN
    assert enough.precision is not None
    assert enough.precision.value == pytest.approx(0.9)


def test_a_finding_is_covered_by_what_people_say_of_its_error() -> None:
    """At the primary span, where nobody said anything of the finding itself; not where the error is contested."""
    lead = a_finding(judge="service-error", category="Service Errors", confidence=0.8)
    late = a_finding(judge="tool-calling", category="Timeout Issues", confidence=0.5)
    away = a_finding(judge="raised-error", category="Service Errors", span_id=OTHER, confidence=0.4)
    errors = [summary(error) for error in group([lead, late, away], ["run-1"])]

    def counts(*annotations: Annotation) -> dict[str, tuple[int, int, int]]:
        found = quality_of([replace(run([lead, late, away], annotations), errors=errors)])
        return {q.judge: (q.findings, q.agreed, q.found) for q in found if q.findings or q.found}

    assert counts(said(AGREE, lead)) == {"service-error": (1, 1, 1), "tool-calling": (1, 1, 1)}
    assert counts(said(DISAGREE, lead)) == {"service-error": (1, 0, 0), "tool-calling": (1, 0, 0)}
    assert counts(said(AGREE, lead), said(DISAGREE, lead, "bob")) == {}
    own = {"service-error": (1, 1, 0), "tool-calling": (1, 0, 0)}
    assert counts(said(AGREE, lead), said(DISAGREE, late)) == own, "contested, and each finding has its own label"
