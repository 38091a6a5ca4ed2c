"""Sessions as models of the API. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from ...schemas.queries.listing import SessionRow, SessionView
from ...schemas.queries.reader import TraceQuery
from ...schemas.taxonomy import Severity
from ...schemas.wire.base import fill
from ...schemas.wire.lists import ExchangeJson, SessionJson, SessionRowJson

MILLI: Final = 1_000_000


def present_session_row(row: SessionRow) -> SessionRowJson:
    """A session in a list."""
    return fill(SessionRowJson, row, **_of_session(row))


def present_session(view: SessionView) -> SessionJson:
    """A session and its conversation."""
    return fill(
        SessionJson,
        view.session,
        services=list(view.services),
        exchanges=[fill(ExchangeJson, exchange, agent_run_id=exchange.run_id) for exchange in view.exchanges],
        left=view.left,
        **_of_session(view.session),
    )


def severity_counts(findings: Mapping[Severity, int]) -> dict[str, int]:
    """The number of findings of every severity."""
    return {severity.value: findings.get(severity, 0) for severity in Severity}


def duration_ms(start: int, end: int) -> float:
    """Milliseconds between two times in unix nanos, 0 where they stand in the other order."""
    return max(0, end - start) / MILLI


def searched(query: TraceQuery) -> str | None:
    """The description of the searched fields, in one line; None where no text was asked for."""
    if not query.text.strip():
        return None
    time = "of the time asked for" if query.since or query.until else "of all times"
    return (
        f"messages, tool calls, goals and answers of complete traces {time}, names, goals and answers of open ones, "
        "findings, and ids that begin so"
    )


def _of_session(row: SessionRow) -> dict[str, object]:
    return {"findings": severity_counts(row.findings), "duration_ms": duration_ms(row.start, row.end)}
