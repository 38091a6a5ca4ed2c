"""Rows of sessions as domain objects, and findings and verdicts pinned to the exchanges that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from ....judges.grouping import group
from ....schemas.findings import Finding
from ....schemas.queries.conversation import Exchange
from ....schemas.queries.listing import SessionRow
from ....schemas.queries.reader import LocatedError
from ....schemas.taxonomy import Severity
from ....schemas.trajectory import TraceState
from ....schemas.verdicts import SubjectKind, Verdict
from .errors import SEVERITIES, worst_error

_ORDER: Final = (TraceState.OPEN, TraceState.FAILED, TraceState.INCOMPLETE, TraceState.SETTLED)


@dataclass(frozen=True, slots=True)
class TraceExchanges:
    """A trace of a conversation: its exchanges, and the exchange (by its run) that each of its runs is part of."""

    trace_id: str
    exchanges: tuple[Exchange, ...]
    tops: Mapping[str, str]
    recognised: Sequence[str]


def session_row(row: Sequence[Any]) -> SessionRow:
    """The session of a row: see `sessions._ROW`."""
    return SessionRow(
        key=row[0],
        session_id=row[1],
        service=row[2],
        state=TraceState(row[3]),
        traces=row[4],
        turns=row[5],
        agents=tuple(row[6]),
        start=row[7],
        end=row[8],
        first_received=row[9],
        received=row[10],
        tokens=row[11],
        usd=row[12],
        priced_traces=row[13],
        unjudged_traces=row[14],
        errors=dict(zip(SEVERITIES, row[15:18], strict=True)),
        worst=worst_error(row[18]),
    )


def together(rows: Sequence[SessionRow]) -> SessionRow:
    """Sessions of one id in several services as one; of one service itself."""
    if len(rows) == 1:
        return rows[0]
    tokens = [r.tokens for r in rows if r.tokens is not None]
    unknown = any(r.tokens is not None and r.usd is None for r in rows)
    amounts = [r.usd for r in rows if r.usd is not None]
    return replace(
        rows[0],
        service="",
        state=next(state for state in _ORDER if any(r.state is state for r in rows)),
        traces=sum(r.traces for r in rows),
        turns=sum(r.turns for r in rows),
        agents=tuple(sorted({name for r in rows for name in r.agents})),
        start=min(r.start for r in rows),
        end=max(r.end for r in rows),
        first_received=min(r.first_received for r in rows),
        received=max(r.received for r in rows),
        errors={s: sum(r.errors.get(s, 0) for r in rows) for s in Severity},
        tokens=sum(tokens) if tokens else None,
        usd=sum(amounts) if amounts and not unknown else None,
        priced_traces=sum(r.priced_traces for r in rows),
        unjudged_traces=sum(r.unjudged_traces for r in rows),
    )


def exchanges_of(row: Sequence[Any]) -> TraceExchanges:
    """The exchanges of the trace of a row: see `sessions._SAID`. A trace without an agent run is one exchange, too."""
    trace_id, state, start, end, usd, ids, names, parents, goals, answers, statuses, turns, conventions, judged = row
    above = dict(zip(ids, parents, strict=True))
    runs = list(zip(ids, names, parents, goals, answers, statuses, strict=True))
    tops = {run_id: _top(run_id, above) for run_id in ids}
    counted: defaultdict[str, int] = defaultdict(int)
    called: defaultdict[str, dict[str, str]] = defaultdict(dict)
    for run_id, name, count in zip(ids, names, turns, strict=True):
        counted[tops[run_id]] += count
        called[tops[run_id]][run_id] = name
    exchanges = [
        Exchange(
            trace_id, i, name, goal, answer, status, TraceState(state), start, end, counted[i], None, agents=called[i]
        )
        for i, name, _, goal, answer, status in runs
        if tops[i] == i
    ] or [Exchange(trace_id, "", "", "", "", "", TraceState(state), start, end, 0, None)]
    exchanges[0] = replace(exchanges[0], usd=usd, judged=bool(judged))
    return TraceExchanges(trace_id, tuple(exchanges), tops, conventions)


def pinned(
    said: TraceExchanges,
    standing: Sequence[Finding],
    least: float,
    verdicts: Sequence[Verdict],
    names: Mapping[tuple[str, str], str],
) -> Iterator[Exchange]:
    """The exchanges with what was found in each; what is of no run, or of a run nobody knows, stands at the first.

    `standing`: all findings that hold; shown are those of at least that confidence, and errors with one of them.
    `names`: of agents by trace and run, and of services by trace and "".
    """
    first = said.exchanges[0].run_id
    by_run: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in standing:
        if finding.confidence >= least:
            by_run[said.tops.get(finding.agent_run_id, first)].append(finding)
    errors: defaultdict[str, list[LocatedError]] = defaultdict(list)
    for error in group(standing, list(said.tops)):
        if error.confidence() >= least:
            trace_id, run_id = error.lead.trace_id, error.lead.agent_run_id
            service, agent = names.get((trace_id, ""), ""), names.get((trace_id, run_id), "") if run_id else ""
            located = LocatedError.of(error, said.trace_id, service, agent, least)
            errors[said.tops.get(run_id, first)].append(located)
    words: defaultdict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        of_run = verdict.subject.kind in (SubjectKind.AGENT_RUN, SubjectKind.TURN_WINDOW)
        words[said.tops.get(verdict.subject.id, first) if of_run else first].append(verdict)
    for exchange in said.exchanges:
        ordered = sorted(by_run[exchange.run_id], key=lambda f: (-f.severity.rank, f.first_seen, f.id))
        worst_first = sorted(errors[exchange.run_id], key=lambda one: -one.severity.rank)
        yield replace(
            exchange,
            findings=tuple(ordered),
            errors=tuple(worst_first),
            verdicts=tuple(words[exchange.run_id]),
        )


def _top(run_id: str, above: Mapping[str, str]) -> str:
    """The run without a known parent over this one; itself in a circle."""
    seen = {run_id}
    at = run_id
    while (parent := above.get(at, "")) in above and parent not in seen:
        seen.add(parent)
        at = parent
    return at
