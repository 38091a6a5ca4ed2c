"""The agent runs of a trace that LLM judges look at."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.not_judged import why_run_not_judged
from tracejury.schemas.trajectory import AgentRun, Trace, TurnKind

UNDECIDED: Final = "no model decided anything in it"
"""Why a run is no subject."""


def subjects(trace: Trace) -> tuple[AgentRun, ...]:
    """The runs in which a model decided something, and the managers of such runs.

    A run without a model's step, such as a terminal that executes another agent's code, made none of what it did: the
    run that wrote the code did. A manager that only hands its task on answers for what came of it. What a
    program asked beside its agents stands in their records.
    """
    above = {run.id: run.parent_id for run in trace.runs}
    managing: set[str] = set()
    for run in trace.runs:
        if run.parent_id and has_llm_step(run):
            at = run.parent_id
            while at and at not in managing:
                managing.add(at)
                at = above.get(at, "")
    return tuple(run for run in trace.agents if has_llm_step(run) or (not run.parent_id and run.id in managing))


def has_llm_step(run: AgentRun) -> bool:
    """Whether a model's call is recorded that is the agent's own, not one that a tool made.

    Calls of which neither texts nor tools were recorded do not count: a model is asked about nothing then.
    """
    own = [turn for turn in run.turns if turn.llm is not None and turn.kind is not TurnKind.INNER]
    return bool(own) and (any(turn.tool_calls for turn in run.turns) or why_run_not_judged(run) is None)
