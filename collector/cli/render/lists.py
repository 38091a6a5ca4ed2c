"""Sessions for people, from the JSON of the API. What came from spans is plain text, made safe, never markup."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from tracejury.schemas.list_columns import (
    COLUMNS_OF_ERRORS,
    COLUMNS_OF_SESSIONS,
    COLUMNS_OF_TRACES,
    ListColumn,
    chosen_columns,
)
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name, agent_names, error_place
from tracejury.schemas.text.scores import score_words
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.lists import CheckProgressJson, ExchangeJson, SessionJson, SessionRowJson
from tracejury.schemas.wire.traces import TraceRowJson, VerdictJson

from .tables import SHORT, content, counts, error_details, headline, moment, rows_table, status_text, worst

SAID: Final = 2_000
"""Characters of a message that a terminal shows; the JSON has the whole."""
QUESTION: Final = 60
"""Characters of a question in a table."""
_MINUTE: Final = 60
_HOUR: Final = 3600


def traces_table(rows: Sequence[TraceRowJson], columns: Iterable[str] = ()) -> RenderableType:
    """A line a trace. Raises ConfigError for a column that there is not."""
    return _chosen_rows(
        rows,
        "no traces",
        COLUMNS_OF_TRACES,
        columns,
        {
            "trace": lambda r: content(r.trace_id),
            "received": lambda r: moment(r.received),
            "service": lambda r: content(r.service, 40),
            "agents": lambda r: content(agent_names(r.agents), 50),
            "question": lambda r: content(r.goal or r.name, QUESTION),
            "session": lambda r: content(r.session_id, 80),
            "version": lambda r: content(r.version, 40),
            "models": lambda r: content(", ".join(r.models), 80),
            "spans": lambda r: str(r.spans),
            "turns": lambda r: str(r.turns),
            "took": lambda r: length(r.duration_ms),
            "tokens": _tokens,
            "cost": lambda r: money(r.usd, partial=r.calls_without_usage > 0),
            "status": lambda r: status_text(r.status),
            "errors": _errors,
            "worst-error": lambda r: worst(r.worst_error),
        },
    )


def sessions_table(rows: Sequence[SessionRowJson], columns: Iterable[str] = ()) -> RenderableType:
    """A line a session. Raises ConfigError for a column that there is not."""
    return _chosen_rows(
        rows,
        "no sessions",
        COLUMNS_OF_SESSIONS,
        columns,
        {
            "session": lambda r: content(r.session_id, 80),
            "service": lambda r: content(r.service, 40),
            "received": lambda r: moment(r.received),
            "traces": _session_traces,
            "turns": lambda r: str(r.turns),
            "took": lambda r: length(r.duration_ms),
            "tokens": lambda r: _sum(r.tokens, r.calls_without_usage),
            "cost": _session_cost,
            "status": lambda r: status_text(r.status),
            "errors": _session_errors,
            "worst-error": lambda r: worst(r.worst_error),
        },
    )


def chosen_errors(rows: Sequence[ErrorJson], columns: Iterable[str]) -> RenderableType:
    """A line an error, with the named columns. Raises ConfigError for a column that there is not."""
    return _chosen_rows(
        rows,
        "no errors",
        COLUMNS_OF_ERRORS,
        columns,
        {
            "error": lambda r: Text.assemble(f"{r.severity} ", content(r.title or r.category, 80), f" {r.id[:SHORT]}"),
            "service": lambda r: content(f"{r.service or 'unknown service'} / {agent_name(r.agent or '')}", 80),
            "quote": lambda r: content(r.evidence, QUESTION),
            "reason": lambda r: content(r.explanation, QUESTION),
            "judges": lambda r: content(f"{', '.join(r.judges)} {r.confidence:.2f}", 80),
            "seen": lambda r: Text.assemble(moment(r.first_seen), "  span ", content(r.span_id)),
        },
    )


def session_view(session: SessionJson) -> RenderableType:
    """The conversation: who said what, with errors and verdicts at their exchange."""
    head = Text.assemble(
        "session ",
        content(session.session_id, 200, "bold"),
        f"  {counted(session.traces, 'trace')}",
        (f" ({session.unjudged_traces} not judged)" if session.unjudged_traces else "", "dim"),
        f", {counted(session.turns, 'turn')}, ",
        status_text(session.status),
        "  ",
        _session_errors(session),
    )
    services = Text.assemble("of ", content(", ".join(session.services), 200))
    parts: list[RenderableType] = [head, services, *_scores(session.verdicts, {}), Text()]
    parts += [part for one in session.progress for part in _progress(one)]
    parts += [part for exchange in session.exchanges for part in _exchange(exchange)]
    if session.left:
        parts.append(Text(f"{counted(session.left, 'later trace')} not shown", "dim"))
    return Group(*parts)


def length(milliseconds: float) -> Text:
    """A length of time: 120 ms, 4.2 s, 3m20s, 2h05m."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return Text(f"{milliseconds:.0f} ms")
    if seconds < _MINUTE:
        return Text(f"{seconds:.1f} s")
    whole = round(seconds)
    if whole < _HOUR:
        return Text(f"{whole // _MINUTE}m{whole % _MINUTE:02}s")
    return Text(f"{whole // _HOUR}h{whole % _HOUR // _MINUTE:02}m")


def money(usd: float | None, *, partial: bool = False) -> Text:
    """US dollars, with a plus where some calls recorded no usage, or that they are not known."""
    if usd is None:
        return Text("-", "dim")
    return Text((f"${usd:.4f}" if usd < 1 else f"${usd:,.2f}") + ("+" if partial else ""))


def _tokens(row: TraceRowJson) -> Text:
    known = [count for count in (row.input_tokens, row.output_tokens) if count is not None]
    return _sum(sum(known) if known else None, row.calls_without_usage)


def _sum(tokens: int | None, without: int) -> Text:
    return Text("-", "dim") if tokens is None else Text(f"{tokens:,}{'+' if without else ''}")


def _errors(row: TraceRowJson) -> Text:
    """The errors of a trace; where there are none as nobody looked, why not."""
    if row.not_judged is None or any(row.errors.values()):
        return counts(row.errors)
    return Text(NotJudged(row.not_judged).words, "dim")


def _session_errors(row: SessionRowJson) -> Text:
    """The errors of a session; where there are none as nobody looked at any of its traces, that."""
    if row.unjudged_traces < row.traces or any(row.errors.values()):
        return counts(row.errors)
    return Text("not judged", "dim")


def _session_traces(row: SessionRowJson) -> Text:
    waiting = f" ({row.unjudged_traces} not judged)" if row.unjudged_traces else ""
    return Text.assemble(str(row.traces), (waiting, "dim"))


def _session_cost(row: SessionRowJson) -> Text:
    cost = money(row.usd, partial=row.calls_without_usage > 0)
    if row.usd is not None and row.priced_traces < row.traces:
        cost.append(f" ({row.priced_traces} of {counted(row.traces, 'trace')})", "dim")
    return cost


def _exchange(exchange: ExchangeJson) -> Iterator[RenderableType]:
    waits = ("" if exchange.judged else "  not judged", "dim")
    yield Text.assemble(moment(exchange.start), "  trace ", content(exchange.trace_id, style="bold"), waits)
    yield _said("user", exchange.goal)
    yield _said(agent_name(exchange.agent), exchange.answer, "green")
    for error in exchange.errors:
        place = content(error_place(error.agent_run_id, error.agent, error.turn), 90)
        yield Padding(Text.assemble(*headline(error), "  ", place), (0, 0, 0, 2), expand=False)
        for line in error_details(error):
            yield Padding(line, (0, 0, 0, 2), expand=False)
    for line in _scores(exchange.verdicts, exchange.agents):
        yield Padding(line, (0, 0, 0, 2), expand=False)
    yield Text()


def _progress(one: CheckProgressJson) -> Iterator[RenderableType]:
    """The items that settle: where they did, or with which votes and reasons they did not."""
    so_far = "" if one.closed else " so far"
    shares = f"  by exchange: {' '.join(f'{share:.2f}' for share in one.after)}" if one.after else ""
    yield Text.assemble(
        content(one.title, 80, "bold"), f"  {one.settled} of {len(one.items)} ", content(one.kind, 40), so_far, shares
    )
    for item in one.items:
        answer = item.answer
        settled = answer.best and answer.grounded
        where = (
            f"exchange {item.exchange}" if item.exchange
            else "at the close" if settled
            else answer.answer if one.closed
            else "open"
        )  # fmt: skip
        votes = f", {answer.yes} of {answer.runs} runs say so" if answer.runs else ""
        said = Text.assemble(content(where, 40), votes, ": ", content(answer.item, 600))
        if answer.span_id and answer.trace_id:
            said.append("  ").append_text(content(f"span {answer.span_id} of trace {answer.trace_id}", style="dim"))
        yield Padding(said, (0, 0, 0, 2), expand=False)
        if answer.reason and (not settled or answer.yes < answer.runs):
            yield Padding(content(answer.reason, SAID, "dim"), (0, 0, 0, 4), expand=False)
    yield Text()


def _said(who: str, text: str, style: str = "cyan") -> Table:
    """One message beside the name of who said it."""
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True, width=14)
    table.add_column(overflow="fold")
    table.add_row(content(who, 14, style), content(text, SAID) if text else Text("(nothing recorded)", "dim"))
    return table


def _scores(verdicts: Sequence[VerdictJson], agents: Mapping[str, str]) -> Iterator[Text]:
    """A line an agent run, with the agent's name; what is of no run (the trace, the session) has a line of its own."""
    scored: dict[str, list[str]] = {}
    for verdict in verdicts:
        if said := score_words(verdict.score, verdict.value):
            dropped = " (its quote was dropped)" if verdict.quote_dropped else ""
            scored.setdefault(verdict.subject.id, []).append(f"{verdict.judge} {said}{dropped}")
    for run_id, words in scored.items():
        who = content(agent_name(agents[run_id]), 60).append(": ") if run_id in agents else Text()
        yield Text.assemble(who, content(", ".join(words)), style="dim")


def _chosen_rows(
    rows: Sequence[Any],
    nothing: str,
    columns: Sequence[ListColumn],
    names: Iterable[str],
    cells: Mapping[str, Callable[[Any], Text | str]],
) -> RenderableType:
    """A list with the named columns, or without names the usual ones; `cells`: of each column, in the order here.

    Raises:
        ConfigError: there is no such column.
    """
    shown = {one.name for one in chosen_columns(columns, names, on_page=False)}
    return rows_table(rows, nothing, {name.replace("-", " "): cell for name, cell in cells.items() if name in shown})
