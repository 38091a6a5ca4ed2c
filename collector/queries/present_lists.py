"""Sessions as models of the API. Pure functions."""

from __future__ import annotations

from typing import Final

from tracejury.schemas.queries.conversation import SessionExchange, SessionView
from tracejury.schemas.queries.listing import SessionRow
from tracejury.schemas.queries.reader import TraceQuery, TraceRow
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.lists import ExchangeJson, SessionJson, SessionRowJson

from .present_errors import present_error

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
        exchanges=[_exchange(exchange) for exchange in view.exchanges],
        left=view.left,
        verdicts=list(view.verdicts),
        progress=list(view.progress),
        **_of_session(view.session),
    )


def listed_errors(row: TraceRow | SessionRow) -> dict[str, object]:
    """The errors of a row in a list; `findings` counted them before there was `errors`."""
    counts = {severity.value: row.errors.get(severity, 0) for severity in Severity}
    return {"errors": counts, "findings": counts, "worst_error": row.worst}


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
    return {**listed_errors(row), "duration_ms": duration_ms(row.start, row.end)}


def _exchange(exchange: SessionExchange) -> ExchangeJson:
    errors = [present_error(located) for located in exchange.errors]
    return fill(ExchangeJson, exchange, agent_run_id=exchange.run_id, errors=errors)
