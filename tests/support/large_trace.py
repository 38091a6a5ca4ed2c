"""A trace of as many spans as one asks for: a manager whose tools are sub-agents, each with turns of two tool calls.

OpenInference; every LLM call is sent the history of its run, as frameworks do. Every hundredth tool call fails.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from tracejury.schemas.spans import STATUS_ERROR, STATUS_OK, Span, SpanEvent

START: Final = 1_700_000_000_000_000_000
MILLI: Final = 1_000_000
TURNS: Final = 33
"""Turns of a sub-agent: with its own span and that of its tool, a hundred spans."""


@dataclass(slots=True)
class _Ids:
    trace_id: str
    last: int = 0

    def next(self) -> str:
        self.last += 1
        return f"{self.last:016x}"


def large_trace(
    spans: int, trace_id: str = "c" * 32, *, text: int = 200, turns: int = TURNS, steps: bool = False
) -> Iterator[Span]:
    """At least `spans` spans, parents first; each message has about `text` characters, each sub-agent so many turns.

    With `steps` each of these turns has a span of its own around its calls.
    """
    ids = _Ids(trace_id)
    root = ids.next()
    task = f"Plan the journey, stage by stage. {'x' * text}"
    stages = max(1, (spans - 1) // (3 + (3 + steps) * turns) + 1)
    length = (stages * turns + 1) * 100 * MILLI
    yield _span(ids, root, "", "manager.run", 0, length, "AGENT", {"input.value": task, "agent.name": "manager"})
    history = [("system", f"You are a manager. {'s' * text}"), ("user", task)]
    for stage in range(stages):
        at = stage * turns * 100 * MILLI
        asked: dict[str, object] = {"stage": stage, "goal": f"stage {stage}: {'g' * text}"}
        yield _call(ids, root, at, history, f"Now stage {stage}. {'m' * text}", [("travel_agent", asked)])
        tool = ids.next()
        yield _tool(ids, root, tool, "travel_agent", asked, f"stage {stage} is planned", at + 10 * MILLI, turns * 100)
        yield from _sub_agent(ids, tool, stage, at + 20 * MILLI, text, turns, steps=steps)
        history = [*history, ("tool", f"stage {stage} is planned")]


def _sub_agent(ids: _Ids, parent: str, stage: int, at: int, text: int, turns: int, *, steps: bool) -> Iterator[Span]:
    run = ids.next()
    task = f"stage {stage}: {'g' * text}"
    facts = {"input.value": task, "output.value": f"stage {stage} is planned", "agent.name": "travel_agent"}
    yield _span(ids, run, parent, "travel_agent.run", at, turns * 98 * MILLI, "AGENT", facts)
    history = [("system", f"You plan journeys. {'s' * text}"), ("user", task)]
    for turn in range(turns):
        now = at + turn * 97 * MILLI
        wanted: list[tuple[str, dict[str, object]]] = [
            ("search", {"query": f"trains of day {turn}", "page": turn}),
            ("book", {"seat": f"{stage}-{turn}"}),
        ]
        said = f"I look for the trains of day {turn}. {'r' * text}"
        above = run
        if steps:
            above = ids.next()
            yield _span(ids, above, run, f"Step {turn + 1}", now, 96 * MILLI, "CHAIN", {})
        yield _call(ids, above, now, history, said, wanted)
        results = []
        for number, (name, arguments) in enumerate(wanted):
            span_id = ids.next()
            result = f"{name} {stage}/{turn}: {'o' * text}"
            yield _tool(ids, above, span_id, name, arguments, result, now + (30 + 30 * number) * MILLI, 25)
            results.append(("tool", result))
        history = [*history, ("assistant", said), *results][-24:]


def _call(
    ids: _Ids,
    parent: str,
    at: int,
    history: list[tuple[str, str]],
    said: str,
    asked: list[tuple[str, dict[str, object]]],
) -> Span:
    facts = {"llm.model_name": "gpt-4o", "llm.token_count.prompt": "900", "llm.token_count.completion": "60"}
    for number, (role, message) in enumerate(history):
        facts[f"llm.input_messages.{number}.message.role"] = role
        facts[f"llm.input_messages.{number}.message.content"] = message
    facts["llm.output_messages.0.message.role"] = "assistant"
    facts["llm.output_messages.0.message.content"] = said
    for number, (name, arguments) in enumerate(asked):
        call = f"llm.output_messages.0.message.tool_calls.{number}.tool_call."
        facts[f"{call}function.name"], facts[f"{call}function.arguments"] = name, json.dumps(arguments)
    return _span(ids, ids.next(), parent, "ChatModel", at, 25 * MILLI, "LLM", facts)


def _tool(
    ids: _Ids, parent: str, span_id: str, name: str, arguments: dict[str, object], result: str, at: int, millis: int
) -> Span:
    facts = {"tool.name": name, "input.value": json.dumps(arguments), "output.value": result}
    failed = ids.last % 100 == 0
    return _span(ids, span_id, parent, name, at, millis * MILLI, "TOOL", facts, failed=failed)


def _span(
    ids: _Ids,
    span_id: str,
    parent: str,
    name: str,
    at: int,
    length: int,
    kind: str,
    facts: dict[str, str],
    *,
    failed: bool = False,
) -> Span:
    error = "ConnectionError: the service answers 503" if failed else ""
    attributes = {"exception.type": "ConnectionError", "exception.message": "the service answers 503"}
    return Span(
        trace_id=ids.trace_id,
        span_id=span_id,
        parent_span_id=parent,
        name=name,
        start=START + at,
        end=START + at + length,
        attributes={"openinference.span.kind": kind, **facts},
        attribute_types={k: "int" for k in facts if k.startswith("llm.token_count")},
        events=(SpanEvent(START + at + length, "exception", attributes),) if failed else (),
        status_code=STATUS_ERROR if failed else STATUS_OK,
        status_message=error,
        service="travel",
        resource_attributes={"service.name": "travel"},
    )
