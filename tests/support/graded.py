"""Grades of agent runs by the seven GPA judges, saved as judging saves them."""

from __future__ import annotations

from listed_traces import Listed

from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.criteria import GPA_JUDGES
from tracejury.schemas.taxonomy import Dimension
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

NONE_DUE, FAILED = "none due", "failed"


def graded(store: SharedStore, trace: Listed, run: str = "p", *, probability: float = 1.0, **grades: int | str) -> None:
    """Store the grades of a run by the letters of their judges, with their ledger entries."""
    subject = Subject(SubjectKind.AGENT_RUN, run, trace.trace_id)
    words = []
    for code, grade in grades.items():
        score = grade if isinstance(grade, int) else None
        judge, why = GPA_JUDGES[Dimension(code)], "no answer" if grade == FAILED else ""
        verdict = Verdict(judge, "v1", subject, score, "m", grade == NONE_DUE, why, sampling_probability=probability)
        outcome = {NONE_DUE: Outcome.NOT_APPLICABLE, FAILED: Outcome.FAILED}.get(str(grade), Outcome.DONE)
        row = Judgement(
            subject, judge, "v1", "hash", 1, trace.received, outcome, verdicts=(verdict,), probability=probability
        )
        words.append(row)
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, tuple(words))])
