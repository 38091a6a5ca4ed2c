"""What a GenAI span is, decided by all that it says."""

from __future__ import annotations

import itertools
import json
from typing import Any

import pytest
from trajectories import span

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import TokenSums, sum_tokens
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.spans import Span

MODEL = {"gen_ai.request.model": "m"}
MESSAGES = {"gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "text", "content": "hi"}]}]'}
TOKENS = {"gen_ai.usage.input_tokens": 20}
OTHER_SYSTEMS: list[tuple[dict[str, Any], int]] = [
    ({"http.request.method": "POST", "url.path": "/v1"}, 3),
    ({"db.system": "redis"}, 3),
    ({"rpc.system": "grpc"}, 3),
    ({"messaging.system": "kafka"}, 4),
    ({}, 2),
]
INTERNAL, CLIENT = 1, 3


def read(attributes: dict[str, Any], **changes: Any) -> NormalizedSpan:
    return normalize(span("s", attributes=attributes, **changes))


@pytest.mark.parametrize(("of", "kind"), OTHER_SYSTEMS)
@pytest.mark.parametrize("more", [{}, {"gen_ai.system": "openai"}, {"gen_ai.agent.name": "clerk"}])
def test_a_models_name_makes_no_call_of_another_system(of: dict[str, Any], kind: int, more: dict[str, str]) -> None:
    """Unless messages or tokens, or an operation of the conventions, say so."""
    assert read(MODEL | of | more, kind=kind).kind is Kind.CHAIN
    for said in (MESSAGES, TOKENS, {"gen_ai.operation.name": "chat"}):
        assert read(MODEL | of | more | said, kind=kind).kind is Kind.LLM


@pytest.mark.parametrize(
    ("operation", "attributes", "kind"),
    [
        ("llm_call", MODEL, Kind.LLM),
        ("call.llm", {}, Kind.LLM),
        ("tool_call", {"gen_ai.tool.name": "ls"}, Kind.TOOL),
        ("run a step", {"gen_ai.tool.call.id": "c"}, Kind.TOOL),
        ("text_search", {"gen_ai.tool.name": "text_search"}, Kind.TOOL),
        ("agent_call", {"gen_ai.agent.name": "x"}, Kind.AGENT),
        ("agent.run", {"gen_ai.agent.name": "x"}, Kind.AGENT),
        ("agent_call", {}, Kind.CHAIN),
        ("delete_agent", {"gen_ai.agent.name": "x"}, Kind.CHAIN),
        ("ask", MODEL | TOKENS, Kind.LLM),
        ("ask", MODEL | MESSAGES, Kind.LLM),
        ("ask", MODEL, Kind.CHAIN),
        ("schedule_tool_calls", MESSAGES, Kind.CHAIN),
    ],
)
def test_an_unknown_operation_outranks_nothing(operation: str, attributes: dict[str, str], kind: Kind) -> None:
    """A tool's name, a call id, messages and tokens say more; the words of its name count after them."""
    assert read(attributes | {"gen_ai.operation.name": operation}).kind is kind


@pytest.mark.parametrize(
    ("sent", "arguments"),
    [
        ({"callId": "c", "name": "ls", "args": {"path": "."}}, {"path": "."}),
        ({"path": "."}, {"path": "."}),
        ([{"role": "model", "parts": [{"functionCall": {"name": "ls", "args": {"path": "."}}}]}], {"path": "."}),
        ("a path", "a path"),
    ],
)
def test_a_tools_input_may_stand_as_messages(sent: Any, arguments: Any) -> None:
    """As the call, as its arguments, as a message, or as text."""
    stated = {"gen_ai.operation.name": "tool_call", "gen_ai.tool.name": "ls"}
    found = read(stated | {"gen_ai.input.messages": sent if isinstance(sent, str) else json.dumps(sent)})
    assert (found.tool_name, found.tool_arguments) == ("ls", arguments)


def gateway(root: Span, *below: dict[str, Any]) -> list[Span]:
    return [root, *(span(f"c{i}", root.span_id, a, kind=INTERNAL, start=i, end=i + 1) for i, a in enumerate(below, 2))]


CALL = MODEL | MESSAGES | TOKENS | {"gen_ai.operation.name": "chat"}


@pytest.mark.parametrize("order", list(itertools.permutations([CALL, MODEL, MODEL | {"guardrail": "pii"}])))
def test_a_copied_name_is_no_call_beside_the_call(order: tuple[dict[str, Any], ...]) -> None:
    """Wherever the gateway's own steps stand; a call of another model is not their call."""
    trace = rebuild(map(normalize, gateway(span("g", attributes=MODEL, kind=2, start=1, end=99), *order)))
    assert sum_tokens(trace.spans) == TokenSums(20, None, 1, 0)
    other = [a | {"gen_ai.request.model": "n"} if a is CALL else a for a in order]
    trace = rebuild(map(normalize, gateway(span("g", attributes=MODEL, kind=2, start=1, end=99), *other)))
    assert sum(s.kind is Kind.LLM for s in trace.spans.values()) >= 1


@pytest.mark.parametrize("changes", [{"status_code": 2, "status_message": "no answer"}, {"pending": True}])
def test_a_call_that_failed_or_goes_on_stays_one(changes: dict[str, Any]) -> None:
    """It has nothing to say yet."""
    spans = [span("g", attributes={}, end=99), span("l", "g", CALL, start=5, end=6), span("f", "g", MODEL, **changes)]
    assert rebuild(map(normalize, spans)).spans["f"].kind is Kind.LLM
