"""Runs and exchanges that moved, no longer exist or are no subjects: their entries and scores are withdrawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from tracejury.collector.judging.ledger import run_of
from tracejury.judges.llm.selection import Decision
from tracejury.judges.llm.subjects import UNDECIDED
from tracejury.schemas.trajectory import Trace
from tracejury.schemas.verdicts import (
    TAKEN_BACK,
    Judgement,
    LedgerKey,
    LedgerRecord,
    Outcome,
    Subject,
    SubjectKind,
    Verdict,
)

_GONE: Final = "it is part of another run or trace now"
_MOVED: Final = "was to be judged where it showed before"
_LEFT_OUT: Final = frozenset({Outcome.SAMPLED_OUT, Outcome.FILTERED})


def with_earlier_draw(decision: Decision, run_id: str, before: Mapping[LedgerKey, LedgerRecord]) -> Decision:
    """The decision, unless the run was sampled before: a run is drawn once, wherever it shows.

    `before`: what stands of it elsewhere. What a policy says of its errors goes before that.
    """
    words = [w for key, w in before.items() if key[0] == SubjectKind.AGENT_RUN and run_of(key) == run_id]
    if not words or (decision.outcome is Outcome.PENDING and decision.reason):
        return decision
    chosen = [w for w in words if w.outcome not in _LEFT_OUT]
    if chosen:
        return replace(decision, outcome=Outcome.PENDING, reason=_MOVED, probability=chosen[0].probability)
    drawn = [w for w in words if w.outcome is Outcome.SAMPLED_OUT]
    if drawn and decision.outcome is Outcome.PENDING:
        return replace(decision, outcome=Outcome.SAMPLED_OUT, reason=drawn[0].reason, probability=drawn[0].probability)
    return decision


def withdrawn(words: Mapping[LedgerKey, LedgerRecord], trace: Trace, now: int) -> tuple[Judgement, ...]:
    """Entries that supersede these at `trace`, each with a verdict that withdraws the score."""
    return tuple(_withdrawn(key, word, trace, max(now, word.judged_at + 1)) for key, word in words.items())


def _withdrawn(key: LedgerKey, word: LedgerRecord, trace: Trace, now: int) -> Judgement:
    kind, subject_id, judge = key
    subject = Subject(SubjectKind(kind), subject_id, trace.trace_id, trace.tenant)
    blank = Verdict(judge, word.version, subject, None, unscored_reason=TAKEN_BACK, sampling_probability=0.0)
    return Judgement(
        subject=subject,
        judge=judge,
        version=word.version,
        input_hash=word.input_hash,
        judged_at=now,
        received_through=trace.received_through,
        outcome=Outcome.SUPERSEDED,
        verdicts=() if subject.kind is SubjectKind.TURN_WINDOW else (blank,),
        reason=UNDECIDED if trace.run(run_of(key)) else _GONE,
        probability=word.probability,
    )
