"""The grades of the seven GPA judges as measures of agent runs: each judge's, of the three parts, and overall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Final

from tracejury.judges.llm.criteria import GPA_JUDGES, load_set
from tracejury.schemas.queries.measures import MeasuredPack, PackMeasure, SessionMeasure
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.verdicts import SubjectKind, Verdict

NAME: Final = "gpa"
BEST: Final = 3
"""The best grade."""
OVERALL: Final = "GPA"

PARTS: Final[Mapping[str, tuple[Dimension, ...]]] = {
    "Goal": (Dimension.GOAL_FULFILMENT,),
    "Plan": (Dimension.PLAN_QUALITY, Dimension.PLAN_ADHERENCE),
    "Action": (
        Dimension.LOGICAL_CONSISTENCY,
        Dimension.EXECUTION_EFFICIENCY,
        Dimension.TOOL_SELECTION,
        Dimension.TOOL_CALLING,
    ),
}
"""The dimensions by what they are about: what the run came to, the plan and how it was kept to, the steps themselves.

"What is your agent's GPA?" names goal, plan and action; it gives the parts no figures.
"""


@cache
def grades_pack() -> MeasuredPack:
    """The grades as measures, worded as published; AVG is the overall one."""
    published = {criteria.name: criteria for criteria in load_set("paper").judges}
    judges = [
        PackMeasure(code.value, name, published[name].title, published[name].definition, averaged=False)
        for code, name in GPA_JUDGES.items()
    ]
    parts = [
        PackMeasure(
            part, f"{NAME}-{part.lower()}", f"mean of {' '.join(codes)}",
            f"The mean of the grades that a run has in {', '.join(codes)}.", averaged=False,
            of=tuple(GPA_JUDGES[code] for code in codes),
        )
        for part, codes in PARTS.items()
    ]  # fmt: skip
    said = "The mean of all grades that a run has: of two runs that differ in what applies, it weighs other judges."
    overall = PackMeasure(OVERALL, NAME, "mean of all seven", said, of=tuple(GPA_JUDGES.values()))
    return MeasuredPack(NAME, "GPA: grades of agent runs", (*judges, *parts, overall), unit="run", best=BEST)


def with_means(grades: Mapping[str, SessionMeasure]) -> Mapping[str, SessionMeasure]:
    """The grades of one run by judge, with those of the parts and overall.

    A mean is of what applies to the run. It is unscored where one of its judges is, which would otherwise shift it.
    """
    found = dict(grades)
    for measure in grades_pack().measures:
        if of := [grades[judge] for judge in measure.of if judge in grades]:
            values = [one.value for one in of if one.value is not None]
            unscored = any(one.unscored for one in of)
            value = None if unscored or not values else sum(values) / len(values)
            found[measure.judge] = _measure(value, unscored=unscored, weight=max(one.weight for one in of))
    return found


def run_grade(score: int | None, *, unscored: bool, weight: float) -> SessionMeasure:
    """The grade of one judge as a measure; without a score and not `unscored` it is not applicable."""
    return _measure(None if score is None else score / BEST, unscored=unscored, weight=weight)


def _measure(value: float | None, *, unscored: bool, weight: float) -> SessionMeasure:
    return SessionMeasure(value, value, value or 0.0, 1.0, unscored, weight)


def mean_grades(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """By letter the mean grade, 0 to 3, over the agent runs that these are on, such as all of a trace or a session."""
    by_run: dict[tuple[str, str], dict[str, SessionMeasure]] = {}
    for verdict in verdicts:
        if verdict.subject.kind is SubjectKind.AGENT_RUN and verdict.judge in GPA_JUDGES.values():
            grade = run_grade(verdict.score, unscored=bool(verdict.unscored_reason), weight=1.0)
            by_run.setdefault((verdict.subject.trace_id, verdict.subject.id), {})[verdict.judge] = grade
    runs = [with_means(grades) for grades in by_run.values()]
    found: dict[str, float] = {}
    for measure in grades_pack().measures:
        values = [run[measure.judge].value for run in runs if measure.judge in run]
        if known := [BEST * value for value in values if value is not None]:
            found[measure.letter] = sum(known) / len(known)
    return found
