"""Rows of sessions as domain objects, and findings and verdicts pinned to the exchanges that they are of."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tracejury.schemas.agent_errors import ErrorSummary, in_place
from tracejury.schemas.findings import Finding
from tracejury.schemas.queries.conversation import SessionExchange
from tracejury.schemas.queries.listing import SessionRow
from tracejury.schemas.queries.reader import LocatedError
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Subject, SubjectKind, Verdict

from .errors import SEVERITIES, worst_error

_FIELDS: Final = (
    "key", "session_id", "service", "state", "traces", "turns", "agents", "start", "end", "first_received", "received",
    "tokens", "usd", "priced_traces", "unjudged_traces", "calls_without_usage",
)  # fmt: skip
"""The fields of a `SessionRow` that the columns of `sessions._ROW` are, before those of its errors."""
_ORDER: Final = (TraceState.OPEN, TraceState.FAILED, TraceState.INCOMPLETE, TraceState.SETTLED)


@dataclass(frozen=True, slots=True)
class TraceExchanges:
    """A trace of a conversation: its exchanges, and the position of the exchange in which each of its runs began."""

    trace_id: str
    exchanges: tuple[SessionExchange, ...]
    began: Mapping[str, int]
    recognised: Sequence[str]

    def at(self, run_id: str, turn: int | None = None) -> int:
        """The position of a turn's exchange; what is of no run, or of a run nobody knows, stands at the first."""
        at = self.began.get(run_id, 0)
        later = (i for i, one in enumerate(self.exchanges) if one.run_id == run_id and one.first_turn <= (turn or 0))
        return max(later, default=at)

    def at_subject(self, subject: Subject) -> int | None:
        """The position of the exchange that a subject is, or in which its run began; the first for others.

        None for an exchange that is part of another one by now.
        """
        if subject.kind is SubjectKind.EXCHANGE:
            return next((at for at, one in enumerate(self.exchanges) if one.id == subject.id), None)
        return self.at(subject.run_id)


def session_row(row: Sequence[Any]) -> SessionRow:
    """The session of a row: see `sessions._ROW`."""
    *own, high, medium, low, worst = row
    shown = dict(zip(_FIELDS, own, strict=True))
    shown |= {"state": TraceState(shown["state"]), "agents": tuple(shown["agents"])}
    errors = dict(zip(SEVERITIES, (high, medium, low), strict=True))
    return SessionRow(**shown, errors=errors, worst=worst_error(worst))


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
        calls_without_usage=sum(r.calls_without_usage for r in rows),
    )


def exchanges_of(row: Sequence[Any]) -> TraceExchanges:
    """The exchanges of the trace of a row: see `sessions._SAID`. A trace without an agent run is one exchange, too.

    A run beside others is none: what it did belongs to the trace's first.
    """
    summary, divided = row[:16], row[16:]
    trace_id, state, start, end, usd, lacking, ids, names, parents, goals, answers, *told = summary
    statuses, turns, aside, conventions, judged = told
    above, counted, called = (dict(zip(ids, values, strict=True)) for values in (parents, turns, names))
    below, said = defaultdict[str, list[str]](list), defaultdict[str, list[Any]](list)
    for run_id, beside in zip(ids, aside, strict=True):
        if not beside:
            below[_top(run_id, above)].append(run_id)
    for run_id, *one in zip(*divided, strict=True):
        said[run_id].append(one)
    exchanges: list[SessionExchange] = []
    began = dict.fromkeys(ids, 0)
    for run_id, name, goal, answer, status in zip(ids, names, goals, answers, statuses, strict=True):
        whole = (0, counted[run_id] - 1, goal, answer, below[run_id])
        for first, last, asked, told, caused in said[run_id] or ([whole] if run_id in below[run_id] else []):
            own = [run_id, *(one for one in caused if one in called and one != run_id)]
            began |= dict.fromkeys(own if first == 0 else own[1:], len(exchanges))
            count = last - first + 1 + sum(counted[one] for one in own[1:])
            named = (trace_id, run_id, name, asked, told, status, TraceState(state), start, end, count, None)
            agents = {one: called[one] for one in own}
            exchanges.append(SessionExchange(*named, agents=agents, first_turn=first, last_turn=last))
    exchanges = exchanges or [SessionExchange(trace_id, "", "", "", "", "", TraceState(state), start, end, 0, None)]
    exchanges[0] = replace(exchanges[0], usd=usd, calls_without_usage=lacking, judged=bool(judged))
    return TraceExchanges(trace_id, tuple(exchanges), began, conventions)


def pinned(
    said: TraceExchanges,
    standing: Sequence[Finding],
    holding: Sequence[ErrorSummary],
    least: float,
    verdicts: Sequence[Verdict],
    names: Mapping[tuple[str, str], str],
) -> Iterator[SessionExchange]:
    """The exchanges with what was found in each.

    `standing`, `holding`: all findings and errors that hold; shown are those of at least that confidence.
    `names`: of agents by trace and run, and of services by trace and "".
    """
    found: defaultdict[int, list[Finding]] = defaultdict(list)
    for finding in standing:
        if finding.confidence >= least:
            found[said.at(finding.agent_run_id, finding.turn)].append(finding)
    errors: defaultdict[int, list[LocatedError]] = defaultdict(list)
    for error in in_place(holding, said.began):
        if error.confidence >= least:
            trace_id, run_id = error.trace_id, error.agent_run_id
            service, agent = names.get((trace_id, ""), ""), names.get((trace_id, run_id), "") if run_id else ""
            located = LocatedError(error, error.severity(least), said.trace_id, service, agent, least=least)
            errors[said.at(run_id, error.turn)].append(located)
    words: defaultdict[int, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        if (at := said.at_subject(verdict.subject)) is not None:
            words[at].append(verdict)
    for at, exchange in enumerate(said.exchanges):
        ordered = sorted(found[at], key=lambda f: (-f.severity.rank, f.first_seen, f.id))
        worst_first = sorted(errors[at], key=lambda one: -one.severity.rank)
        yield replace(exchange, findings=tuple(ordered), errors=tuple(worst_first), verdicts=tuple(words[at]))


def _top(run_id: str, above: Mapping[str, str]) -> str:
    """The run without a known parent over this one; itself in a circle."""
    seen = {run_id}
    at = run_id
    while (parent := above.get(at, "")) in above and parent not in seen:
        seen.add(parent)
        at = parent
    return at
