"""New entries of the ledger of LLM judges, for a subject as it is now."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from tracejury.judges.llm.selection import Decision
from tracejury.schemas.verdicts import Judgement, LedgerKey, LedgerRecord, Outcome, Subject

AGAIN: Final = "asked for again after it failed"
"""The reason of a pending entry that bypasses the answer cache: the cached answer may have caused the failure."""

RETRIED: Final = frozenset({Outcome.FAILED, Outcome.OVER_BUDGET})
"""Outcomes that are judged again on a request to catch up."""
_GONE_BY: Final = Decision(Outcome.SUPERSEDED, "it has changed since", 0.0)


@dataclass(frozen=True, slots=True)
class Revision:
    """A subject as it is now. `content`: hash of what a judge sees of it; `received_through`: unix nanos."""

    subject: Subject
    content: str
    received_through: int


def new_entries(
    revision: Revision,
    versions: Mapping[str, str],
    ledger: Mapping[LedgerKey, LedgerRecord],
    now: int,
    decide: Callable[[], Decision],
    *,
    by_hand: bool | None,
) -> Iterator[Judgement]:
    """The entries of the judges (`versions`, by name) for which this is a new revision, or who are asked again.

    `decide` is called once, where there is any. `by_hand` is None without a request, False to catch up.
    """
    decision: Decision | None = None
    for judge, version in versions.items():
        old = ledger.get((revision.subject.kind, revision.subject.id, judge))
        if old is not None and old.outcome is Outcome.SUPERSEDED:
            old = None
        if old is not None and old.input_hash == revision.content and not _again(old, version, by_hand=by_hand):
            continue
        decision = decision or decide()
        decided = decision
        if decision.judges and judge not in decision.judges:
            decided = Decision(Outcome.FILTERED, "not among the judges that the policy names for it", 0.0)
        elif decision.outcome is Outcome.PENDING and old is not None and old.outcome is Outcome.FAILED:
            decided = replace(decision, reason=AGAIN)
        changed = old is not None and (old.version, old.input_hash) != (version, revision.content)
        if old is not None and changed and old.outcome is Outcome.PENDING:
            yield _entry(revision, judge, old.version, old.input_hash, now, _GONE_BY)
        yield _entry(revision, judge, version, revision.content, now, decided)


def keyed(rows: Iterable[Judgement]) -> dict[LedgerKey, LedgerRecord]:
    """Entries by their place in a ledger."""
    return {(row.subject.kind, row.subject.id, row.judge): row for row in rows}


def _again(old: LedgerRecord, version: str, *, by_hand: bool | None) -> bool:
    """Whether a subject that has not changed since is to be judged again; `by_hand` is None without a request."""
    if by_hand is None:
        return False
    if by_hand:
        return old.outcome is not Outcome.PENDING
    if old.outcome in (Outcome.SAMPLED_OUT, Outcome.FILTERED):
        return False
    return old.outcome in RETRIED or (old.version != version and old.outcome is not Outcome.PENDING)


def _entry(revision: Revision, judge: str, version: str, content: str, now: int, decision: Decision) -> Judgement:
    return Judgement(
        subject=revision.subject,
        judge=judge,
        version=version,
        input_hash=content,
        judged_at=now,
        received_through=revision.received_through,
        outcome=decision.outcome,
        reason=decision.reason,
        probability=decision.probability,
    )
