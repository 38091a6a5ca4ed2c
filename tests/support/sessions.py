"""Sessions of a chat as traces: one trace for all exchanges or one for each, with the history resent or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from trajectories import span

from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind, Message, NormalizedSpan, ToolDefinition, ToolRequest
from tracejury.schemas.trajectory import Trace, TraceState

SYSTEM = "You help the customers of a shop for spare parts, and you never promise a date."
STOCK = ToolDefinition("stock", "Counts the parts in a town.", {"type": "object", "properties": {"town": {}}})


class Layout(StrEnum):
    """How a chat is recorded."""

    ONE_TRACE = "one trace"
    RESENT = "a trace for each exchange, whole history sent"
    KEPT = "a trace for each exchange, history kept by the server"


@dataclass(frozen=True)
class Asked:
    """An exchange: the user's words, the reply, and the results of the calls of `stock` before it."""

    said: str
    reply: str
    results: Sequence[str] = ()
    thought: str = ""


def shop_exchange(number: int) -> Asked:
    """An exchange with two calls as a shop's agent has them; its texts differ from those of other numbers."""
    row = "; ".join(
        f"order {number}{k}: part {k * 37 + number}, {k + 2} pieces, {number * 7 + k}.50 EUR" for k in range(12)
    )
    return Asked(
        f"And what about order {number}4? I need the parts by the {number + 1}th, and please check the price again.",
        f"Order {number}4 holds part {148 + number}, 6 pieces at {number * 7 + 4}.50 EUR each. "
        "I can't promise a date, but all of them are in stock. Shall I place the order?",
        (f"found 12 rows: {row}", f"stock: {row}"),
        f"The user asks about order {number}4. I look it up, and then its parts in the stock, before I state a price.",
    )


def session(exchanges: Sequence[Asked], layout: Layout, state: TraceState = TraceState.SETTLED) -> list[Trace]:
    """The traces of a chat, in order of time; `state` of the last."""
    traces: list[list[NormalizedSpan]] = []
    history: list[Message] = [Message("system", SYSTEM)]
    now = 0
    for number, asked in enumerate(exchanges):
        if not traces or layout is not Layout.ONE_TRACE:
            traces.append([_agent(f"{number:032x}")])
        if layout is Layout.KEPT:
            del history[1:]
        history.append(Message("user", asked.said))
        for at, result in enumerate(asked.results):
            request = ToolRequest("stock", {"town": f"town {number} {at}"}, f"call-{number}-{at}")
            now = _call(traces[-1], history, Message("assistant", asked.thought, (request,)), now)
            history.append(Message("tool", result, tool_call_id=request.call_id))
        now = _call(traces[-1], history, Message("assistant", asked.reply), now)
    last = len(traces) - 1
    return [rebuild(spans, state=state if i == last else TraceState.SETTLED) for i, spans in enumerate(traces)]


def _agent(trace_id: str) -> NormalizedSpan:
    raw = replace(span("a" * 16, start=0, end=10**9), trace_id=trace_id)
    return NormalizedSpan(raw, Kind.AGENT, "test", agent_name="assistant")


def _call(spans: list[NormalizedSpan], history: list[Message], reply: Message, now: int) -> int:
    trace_id = spans[0].raw.trace_id
    raw = replace(span(f"{len(spans):016x}", "a" * 16, start=now + 10, end=now + 15), trace_id=trace_id)
    llm = NormalizedSpan(raw, Kind.LLM, "test", input_messages=tuple(history), output_messages=(reply,), tools=(STOCK,))
    spans.append(llm)
    history.append(reply)
    return now + 10
