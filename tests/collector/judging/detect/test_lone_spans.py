"""Tools and agents whose spans are in traces of their own: they join the trace of their session that they fit."""

from __future__ import annotations

import json
from typing import Any

import pytest
from judging_bench import Bench
from stored_readers import stored_reader

from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND, AssemblerConfig
from tracejury.schemas.queries.reader import Confidence, TraceQuery
from tracejury.schemas.spans import Span

ALL = Confidence(0.0, 0.0)
TURN, TOOL, LATER = "1" * 32, "2" * 32, "3" * 32
QUESTION = "What is the freight price?"


def span(trace_id: str, number: int, start: int, operation: str, parent: int = 0, **said: Any) -> Span:
    """A span of the session, a second long; `said`: what its attributes under `gen_ai` say, "__" for a dot."""
    attributes = {f"gen_ai.{k.replace('__', '.')}": v if isinstance(v, str) else json.dumps(v) for k, v in said.items()}
    attributes |= {"gen_ai.operation.name": operation, "session.id": "default", "gen_ai.request.model": "m"}
    above = f"{parent:016x}" if parent else ""
    return Span(
        trace_id, f"{number:016x}", above, operation, start * SECOND, (start + 1) * SECOND, attributes, service="app"
    )


def asking(trace_id: str = TURN, number: int = 1, start: int = 1, city: str = "Oslo") -> list[Span]:
    """An agent and its call, which asks for a price."""
    asked = {"type": "tool_call", "id": "c1", "name": "price", "arguments": {"city": city}}
    sent = [{"role": "user", "parts": [{"type": "text", "content": QUESTION}]}]
    reply = [{"role": "assistant", "parts": [asked]}]
    agent = span(trace_id, number, start, "invoke_agent", agent__name="clerk")
    return [agent, span(trace_id, number + 1, start, "chat", number, input__messages=sent, output__messages=reply)]


def execution(city: str = "Oslo", call_id: str = "", start: int = 3) -> list[Span]:
    """The tool's span."""
    ids: dict[str, Any] = {"tool__call__id": call_id} if call_id else {}
    arguments: dict[str, Any] = {
        "tool__name": "price",
        "tool__call__arguments": {"city": city},
        "tool__call__result": "12 EUR",
    }
    return [span(TOOL, 9, start, "execute_tool", parent=0, **arguments, **ids)]


def rows(store: SharedStore) -> int:
    """Traces in the list."""
    return len(StoredReading(store).find_traces(TraceQuery(ALL, 10)))


@pytest.mark.parametrize("order", ["turn first", "tool first", "together"])
def test_a_tool_joins_the_trace_that_asked_for_it(store: SharedStore, order: str) -> None:
    """Whichever comes first, and when both come at once: one row, and the call has its span."""
    bench = Bench(store)
    parts = [asking(), execution(call_id="c1")]
    for part in reversed(parts) if order == "tool first" else parts:
        bench.commit(*part)
        bench.wait(0 if order == "together" else 7)
    bench.wait(7)
    bench.wait(7)
    for trace_id in (TURN, TOOL):
        view = stored_reader(store, AssemblerConfig(), lambda: bench.now).trace(trace_id, ALL)
        assert view is not None
        (run,) = view.trace.runs
        (call,) = run.turns[0].tool_calls
        assert (run.name, call.result, call.span and call.span.span_id) == ("clerk", "12 EUR", f"{9:016x}")
    assert rows(store) == 1


@pytest.mark.parametrize(
    "execution_",
    [execution("Bergen"), execution(start=2000), execution(start=0)],
    ids=["other arguments", "much later", "before it was asked for"],
)
def test_a_tool_that_nobody_asked_for_stays_apart(store: SharedStore, execution_: list[Span]) -> None:
    """The session alone joins nothing."""
    bench = Bench(store)
    bench.commit(*asking())
    bench.commit(*execution_)
    bench.wait(7)
    bench.wait(7)
    assert rows(store) == 2


def test_a_tool_that_two_traces_asked_for_stays_apart(store: SharedStore) -> None:
    """Nobody gets it."""
    bench = Bench(store)
    bench.commit(*asking(), *execution())
    bench.commit(*asking(LATER, 4, 2))
    bench.wait(7)
    bench.wait(7)
    assert rows(store) == 3
