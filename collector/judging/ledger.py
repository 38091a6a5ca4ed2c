"""Ledger entries of the runs of a trace."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tracejury.schemas.verdicts import LedgerKey, LedgerRecord, Outcome, SubjectKind


def run_of(key: LedgerKey) -> str:
    """Id of the run that an entry is about; a window's subject id is its run's, a colon and its turns."""
    kind, subject_id, _ = key
    return subject_id.rpartition(":")[0] if kind == SubjectKind.TURN_WINDOW else subject_id


def stands(word: LedgerRecord) -> bool:
    """Whether the entry is not superseded."""
    return word.outcome is not Outcome.SUPERSEDED


def elsewhere(ledgers: Iterable[Mapping[LedgerKey, LedgerRecord]]) -> dict[LedgerKey, LedgerRecord]:
    """The latest entry of each key in these ledgers that is not superseded; of windows, superseded ones, too."""
    found: dict[LedgerKey, LedgerRecord] = {}
    for ledger in ledgers:
        for key, word in ledger.items():
            if (stands(word) or key[0] == SubjectKind.TURN_WINDOW) and (
                key not in found or found[key].judged_at < word.judged_at
            ):
                found[key] = word
    return found
