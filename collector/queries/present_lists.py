"""Rows of traces, and sessions, as JSON. Pure functions; the shapes stand in shapes.py and shapes_lists.py."""

from __future__ import annotations

from typing import Final

from ...schemas.queries.listing import Exchange, SessionRow, SessionView
from ...schemas.queries.reader import TraceQuery
from ...schemas.taxonomy import Severity
from ...schemas.text.moments import iso_time
from ...schemas.wire.lists import ExchangeJson, SessionJson, SessionRowJson
from .present import present_finding, present_verdict

MILLI: Final = 1_000_000


def present_session_row(row: SessionRow) -> SessionRowJson:
    """A session in a list as JSON."""
    return {
        "session_id": row.session_id,
        "service": row.service,
        "state": row.state.value,
        "traces": row.traces,
        "turns": row.turns,
        "agents": list(row.agents),
        "start": iso_time(row.start),
        "end": iso_time(row.end),
        "duration_ms": duration_ms(row.start, row.end),
        "first_received": iso_time(row.first_received),
        "received": iso_time(row.received),
        "findings": {severity.value: row.findings.get(severity, 0) for severity in Severity},
        "tokens": row.tokens,
        "usd": row.usd,
    }


def present_session(view: SessionView) -> SessionJson:
    """A session and its conversation as JSON."""
    return {
        **present_session_row(view.session),
        "services": list(view.services),
        "exchanges": [_exchange(exchange) for exchange in view.exchanges],
        "left": view.left,
    }


def duration_ms(start: int, end: int) -> float:
    """Milliseconds between two times in unix nanos, 0 where they stand in the other order."""
    return max(0, end - start) / MILLI


def searched(query: TraceQuery) -> str | None:
    """What a text was looked for in, in one line; None where no text was asked for."""
    if not query.text.strip():
        return None
    time = "of the time asked for" if query.since or query.until else "of all times"
    return (
        f"messages, tool calls, goals and answers of complete traces {time}, names, goals and answers of open ones, "
        "findings, and ids that begin so"
    )


def _exchange(exchange: Exchange) -> ExchangeJson:
    return {
        "trace_id": exchange.trace_id,
        "agent_run_id": exchange.run_id or None,
        "agent": exchange.agent,
        "goal": exchange.goal,
        "answer": exchange.answer,
        "status": exchange.status,
        "state": exchange.state.value,
        "start": iso_time(exchange.start),
        "end": iso_time(exchange.end),
        "turns": exchange.turns,
        "usd": exchange.usd,
        "findings": [present_finding(finding) for finding in exchange.findings],
        "agents": dict(exchange.agents),
        "verdicts": [present_verdict(verdict) for verdict in exchange.verdicts],
    }
