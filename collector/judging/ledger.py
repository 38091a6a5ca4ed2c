"""What earlier judgements say of the runs of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...schemas.verdicts import LedgerKey, LedgerRecord, Outcome, SubjectKind


def run_of(key: LedgerKey) -> str:
    """The run that a word is about; a window's subject id is its run's, a colon and its turns."""
    kind, subject_id, _ = key
    return subject_id.rpartition(":")[0] if kind == SubjectKind.TURN_WINDOW else subject_id


def stands(word: LedgerRecord) -> bool:
    """Whether it was not taken back."""
    return word.outcome is not Outcome.SUPERSEDED


def elsewhere(ledgers: Iterable[Mapping[LedgerKey, LedgerRecord]]) -> dict[LedgerKey, LedgerRecord]:
    """What stands in any of these ledgers, the latest word of each, and of windows also what stands no more."""
    found: dict[LedgerKey, LedgerRecord] = {}
    for ledger in ledgers:
        for key, word in ledger.items():
            if (stands(word) or key[0] == SubjectKind.TURN_WINDOW) and (
                key not in found or found[key].judged_at < word.judged_at
            ):
                found[key] = word
    return found
