"""Whether the outcome of a trace is known to be wrong, by the first source that decides it. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final

from tracejury.judges.llm.criteria_types import GPA_JUDGES
from tracejury.judges.llm.subjects import subjects
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.trajectory import AgentRun, Trace
from tracejury.schemas.verdicts import SubjectKind, Verdict

GOAL: Final = GPA_JUDGES[Dimension.GOAL_FULFILMENT]
"""The judge that tells whether a manager did what it was asked."""

MOST_WRONG: Final = 1
"""The score of goal fulfilment up to which an outcome is wrong; 2 of 3 misses a detail."""

_BEST: Final = 3


def wrong_outcome(trace: Trace, verdicts: Iterable[Verdict], completion: Collection[str] = ()) -> str:
    """Why the outcome is known to be wrong, in one line; "" where it is right, or nobody knows.

    Sources in order: the `completion` checks of packs on the trace as a session of its own, which follow what the
    agent's program states; the run that answered last, if it failed or has no answer; goal fulfilment of that run.
    """
    said = list(verdicts)
    for one in said:
        if one.judge in completion and one.subject.kind is SubjectKind.SESSION and one.value is not None:
            reasons = "; ".join(item.reason for item in one.items if not item.best)
            return "" if one.value == 1 else f"the task was not completed: {reasons or one.reasons}"
    last = _last(trace)
    if last is None:
        return ""
    if last.status == "error":
        return "the run ended with an error"
    if last.status == "unfinished" and not last.answer:
        return "the run ended without an answer"
    for one in said:
        if one.judge == GOAL and one.subject.id == last.id and one.score is not None and one.score <= MOST_WRONG:
            return f"goal fulfilment {one.score} of {_BEST}: {one.reasons}".rstrip(": ")
    return ""


def _last(trace: Trace) -> AgentRun | None:
    """The last run that nobody started but a user; one in which no model spoke answered nobody, if others did."""
    judged = {run.id for run in subjects(trace)}
    own = [run for run in reversed(trace.agents) if not run.parent_id]
    return next((run for run in own if run.id in judged), own[0] if own else None)
