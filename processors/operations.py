"""The operations of a rebuilt trace: its agent runs, LLM calls and tool calls, with durations, tokens and cost."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.operations import UNKNOWN, USAGE, Operation
from tracejury.schemas.queries.performance import PerformanceUnit
from tracejury.schemas.text.naming import MOST
from tracejury.schemas.trajectory import AgentRun, Trace, Turn

from .cached_tokens import TokenKinds
from .prompts import prompt_of
from .tokens import LlmCall

MOST_TOKENS: Final = 1 << 40
"""Of one call: more are no count of any model, and sums of millions of calls must fit into 64 bits."""

MOST_USD: Final = 1e9
"""Of one call, likewise: of a higher amount the price is not known."""

Figures = tuple[int, int, int, float, int]
"""The last five fields of an operation."""

_LONGEST: Final = 2**63 - 1
_RUN, _LLM, _TOOL = (unit.value for unit in PerformanceUnit)


@dataclass(frozen=True, slots=True)
class CallSpend:
    """The tokens of a call, or of several in sum, and US dollars, None where not known."""

    call: LlmCall
    kinds: TokenKinds
    usd: float | None

    @property
    def states_usage(self) -> bool:
        """Whether anything states its tokens."""
        return self.call.input_tokens is not None or self.call.output_tokens is not None

    @property
    def figures(self) -> Figures:
        """Those of its operation."""
        kinds, usd = self.kinds, self.usd
        sent, written = kinds.fresh + kinds.cache_read + kinds.cache_written, kinds.output
        tokens = min(sent, MOST_TOKENS), min(written, MOST_TOKENS), min(kinds.cache_read, MOST_TOKENS)
        if usd is not None and usd <= MOST_USD:
            return *tokens, usd, 0
        return *tokens, 0.0, int(usd is not None or self.states_usage or self.call.lacks_usage)


_NOTHING: Final = (0, 0, 0, 0.0, 0)


def operations(trace: Trace, calls: Iterable[LlmCall], spends: Sequence[CallSpend]) -> tuple[Operation, ...]:
    """All of a trace, its runs first. `calls`: its LLM calls; `spends`: of the records that state their tokens.

    Calls in a run beside others, or in none, have no agent. As many as the trace has calls: an open trace is bounded by
    its bytes.
    """
    by_span = {turn.llm.span_id: run for run in trace.agents for turn in run.turns if turn.llm is not None}
    sums: defaultdict[str, list[Figures]] = defaultdict(list)
    stated = {spend.call.span.span_id: spend for spend in spends}
    found = [_llm_call(call, _home(call, by_span), stated, sums) for call in calls]
    for run in trace.runs:
        for turn in run.turns:
            found += _tool_calls(run.name if not run.beside else "", turn)
    found += [_stray_tool(span) for span in trace.remainder if span.kind is Kind.TOOL]
    if stated:
        found += _sums(trace.agents, stated, sums)
    return (*(_run(run, sums[run.id]) for run in trace.agents), *found)


def _home(call: LlmCall, by_span: Mapping[str, AgentRun]) -> AgentRun | None:
    own = by_span.get(call.span.span_id)
    return by_span.get(call.around.span_id) if own is None and call.around is not None else own


def _llm_call(
    call: LlmCall, run: AgentRun | None, stated: dict[str, CallSpend], sums: defaultdict[str, list[Figures]]
) -> Operation:
    spend = stated.pop(call.span.span_id, None)
    figures = spend.figures if spend is not None else _NOTHING
    if run is not None:
        sums[run.id].append(figures)
    agent = run.name[:MOST] if run is not None else ""
    prompt = prompt_of(call.span.raw.attributes)[:MOST]
    return Operation(_LLM, agent, call.model[:MOST], "", prompt, _nanos(call.span), call.span.is_error, *figures)


def _tool_calls(agent: str, turn: Turn) -> Iterator[Operation]:
    """Calls that a span or an observation shows; how a run hands over its answer is none."""
    if not turn.tool_calls:
        return
    model = turn.llm.model[:MOST] if turn.llm is not None else ""
    prompt = prompt_of(turn.llm.raw.attributes)[:MOST] if turn.llm is not None else ""
    for call in turn.tool_calls:
        if (call.span is not None or call.executed) and not call.closing:
            failed, nanos = call.error is not None, _nanos(call.span)
            yield Operation(_TOOL, agent[:MOST], model, call.name[:MOST], prompt, nanos, failed, *_NOTHING)


def _stray_tool(span: NormalizedSpan) -> Operation:
    return Operation(_TOOL, "", "", span.tool_name[:MOST], "", _nanos(span), span.is_error, *_NOTHING)


def _sums(
    runs: Iterable[AgentRun], stated: Mapping[str, CallSpend], sums: defaultdict[str, list[Figures]]
) -> Iterator[Operation]:
    """What agents state in sum."""
    by_span = {run.span.span_id: run for run in runs if run.span is not None}
    for span_id, spend in stated.items():
        run, figures = by_span.get(span_id), spend.figures
        if run is not None:
            sums[run.id].append(figures)
        agent, failed = run.name[:MOST] if run is not None else "", False
        yield Operation(USAGE, agent, spend.call.model[:MOST], "", "", UNKNOWN, failed, *figures)


def _run(run: AgentRun, figures: Sequence[Figures]) -> Operation:
    sent, written, cached, usd, unpriced = zip(*figures, strict=True) if figures else ((),) * 5
    whole = sum(sent), sum(written), sum(cached), math.fsum(usd), sum(unpriced)
    nanos = _nanos(run.span) if run.span is not None else _together(run)
    return Operation(_RUN, run.name[:MOST], run.model[:MOST], "", "", nanos, run.status == "error", *whole)


def _nanos(span: NormalizedSpan | None) -> int:
    """How long it took; `UNKNOWN` while it is pending, and where its times say nothing."""
    if span is None:
        return UNKNOWN
    raw = span.raw
    return min(raw.end - raw.start, _LONGEST) if 0 < raw.start <= raw.end and not raw.pending else UNKNOWN


def _together(run: AgentRun) -> int:
    """How long a run without a span of its own took: from its first span to its last."""
    spans = [span for turn in run.turns for span in turn.spans]
    if not spans or any(_nanos(span) == UNKNOWN for span in spans):
        return UNKNOWN
    return min(max(span.raw.end for span in spans) - min(span.raw.start for span in spans), _LONGEST)
