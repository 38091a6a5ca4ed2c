"""Sessions with the verdicts of a pack's checks, saved as judging saves them."""

from __future__ import annotations

from typing import Any

from listed_traces import Listed

from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.queries.measures import MeasuredPack, PackMeasure
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import (
    JudgedSubject,
    Judgement,
    Outcome,
    Subject,
    SubjectKind,
    Verdict,
    session_subject_id,
)

STATES, POLICY = "demo-state", "demo-policy"
TASK_KEYS = ("tracejury.task.id", "task_id")
PACK = MeasuredPack(
    "demo",
    "Demo pack",
    (
        PackMeasure("S", STATES, "State consistency", "Share of states that are consistent."),
        PackMeasure("P", POLICY, "Policy adherence", "Share of policies that were kept."),
    ),
    STATES,
)


def an_item(**changes: Any) -> ItemAnswer:
    """An item at its best answer."""
    fields: dict[str, Any] = {"item": "looks up the order", "answer": "yes", "best": True}
    return ItemAnswer(**fields | changes)


def of_session(service: str, session_id: str) -> Subject:
    return Subject(SubjectKind.SESSION, session_subject_id(service, session_id), "")


def of_exchange(trace: Listed, turn: int = 0) -> Subject:
    """The exchange of the planner's run that begins with that turn."""
    return Subject(SubjectKind.EXCHANGE, f"p:{turn}-{turn}", trace.trace_id)


def a_value(judge: str, subject: Subject, part: float | None, of: float = 1, **changes: Any) -> Verdict:
    """The verdict `part` of `of`; None: not applicable."""
    value = None if part is None else part / of
    fields: dict[str, Any] = {
        "judge": judge, "version": "v1", "subject": subject, "score": None, "model": "m", "value": value,
        "not_applicable": value is None, "numerator": part or 0.0, "denominator": 0.0 if part is None else of,
    }  # fmt: skip
    return Verdict(**{"raw": fields["value"]} | fields | changes)


def save(store: SharedStore, *verdicts: Verdict, received: int, judged_at: int = 1) -> None:
    """Store verdicts with their ledger entries."""
    judgements = tuple(
        Judgement(
            v.subject, v.judge, v.version, f"hash-{judged_at}", judged_at, received, Outcome.DONE, verdicts=(v,),
            probability=v.sampling_probability, model=v.model,
        )
        for v in verdicts
    )  # fmt: skip
    StoredLlmJudging(store).save([JudgedSubject(TraceState.SETTLED, judgements)])
