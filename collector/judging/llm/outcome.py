"""Rows of an answer: findings, verdicts, and one ledger entry for each judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tracejury.collector.judging.pipeline import compare
from tracejury.judges.llm.case import Case, Deliberation
from tracejury.schemas.findings import LIVE, Finding, FindingState
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.trajectory import Trace, TraceState
from tracejury.schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict

from .judge_queue import JudgeTask

Versions = Mapping[str, str]
"""Of each judge."""


@dataclass(frozen=True, slots=True)
class StoredJudgements:
    """Earlier LLM judgements of a trace: `findings` of any state, `windows`: ledger entries to close."""

    findings: tuple[Finding, ...] = ()
    windows: tuple[Judgement, ...] = ()


def closing(
    task: JudgeTask, case: Case, said: Deliberation, stored: StoredJudgements, versions: Versions, now: int
) -> JudgedSubject:
    """The result of a closing pass: what holds is current, the rest is retracted, windows are superseded.

    A judge that gave no answer retracts nothing: its failure is not a verdict.
    """
    silent = set(said.failures)
    answered = [judge for judge in task.judges if judge not in silent]
    ours = [f for f in stored.findings if f.judge in answered]
    before = {f.id: f for f in ours if f.agent_run_id == task.subject_id or _stray(f, case.trace)}
    change = compare(
        [f for f in said.findings if f.judge in answered],
        before,
        FindingState.CURRENT,
        now,
        (*case.detected, *stored.findings),
    )
    subject = Subject(SubjectKind.AGENT_RUN, task.subject_id, case.trace.trace_id, case.trace.tenant)
    rows = _judged(task, case.judges, case.trace.received_through, subject, said, change.findings, versions, now)
    closed = [
        replace(w, outcome=Outcome.SUPERSEDED, reason="by the closing pass", judged_at=now) for w in stored.windows
    ]
    return JudgedSubject(case.trace.state, (*closed, *rows), change.written, change.retracted)


def window(
    task: JudgeTask,
    case: Case,
    span: tuple[int, int],
    said: Deliberation,
    stored: Sequence[Finding],
    versions: Versions,
    now: int,
) -> JudgedSubject:
    """The result of a window or a plan: findings are provisional, none is retracted. `span`: indices of its turns."""
    own = {f.id: f for f in stored if f.agent_run_id == task.subject_id}
    # What a closing pass has confirmed before a late span re-opened the run stays confirmed.
    new = [f for f in said.findings if f.id not in own or own[f.id].state is not FindingState.CURRENT]
    change = compare(
        new, {i: f for i, f in own.items() if f.id in {n.id for n in new}}, FindingState.PROVISIONAL, now, stored
    )
    subject = Subject(
        SubjectKind.TURN_WINDOW, f"{task.subject_id}:{span[0]}-{span[1]}", case.trace.trace_id, case.trace.tenant
    )
    rows = _judged(task, case.judges, case.trace.received_through, subject, said, change.findings, versions, now)
    return JudgedSubject(case.trace.state, rows, change.written)


def checked(
    task: JudgeTask,
    subject: Subject,
    state: TraceState,
    said: Deliberation,
    stored: Iterable[Finding],
    others: Iterable[Finding],
    versions: Versions,
    now: int,
) -> JudgedSubject:
    """The result of checks of an exchange or a session, whose trace is in `state`.

    `stored`: earlier findings of these judges in the subject, of any state; `others`: those of other judges. A judge
    that gave no answer retracts nothing.
    """
    silent = set(said.failures)
    before = {f.id: f for f in stored if f.judge in task.judges and f.judge not in silent}
    standing = FindingState.PROVISIONAL if state is TraceState.OPEN else FindingState.CURRENT
    change = compare(said.findings, before, standing, now, others)
    rows = _judged(task, task.judges, task.received_through, subject, said, change.findings, versions, now)
    return JudgedSubject(state, rows, change.written, change.retracted)


def unjudged(task: JudgeTask, outcome: Outcome, reason: str, versions: Versions, now: int) -> JudgedSubject:
    """Entries that say why a subject has no judgement."""
    tenant, trace_id = task.key
    subject = Subject(task.kind, task.subject_id, trace_id, tenant)
    rows = (
        _row(task, subject, judge, versions, now, outcome, received_through=task.received_through, reason=reason)
        for judge in task.judges
    )
    return JudgedSubject(TraceState.SETTLED, tuple(rows))


def renewed(rows: Iterable[LedgerRow], versions: Versions, now: int) -> Iterator[JudgedSubject]:
    """Entries that make what another version of a judge left pending, pending for the configured version, if any."""
    for row in rows:
        version = versions.get(row.judge, "")
        if version == row.version:
            continue
        why = "by another version of the judge" if version else "the judge sits no longer"
        old = replace(judgement_of(row), judged_at=max(now, row.judged_at + 1), outcome=Outcome.SUPERSEDED, reason=why)
        new = (replace(old, version=version, outcome=Outcome.PENDING, reason=""),) if version else ()
        yield JudgedSubject(TraceState.SETTLED, (old, *new))


def judgement_of(row: LedgerRow) -> Judgement:
    """The judgement of a ledger entry, without its findings."""
    return Judgement(
        subject=Subject(row.kind, row.subject_id, row.trace_id, row.tenant),
        judge=row.judge,
        version=row.version,
        input_hash=row.input_hash,
        judged_at=row.judged_at,
        received_through=row.received_through,
        outcome=row.outcome,
        reason=row.reason,
        probability=row.probability,
        model=row.model,
    )


def _stray(finding: Finding, trace: Trace) -> bool:
    """Whether it stands at a run that late spans have made part of another."""
    return finding.state in LIVE and trace.run(finding.agent_run_id) is None


def _judged(
    task: JudgeTask,
    judges: Sequence[str],
    received_through: int,
    subject: Subject,
    said: Deliberation,
    findings: Sequence[Finding],
    versions: Versions,
    now: int,
) -> tuple[Judgement, ...]:
    """A row for each of the judges. Dropped claims belong to the call, not to one judge: the first row has them."""
    verdicts = {} if subject.kind is SubjectKind.TURN_WINDOW else {v.judge: v for v in said.verdicts}
    dropped = sum(said.dropped.values())
    rows: list[Judgement] = []
    for judge in judges:
        verdict = verdicts.get(judge)
        outcome, reason = _outcome(said, judge, verdict)
        rows.append(
            _row(
                task,
                subject,
                judge,
                versions,
                now,
                outcome,
                received_through=received_through,
                findings=tuple(f for f in findings if f.judge == judge),
                verdicts=(verdict,) if verdict is not None else (),
                dropped=0 if rows else dropped,
                reason=reason,
                model=", ".join(said.models),
            )
        )
    return tuple(rows)


def _outcome(said: Deliberation, judge: str, verdict: Verdict | None) -> tuple[Outcome, str]:
    if failure := said.failures.get(judge, ""):
        return Outcome.FAILED, failure
    if verdict is not None and verdict.not_applicable:
        return Outcome.NOT_APPLICABLE, verdict.reasons
    return (Outcome.CACHED if said.known else Outcome.DONE), said.notes.get(judge, "")


def _row(
    task: JudgeTask, subject: Subject, judge: str, versions: Versions, now: int, outcome: Outcome, **said: Any
) -> Judgement:
    return Judgement(
        subject=subject,
        judge=judge,
        version=versions[judge],
        input_hash=task.content,
        judged_at=now,
        outcome=outcome,
        probability=task.probability,
        **said,
    )
