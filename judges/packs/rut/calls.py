"""The calls of a session as an oracle sees them: of managers and sub-agents, in order of their start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, Final

from tracejury.judges.names import Role
from tracejury.judges.quoting import argument_forms, quote_call, quote_executed, raw_texts
from tracejury.judges.read_call import read_call
from tracejury.judges.tool_schema import parameters_of
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, TraceState, Turn

OUTSIDE: Final = -1


@dataclass(frozen=True, slots=True)
class OracleCall:
    """One call.

    `arguments`: None where they are no JSON object; `unknown`: they were not recorded. `start`: unix nanos. `ran`: it
    was neither refused nor left open, as far as known; `ok`: and did not fail. `exchange`: number in the session, from
    0 (`OUTSIDE` all: -1). `schema`: of its tool's arguments. `source`: what it was read from.
    """

    tool: str
    arguments: Mapping[str, Any] | None
    start: int = 0
    ran: bool = True
    ok: bool = True
    result: str | None = None
    unknown: bool = False
    exchange: int = 0
    trace_id: str = ""
    span_id: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    source: tuple[NormalizedSpan, Turn, ToolCall] | None = field(default=None, compare=False, repr=False)

    @property
    def order(self) -> tuple[int, str, str, str]:
        """By what calls are sorted; only `start` says which of two came first."""
        return (self.start, self.trace_id, self.span_id, self.tool)

    def quote(self, argument: str = "") -> str:
        """What its span records of it, or of one of its arguments."""
        if self.source is None:
            return self.tool
        span, turn, call = self.source
        if self.arguments and argument in self.arguments:
            texts = [*raw_texts(span)]
            forms = (form[1:-1] for form in argument_forms({argument: self.arguments[argument]}))
            if found := next((form for form in forms if any(form in text for text in texts)), ""):
                return found
        return quote_call(turn, call) if span is turn.llm else quote_executed(span, call)


def calls_of(traces: Sequence[Trace], exchanges: Mapping[tuple[str, str], int]) -> tuple[OracleCall, ...]:
    """All calls of these traces; of an open trace those of closed turns.

    `exchanges`: numbers by trace id and id of the exchange; calls of others are left out. What hands over an answer is
    no call, nor is an agent that the harness started unasked.
    """
    found = (call for trace in traces for call in _of_trace(trace, exchanges))
    return tuple(sorted(found, key=attrgetter("order")))


def _of_trace(trace: Trace, exchanges: Mapping[tuple[str, str], int]) -> Iterator[OracleCall]:
    began = trace.exchange_by_run()
    for run in trace.runs:
        for turn in run.turns:
            at = trace.exchange_at(run.id, turn.index) or began.get(run.id)
            number = exchanges.get((trace.trace_id, at.id)) if at is not None else OUTSIDE
            if number is not None and (turn.closed or trace.state is not TraceState.OPEN):
                yield from (c for call in turn.tool_calls for c in _read(trace, run, turn, call, number))


def _read(trace: Trace, run: AgentRun, turn: Turn, call: ToolCall, exchange: int) -> Iterator[OracleCall]:
    facts = read_call(call, turn, run)
    sub_run = trace.run(call.sub_run_id) if call.sub_run_id else None
    span = call.span or (turn.llm if call.requested else None) or (sub_run.span if sub_run else None) or turn.llm
    unasked = call.requested is False and call.span is None
    if span is None or call.closing or unasked or facts.role is Role.FINAL:
        return
    arguments = {} if call.arguments == "" else call.arguments
    ran = facts.ran is True and facts.refusal is None
    failed = call.error is not None or (facts.failure is not None and not facts.failure.page)
    failed = failed or (sub_run is not None and sub_run.status == "error") or (span is call.span and span.raw.pending)
    yield OracleCall(
        tool=call.name,
        arguments=arguments if isinstance(arguments, Mapping) else None,
        start=span.raw.end if span is turn.llm else span.raw.start,
        ran=ran,
        ok=ran and not failed,
        result=call.result,
        unknown=arguments is None,
        exchange=exchange,
        trace_id=trace.home(span.span_id),
        span_id=span.span_id,
        schema=parameters_of(call, run.tools) or {},
        source=(span, turn, call),
    )
