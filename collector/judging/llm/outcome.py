"""From what the judges said of a run to what must be stored: findings, verdicts, and a row of the ledger a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from ....judges.llm.case import Case, Deliberation
from ....schemas.findings import LIVE, Finding, FindingState
from ....schemas.llm_rows import LedgerRow
from ....schemas.trajectory import Trace, TraceState
from ....schemas.verdicts import JudgedSubject, Judgement, Outcome, Subject, SubjectKind, Verdict
from ..detect.outcome import compare
from .judge_queue import JudgeTask

Versions = Mapping[str, str]
"""Of each judge."""


@dataclass(frozen=True, slots=True)
class StoredJudgements:
    """What the store has of a trace's LLM judging: `findings` of any state, `windows`: rows of the ledger to close."""

    findings: tuple[Finding, ...] = ()
    windows: tuple[Judgement, ...] = ()


def closing(
    entry: JudgeTask, case: Case, said: Deliberation, stored: StoredJudgements, versions: Versions, now: int
) -> JudgedSubject:
    """The closing pass: what holds is current, the rest of the run is retracted, its windows are superseded.

    A judge that gave no answer retracts nothing: its failure is not a verdict.
    """
    silent = set(said.failures)
    heard = [judge for judge in entry.judges if judge not in silent]
    ours = [f for f in stored.findings if f.judge in heard]
    before = {f.id: f for f in ours if f.agent_run_id == entry.run_id or _stray(f, case.trace)}
    change = compare(
        [f for f in said.findings if f.judge in heard],
        before,
        FindingState.CURRENT,
        now,
        (*case.hints, *stored.findings),
    )
    by_judge = {v.judge: v for v in said.verdicts}
    subject = Subject(SubjectKind.AGENT_RUN, entry.run_id, case.trace.trace_id, case.trace.tenant)
    rows = [
        _row(entry, case.trace, subject, judge, versions[judge], now, said, by_judge.get(judge), change.findings)
        for judge in entry.judges
    ]
    closed = [
        replace(w, outcome=Outcome.SUPERSEDED, reason="by the closing pass", judged_at=now) for w in stored.windows
    ]
    return JudgedSubject(case.trace.state, (*closed, *_counted(rows, said)), change.written, change.retracted)


def window(
    entry: JudgeTask,
    case: Case,
    span: tuple[int, int],
    said: Deliberation,
    stored: Sequence[Finding],
    versions: Versions,
    now: int,
) -> JudgedSubject:
    """A window or a plan: what was found is provisional, and takes nothing back. `span`: indices of its turns."""
    own = {f.id: f for f in stored if f.agent_run_id == entry.run_id}
    # What a closing pass has confirmed before a late span re-opened the run stays confirmed.
    new = [f for f in said.findings if f.id not in own or own[f.id].state is not FindingState.CURRENT]
    change = compare(
        new, {i: f for i, f in own.items() if f.id in {n.id for n in new}}, FindingState.PROVISIONAL, now, stored
    )
    subject = Subject(
        SubjectKind.TURN_WINDOW, f"{entry.run_id}:{span[0]}-{span[1]}", case.trace.trace_id, case.trace.tenant
    )
    judges = case.judges
    rows = [
        _row(entry, case.trace, subject, judge, versions[judge], now, said, None, change.findings) for judge in judges
    ]
    return JudgedSubject(case.trace.state, _counted(rows, said), change.written)


def unjudged(entry: JudgeTask, outcome: Outcome, reason: str, versions: Versions, now: int) -> JudgedSubject:
    """The run has no judgement, and why."""
    tenant, trace_id = entry.key
    subject = Subject(SubjectKind.AGENT_RUN, entry.run_id, trace_id, tenant)
    rows = (
        Judgement(
            subject=subject,
            judge=judge,
            version=versions[judge],
            input_hash=entry.content,
            judged_at=now,
            received_through=entry.received_through,
            outcome=outcome,
            reason=reason,
            probability=entry.probability,
        )
        for judge in entry.judges
    )
    return JudgedSubject(TraceState.SETTLED, tuple(rows))


def renewed(rows: Iterable[LedgerRow], versions: Versions, now: int) -> Iterator[JudgedSubject]:
    """What an earlier version of a judge left pending is pending for the version that sits now, if any does."""
    for row in rows:
        version = versions.get(row.judge, "")
        if version == row.version:
            continue
        why = "by another version of the judge" if version else "the judge sits no longer"
        old = replace(judgement_of(row), judged_at=max(now, row.judged_at + 1), outcome=Outcome.SUPERSEDED, reason=why)
        new = (replace(old, version=version, outcome=Outcome.PENDING, reason=""),) if version else ()
        yield JudgedSubject(TraceState.SETTLED, (old, *new))


def judgement_of(row: LedgerRow) -> Judgement:
    """The judgement behind a row of the ledger, without what it found."""
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


def _counted(rows: Sequence[Judgement], said: Deliberation) -> tuple[Judgement, ...]:
    """Claims that were dropped belong to the call, not to one judge: the first row counts them."""
    return tuple(replace(r, dropped=0 if at else sum(said.dropped.values())) for at, r in enumerate(rows))


def _stray(finding: Finding, trace: Trace) -> bool:
    """Whether it stands at a run that late spans have made part of another."""
    return finding.state in LIVE and trace.run(finding.agent_run_id) is None


def _row(
    entry: JudgeTask,
    trace: Trace,
    subject: Subject,
    judge: str,
    version: str,
    now: int,
    said: Deliberation,
    verdict: Verdict | None,
    findings: Iterable[Finding],
) -> Judgement:
    failure = said.failures.get(judge, "")
    if failure:
        outcome, reason = Outcome.FAILED, failure
    elif verdict is not None and verdict.not_applicable:
        outcome, reason = Outcome.NOT_APPLICABLE, verdict.reasons
    else:
        outcome, reason = (Outcome.CACHED if said.known else Outcome.DONE), ""
    return Judgement(
        subject=subject,
        judge=judge,
        version=version,
        input_hash=entry.content,
        judged_at=now,
        received_through=trace.received_through,
        outcome=outcome,
        findings=tuple(f for f in findings if f.judge == judge),
        verdicts=(verdict,) if verdict is not None else (),
        reason=reason,
        probability=entry.probability,
        model=", ".join(said.models),
    )
