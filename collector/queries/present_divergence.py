"""Compared traces as models of the API, and the sentence that people read. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from tracejury.judges.divergence.aligning import Alignment, StepDifference, StepPair
from tracejury.judges.divergence.failing import FailingStep
from tracejury.judges.divergence.steps import TraceStep
from tracejury.schemas.text.counting import counted
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.divergence import (
    ComparedTraceJson,
    ComparedTracesJson,
    FailingStepJson,
    StepPairJson,
    TraceStepJson,
)

LONGEST: Final = 2_000
"""Characters of arguments, results and questions."""
MOST_PAIRS: Final = 1_000
_BEFORE: Final = 100
"""Pairs before the first difference that are shown where there are more than `MOST_PAIRS`."""


def present_traces(first: Trace, second: Trace, alignment: Alignment) -> ComparedTracesJson:
    """Two traces; of more than `MOST_PAIRS` pairs those about the first difference."""
    begin = max(0, alignment.at - _BEFORE) if len(alignment.pairs) > MOST_PAIRS else 0
    shown = alignment.pairs[begin : begin + MOST_PAIRS]
    return ComparedTracesJson(
        first=_trace(first),
        second=_trace(second),
        divergence=_pair(alignment.divergence) if alignment.divergence else None,
        at=alignment.at,
        pairs=[_pair(one) for one in shown],
        left=alignment.left + _steps(alignment.pairs) - _steps(shown),
    )


def present_failing(found: FailingStep) -> FailingStepJson:
    """The step where failing runs do otherwise."""
    failing, passing = round(found.failing.hits), round(found.passing.hits)
    return fill(
        FailingStepJson, found,
        agent=found.step.agent, tool=found.step.tool, nth=found.feature.nth, kind=found.feature.kind.value,
        value=found.feature.value, failing=failing, passing=passing, step=_step(found.step), told=_told(found),
    )  # fmt: skip


def _told(found: FailingStep) -> str:
    """Such as "12 of 14 failing runs and 2 of 20 passing ones: call 1 of book by agent with days: 30".

    Its parts are texts of spans: for a page or terminal they are to be made safe.
    """
    one, a, b = found.feature, found.failing, found.passing
    what = f"call {one.nth} of {found.step.tool}" if one.tool else f"answer {one.nth}"
    by = f" by {found.step.agent}" if found.step.agent else ""
    words = {StepDifference.STEP: "", StepDifference.ARGUMENTS: " with ", StepDifference.RESULT: " brings "}
    runs = f"{a.hits:.0f} of {counted(round(a.units), 'failing run')} and {b.hits:.0f} of {b.units:.0f} passing ones"
    return f"{runs}: {what}{by}{words.get(one.kind, ': ')}{one.value}"


def _trace(trace: Trace) -> ComparedTraceJson:
    asked = trace.agents[0].goal if trace.agents else ""
    return fill(ComparedTraceJson, trace, asked=asked[:LONGEST])


def _steps(pairs: Sequence[StepPair]) -> int:
    return sum((pair.first is not None) + (pair.second is not None) for pair in pairs)


def _pair(pair: StepPair) -> StepPairJson:
    first, second = (_step(one) if one else None for one in (pair.first, pair.second))
    return StepPairJson(first=first, second=second, difference=pair.difference)


def _step(step: TraceStep) -> TraceStepJson:
    return fill(TraceStepJson, step, arguments=step.arguments[:LONGEST], result=step.result[:LONGEST])
