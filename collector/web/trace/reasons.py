"""Why an agent run has no score: what the ledger of LLM judges says of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ....schemas.verdicts import Outcome
from ...queries.trace.trace_queries import TraceQueries
from .view import TracePageView

_SPOKEN: Final = (Outcome.DONE, Outcome.CACHED)


def unscored(trace_queries: TraceQueries, view: TracePageView) -> Sequence[tuple[str, str]]:
    """(outcome, reason) of the judges' last words of the run that is selected, each once; empty where it has a score.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    kind, _, run_id = view.selected.partition(":")
    if kind != "run" or view.verdicts.get(run_id):
        return ()
    words = [word for word in trace_queries.ledger_rows(view.outline) if word.subject_id == run_id]
    return sorted({(word.outcome.value, word.reason) for word in words if word.outcome not in _SPOKEN})
