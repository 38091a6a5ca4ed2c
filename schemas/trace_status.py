"""How a trace or session stands, in words that need no glossary: of its state, and of whether judges looked at it."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from .trajectory import TraceState


class TraceStatus(StrEnum):
    """How a trace or session stands; PARTLY_JUDGED is of sessions alone. Errors are counted beside it."""

    RUNNING = "running"
    FAILED = "failed"
    NOT_JUDGED = "not-judged"
    PARTLY_JUDGED = "partly-judged"
    INCOMPLETE = "incomplete"
    OK = "ok"

    @property
    def words(self) -> str:
        """The status for people."""
        return self.replace("-", " ")


def status_of(state: TraceState, unjudged: int, traces: int = 1) -> TraceStatus:
    """The status of `traces`, of one session where they are several, `unjudged` of which no judge has looked at.

    A run of a manager that failed is known without a judge; whatever else was not judged is not `ok`.
    """
    if state in _BY_STATE:
        return _BY_STATE[state]
    if unjudged:
        return TraceStatus.PARTLY_JUDGED if unjudged < traces else TraceStatus.NOT_JUDGED
    return TraceStatus.INCOMPLETE if state is TraceState.INCOMPLETE else TraceStatus.OK


_BY_STATE: Final = {TraceState.OPEN: TraceStatus.RUNNING, TraceState.FAILED: TraceStatus.FAILED}


def status_sql(state: str, unjudged: str, traces: str = "1") -> str:
    """`status_of` as an expression of ClickHouse, of expressions."""
    return (
        f"multiIf({state} = '{TraceState.OPEN}', '{TraceStatus.RUNNING}', "
        f"{state} = '{TraceState.FAILED}', '{TraceStatus.FAILED}', "
        f"{unjudged} >= {traces}, '{TraceStatus.NOT_JUDGED}', {unjudged} > 0, '{TraceStatus.PARTLY_JUDGED}', "
        f"{state} = '{TraceState.INCOMPLETE}', '{TraceStatus.INCOMPLETE}', '{TraceStatus.OK}')"
    )
