"""Spans of an agent that makes calls in a loop, as several conventions send them, in the order in which they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from trajectories import span

from tracejury.processors.normalize import normalize
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.spans import STATUS_ERROR, Span

SECOND: Final = 1_000_000_000
BEGAN: Final = 1_795_000_000 * SECOND


@dataclass(frozen=True)
class Made:
    """A call and what came of it; `pause`: seconds that the agent waits after it; `own_span`: a harness made it."""

    name: str = "search_orders"
    arguments: Mapping[str, Any] | None = None
    result: str = '{"orders": []}'
    fails: bool = False
    pause: float = 0.0
    own_span: bool = True


def now(number: int) -> float:
    """When the call of that number is made (seconds since 1970), where nobody waits."""
    return BEGAN / SECOND + number


Convention = Callable[[Sequence[Made]], list[Span]]


def _attributes(made: Made) -> dict[str, Any]:
    return dict(made.arguments if made.arguments is not None else {"customer": "Ada"})


def openinference(calls: Sequence[Made]) -> list[Span]:
    """Model calls and tools below an agent, whose span comes last."""
    spans, history = list[Span](), [{"role": "user", "content": "Where is my order?"}]
    for number, (made, at) in enumerate(_timed(calls)):
        said: dict[str, Any] = {"openinference.span.kind": "LLM", "llm.model_name": "m"}
        for place, message in enumerate(history):
            said |= {f"llm.input_messages.{place}.message.{key}": value for key, value in message.items()}
        asked = "llm.output_messages.0.message."
        call = f"{asked}tool_calls.0.tool_call."
        said |= {asked + "role": "assistant", call + "id": f"c{number}", call + "function.name": made.name}
        said[call + "function.arguments"] = json.dumps(_attributes(made))
        spans.append(_span(f"llm{number}", said, at, 0.4))
        if made.own_span:
            ran = {"openinference.span.kind": "TOOL", "tool.name": made.name}
            ran |= {"input.value": json.dumps(_attributes(made)), "output.value": "" if made.fails else made.result}
            spans.append(_span(f"tool{number}", ran, at + 0.5, 0.2, made))
        history = [*history, {"role": "assistant", "content": f"Step {number}."}]
        history.append({"role": "tool", "content": made.result, "tool_call_id": f"c{number}"})
    agent = {"openinference.span.kind": "AGENT", "agent.name": "clerk", "input.value": "Where is my order?"}
    return [*spans, _root(agent, calls)]


def genai(calls: Sequence[Made]) -> list[Span]:
    """As OpenTelemetry's GenAI conventions have it."""
    spans = list[Span]()
    history: list[Any] = [{"role": "user", "parts": [{"type": "text", "content": "Where is my order?"}]}]
    for number, (made, at) in enumerate(_timed(calls)):
        call = {"type": "tool_call", "id": f"c{number}", "name": made.name, "arguments": _attributes(made)}
        asked = {"role": "assistant", "parts": [call]}
        said = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m", "gen_ai.agent.name": "clerk"}
        said |= {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([asked])}
        spans.append(_span(f"llm{number}", said, at, 0.4))
        if made.own_span:
            ran = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": made.name,
                "gen_ai.tool.call.id": f"c{number}",
            }
            ran |= {"gen_ai.tool.call.arguments": json.dumps(_attributes(made))}
            ran |= {} if made.fails else {"gen_ai.tool.call.result": made.result}
            spans.append(_span(f"tool{number}", ran, at + 0.5, 0.2, made))
        answer = {"type": "tool_call_response", "id": f"c{number}", "response": made.result}
        history = [*history, asked, {"role": "tool", "parts": [answer]}]
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "clerk"}
    return [*spans, _root(agent, calls)]


def messages_alone(calls: Sequence[Made]) -> list[Span]:
    """A client's model calls: what its tools brought stands in what the next call was sent."""
    return [s for s in openinference(calls) if s.span_id.startswith("llm") or s.span_id == "root"]


def tools_alone(calls: Sequence[Made]) -> list[Span]:
    """An agent, announced when it begins, of whose model calls nothing is recorded."""
    own = [s for s in openinference(calls) if not s.span_id.startswith("llm")]
    return [replace(own[-1], pending=True, end=own[-1].start), *own]


CONVENTIONS: Final[Mapping[str, Convention]] = {
    "openinference": openinference,
    "genai": genai,
    "messages alone": messages_alone,
    "tools alone": tools_alone,
}


def normal(spans: Sequence[Span]) -> list[NormalizedSpan]:
    """The spans, read."""
    return [normalize(one) for one in spans]


def _timed(calls: Sequence[Made]) -> list[tuple[Made, float]]:
    """The calls, and seconds from the beginning until each is asked for."""
    at, found = 0.0, list[tuple[Made, float]]()
    for made in calls:
        found.append((made, at))
        at += 1 + made.pause
    return found


def _span(span_id: str, said: dict[str, Any], at: float, took: float, made: Made | None = None) -> Span:
    failed: dict[str, Any] = {}
    if made is not None and made.fails:
        failed = {"status_code": STATUS_ERROR, "status_message": made.result}
    start = BEGAN + round(at * SECOND)
    return span(span_id, "root", said, start=start, end=start + round(took * SECOND), **failed)


def _root(said: dict[str, Any], calls: Sequence[Made]) -> Span:
    ended = BEGAN + round((sum(1 + made.pause for made in calls) + 1) * SECOND)
    return span("root", "", said, start=BEGAN, end=ended)
