"""Cases for the judges, made of small traces: transcript, plans and panel as in production."""

from __future__ import annotations

from typing import Any

from tracejury.judges.llm.case import Case, Stage
from tracejury.judges.llm.criteria import load_set
from tracejury.judges.llm.members import LlmJudges, Mode, llm_judges_of
from tracejury.processors.transcript import plan_views, transcribe
from tracejury.schemas.trajectory import Trace


def panel(*names: str, mode: Mode = "panel", criteria: str = "production") -> LlmJudges:
    """A panel of a built-in set: all of its judges, or those named."""
    return llm_judges_of(load_set(criteria), "scripted", names, mode=mode)


def case(whole: Trace, sitting: LlmJudges, stage: Stage = Stage.CLOSING, **changes: Any) -> Case:
    """The first run of `whole` before all judges of its runs; `changes` are fields of the case."""
    run = whole.runs[0]
    transcript = transcribe(whole, run)
    judges = tuple(judge.name for judge in sitting.of_run(run.role))
    fields: dict[str, Any] = {
        "trace": whole,
        "run": run,
        "transcript": transcript,
        "judges": judges,
        "stage": stage,
        "plans": plan_views(run, transcript),
    }
    return Case(**fields | changes)
