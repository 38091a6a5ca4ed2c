"""Open traces of one long run: every call is sent the history again, and the span of the agent never comes.

GenAI conventions (messages as one JSON text) or OpenInference (flattened). Each turn calls a tool; a call of every
fiftieth turn is made four times, as an agent does that goes in circles.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from typing import Final

from tracejury.schemas.spans import Span

START: Final = 1_700_000_000_000_000_000
MILLI: Final = 1_000_000
TOKEN: Final = 4
"""Characters of a token of English."""
RESULT: Final = 2_000
"""Characters of a tool's result."""
LOOPS_EVERY, LOOP = 50, 4
WORDS: Final = tuple(f"word{number}" for number in range(500))

History = list[tuple[str, str]]


def long_history(
    turns: int, tokens: int, *, trace_id: str = "d" * 32, flat: bool = False, growing: bool = True
) -> Iterator[Span]:
    """Two spans a turn, in the order in which they end, below an agent's span that is absent.

    `growing`: the calls are sent all that was said, up to so many tokens, from then on the latest of it; else a system
    prompt of so many tokens and the last turns.
    """
    texts = random.Random(7)  # noqa: S311  the same texts each time
    room = tokens * TOKEN
    system = _text(texts, 2_000 if growing else room)
    history: History = []
    for turn in range(turns):
        at, asked = START + turn * 100 * MILLI, turn - (turn % LOOPS_EVERY if turn % LOOPS_EVERY < LOOP else 0)
        query = {"query": f"archive record {asked}"}
        history = _latest(history, room - len(system) if growing else 4 * RESULT)
        said = f"I look for record {asked}."
        sent: Sequence[tuple[str, str]] = [("system", system), ("user", "Find all records of the archive."), *history]
        call = _flat_call(sent, said, query) if flat else _genai_call(sent, said, query)
        yield _span(trace_id, 2 * turn + 2, "chat", at, call)
        result = f"record {asked}: {_text(random.Random(asked), RESULT)}"  # noqa: S311
        yield _span(trace_id, 2 * turn + 3, "search", at + 50 * MILLI, _tool(query, result, flat=flat))
        history = [*history, ("assistant", said), ("tool", result)]


def _latest(history: History, room: int) -> History:
    kept = 0
    for number, (_, text) in enumerate(reversed(history)):
        kept += len(text) + 100
        if kept > room:
            return history[len(history) - number :]
    return history


def _text(texts: random.Random, characters: int) -> str:
    return " ".join(texts.choices(WORDS, k=characters // 8))


def _genai_call(sent: Sequence[tuple[str, str]], said: str, query: dict[str, str]) -> dict[str, str]:
    request = {"type": "tool_call", "name": "search", "arguments": query}
    written = [{"role": "assistant", "parts": [{"type": "text", "content": said}, request]}]
    messages = [{"role": role, "parts": [{"type": "text", "content": text}]} for role, text in sent]
    return {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "gen_ai.agent.name": "archivist",
        "gen_ai.input.messages": json.dumps(messages),
        "gen_ai.output.messages": json.dumps(written),
    }


def _flat_call(sent: Sequence[tuple[str, str]], said: str, query: dict[str, str]) -> dict[str, str]:
    attributes = {"openinference.span.kind": "LLM", "llm.model_name": "m", "agent.name": "archivist"}
    for number, (role, text) in enumerate(sent):
        attributes[f"llm.input_messages.{number}.message.role"] = role
        attributes[f"llm.input_messages.{number}.message.content"] = text
    attributes["input.value"] = json.dumps({"messages": [{"role": role, "content": text} for role, text in sent]})
    written = "llm.output_messages.0.message."
    attributes |= {f"{written}role": "assistant", f"{written}content": said}
    function = f"{written}tool_calls.0.tool_call.function."
    return attributes | {f"{function}name": "search", f"{function}arguments": json.dumps(query)}


def _tool(query: dict[str, str], result: str, *, flat: bool) -> dict[str, str]:
    if flat:
        kind = {"openinference.span.kind": "TOOL", "tool.name": "search"}
        return kind | {"input.value": json.dumps(query), "output.value": result}
    return {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "search",
        "gen_ai.tool.call.arguments": json.dumps(query),
        "gen_ai.tool.call.result": result,
    }


def _span(trace_id: str, number: int, name: str, start: int, attributes: dict[str, str]) -> Span:
    return Span(
        trace_id=trace_id,
        span_id=f"{number:016x}",
        parent_span_id=f"{1:016x}",
        name=name,
        start=start,
        end=start + 40 * MILLI,
        attributes=attributes,
        service="archive",
    )
