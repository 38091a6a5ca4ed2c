"""Where runs that fail do otherwise than runs that pass: the earliest step that goes with failing beyond chance."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import median_low
from typing import Final

from tracejury.judges.measures.rates import hybrid
from tracejury.judges.measures.wilson import wilson_of
from tracejury.judges.names import plain
from tracejury.judges.patterns.change_points import Counted
from tracejury.judges.patterns.states import CHANGED, difference_p, holm
from tracejury.schemas.rates import Estimate

from .aligning import StepDifference
from .steps import TraceStep

MOST_READ: Final = 200
"""Steps of a run that are read."""
SHOWN: Final = 200
"""Characters by which arguments and results are distinguished."""
_ORDER: Final = [*StepDifference]


@dataclass(frozen=True, slots=True)
class StepFeature:
    """Something that a run does or not: the `nth` call of a tool by an agent (the answer, without a tool).

    `kind`: STEP, that there is one; ARGUMENTS, OUTCOME or RESULT (of an answer none), that it has this `value`.
    """

    agent: str
    tool: str
    nth: int
    kind: StepDifference
    value: str


@dataclass(frozen=True, slots=True)
class FailingStep:
    """A feature that goes with failing. `failing`, `passing`: of how many runs each how many do it.

    `lift`: the share among failing runs less that among passing ones, with Newcombe's 95 % interval. `at`: steps before
    it, in the middle of the runs that get there. `examples`: the indices of a failing and a passing run, of which one
    does it; `step` is where.
    """

    feature: StepFeature
    failing: Counted
    passing: Counted
    lift: Estimate
    p_value: float
    at: int
    examples: tuple[int, int]
    step: TraceStep


@dataclass(slots=True)
class _Having:
    """By index of a run that does it, the place and the step."""

    failing: dict[int, tuple[int, TraceStep]] = field(default_factory=dict)
    passing: dict[int, tuple[int, TraceStep]] = field(default_factory=dict)


def failing_step(
    failing: Sequence[Sequence[TraceStep]], passing: Sequence[Sequence[TraceStep]]
) -> tuple[FailingStep | None, int]:
    """The earliest step at which failing runs do otherwise, None where none tells; and how many were looked at.

    Fisher's exact test, two-sided, by Holm corrected for all features that could have told: one that is too rare for
    that, whatever its runs become of, cannot (Tarone, "A modified Bonferroni method for discrete data", 1990), and
    those that the same runs have are one.
    """
    seen, sizes = _seen(failing, passing), (len(failing), len(passing))
    telling = [_least_p(hits, *sizes) <= CHANGED for hits in range(sum(sizes) + 1)]
    by_runs: defaultdict[tuple[frozenset[int], frozenset[int]], list[StepFeature]] = defaultdict(list)
    for feature, own in seen.items():
        if telling[len(own.failing) + len(own.passing)]:
            by_runs[frozenset(own.failing), frozenset(own.passing)].append(feature)
    places = [*by_runs]
    p_values = [difference_p(Counted(sizes[1], len(b)), Counted(sizes[0], len(a))) for a, b in places]
    found = [
        _found(feature, seen, sizes, p)
        for runs, p, differs in zip(places, p_values, holm(p_values), strict=True)
        if differs
        for feature in by_runs[runs]
    ]
    return min(found, key=_earliest, default=None), len(places)


def _earliest(one: FailingStep) -> tuple[int, float, bool, int, str]:
    kind, value = _ORDER.index(one.feature.kind), one.feature.value
    return one.at, one.p_value, one.lift.value < 0, kind, value


def _found(feature: StepFeature, seen: Mapping[StepFeature, _Having], sizes: tuple[int, int], p: float) -> FailingStep:
    own, there = seen[feature], seen[replace(feature, kind=StepDifference.STEP, value="")]
    shares = [len(runs) / size for runs, size in zip((own.failing, own.passing), sizes, strict=True)]
    estimates = [Estimate(share, *wilson_of(share, size)) for share, size in zip(shares, sizes, strict=True)]
    lift = hybrid(estimates[1], estimates[0])
    doing, lacking, size = (own.failing, own.passing, sizes[1])
    if lift.value < 0:
        doing, lacking, size = (own.passing, own.failing, sizes[0])
    does, (_, step) = next(iter(doing.items()))
    lacks = next(index for index in range(size) if index not in lacking)
    return FailingStep(
        feature,
        Counted(sizes[0], len(own.failing)),
        Counted(sizes[1], len(own.passing)),
        lift,
        p,
        median_low(place for runs in (there.failing, there.passing) for place, _ in runs.values()),
        (does, lacks) if lift.value > 0 else (lacks, does),
        step,
    )


def _seen(failing: Sequence[Sequence[TraceStep]], passing: Sequence[Sequence[TraceStep]]) -> dict[StepFeature, _Having]:
    seen: dict[StepFeature, _Having] = {}
    for side, runs in enumerate((failing, passing)):
        for index, steps in enumerate(runs):
            for feature, place in _features(steps[:MOST_READ]):
                own = seen.setdefault(feature, _Having())
                (own.passing if side else own.failing)[index] = place
    return seen


def _features(steps: Sequence[TraceStep]) -> Iterator[tuple[StepFeature, tuple[int, TraceStep]]]:
    counts: defaultdict[tuple[str, str], int] = defaultdict(int)
    for at, step in enumerate(steps):
        key = plain(step.agent)[:SHOWN], plain(step.tool)[:SHOWN]
        counts[key] += 1
        told = [(StepDifference.STEP, "")]
        told += [(StepDifference.ARGUMENTS, f"{name}: {value}"[:SHOWN]) for name, value in step.told.items()]
        if step.outcome:
            told.append((StepDifference.OUTCOME, step.outcome))
        if step.tool and step.told_result:
            told.append((StepDifference.RESULT, step.told_result[:SHOWN]))
        for kind, value in told:
            yield StepFeature(*key, counts[key], kind, value), (at, step)


def _least_p(hits: int, failing: int, passing: int) -> float:
    """The least p-value that a feature of so many runs can have: had they been those that fail, or that pass."""
    extremes = (min(hits, failing), hits - min(hits, passing))
    return min(difference_p(Counted(passing, hits - own), Counted(failing, own)) for own in extremes)
