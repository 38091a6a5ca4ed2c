"""Messages of all dialects say the same: text, reasoning, tool requests, tool results."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracejury.processors.normalize import messages
from tracejury.processors.normalize.arguments import parse_arguments
from tracejury.processors.normalize.messages import parse_messages, read_message
from tracejury.schemas.normalized import Message, ToolRequest

ASKED = (ToolRequest("search", {"q": "x"}, "c1"),)


TEXT = {"type": "text", "text": "I look."}
CALL = {"id": "c1", "name": "search"}
OTEL = {"type": "text", "content": "I look."}
OPENAI = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
GIVEN = {"input": {"q": "x"}}
NOTED = "FunctionToolCall(arguments='{\"q\": \"x\"}', call_id='c1', name='search', type='function_call', caller=None)"
BEDROCK = {"toolUse": {"toolUseId": "c1", "name": "search", "input": {"q": "x"}}}


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "parts": [OTEL, {"type": "tool_call", **CALL, "arguments": {"q": "x"}}]},
        {"role": "assistant", "content": "I look.", "tool_calls": [OPENAI]},
        {"role": "assistant", "content": [TEXT, {"type": "tool_use", **CALL, "input": {"q": "x"}}]},
        {"role": "assistant", "content": [{"text": "I look."}, BEDROCK]},
        {"role": "assistant", "parts": ["I look.", {"type": "tool_call", **CALL, "arguments": '{"q": "x"}'}]},
        {"role": "ASSISTANT", "content": [TEXT, {"functionCall": {**CALL, "args": {"q": "x"}}}]},
        {"role": "model", "content": [{"text": "I look."}, {"toolRequest": {"name": "search", "ref": "c1", **GIVEN}}]},
        {"text": "I look.", "role": "assistant", "toolCalls": [{"toolName": "search", "toolCallId": "c1", **GIVEN}]},
        {"role": "assistant", "parts": [OTEL, {"type": "text", "content": NOTED}]},
    ],
    ids=["opentelemetry", "openai", "anthropic", "bedrock", "text part", "gemini", "genkit", "ai sdk", "repr"],
)
def test_a_request_in_any_dialect(message: dict[str, Any]) -> None:
    """OpenTelemetry, OpenAI, Anthropic, Bedrock and Gemini write the same message differently."""
    assert parse_messages([message]) == (Message("assistant", "I look.", ASKED),)


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "result": "1230"}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "1230"}]},
        {"role": "tool", "content": "1230", "tool_call_id": "c1"},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": [{"text": "1230"}]}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "1230"}]}}]},
        {"role": "user", "parts": [{"functionResponse": {"id": "c1", "response": "1230"}}]},
        {"role": "tool", "content": [{"toolResponse": {"ref": "c1", "output": "1230"}}]},
    ],
    ids=["opentelemetry v5", "opentelemetry", "openai", "anthropic", "bedrock", "gemini", "genkit"],
)
def test_a_result_in_any_dialect(message: dict[str, Any]) -> None:
    """A tool's result is a message of role tool, whatever role it was sent in."""
    assert parse_messages([message]) == (Message("tool", "1230", tool_call_id="c1"),)


def test_results_and_text_of_one_message_keep_their_order() -> None:
    """Several results in one message are one message each."""
    parts = [
        {"type": "text", "content": "before"},
        {"type": "tool_call_response", "id": "a", "result": {"n": 1}},
        {"type": "tool_call_response", "id": "b", "result": ["x", "y"]},
        {"type": "text", "content": "after"},
    ]
    assert parse_messages([{"role": "user", "parts": parts}]) == (
        Message("user", "before"),
        Message("tool", '{"n":1}', tool_call_id="a"),
        Message("tool", "x\ny", tool_call_id="b"),
        Message("user", "after"),
    )


@pytest.mark.parametrize(
    "part",
    [
        {"type": "reasoning", "content": "hm"},
        {"type": "thinking", "thinking": "hm", "signature": "s"},
        {"reasoningContent": {"reasoningText": {"text": "hm"}}},
    ],
)
def test_reasoning_is_kept_apart(part: dict[str, Any]) -> None:
    """What the model thought is not what it wrote."""
    assert parse_messages([{"role": "assistant", "content": [part, {"type": "text", "text": "x"}]}]) == (
        Message("assistant", "x", reasoning="hm"),
    )


@pytest.mark.parametrize(
    ("items", "expected"),
    [
        (["hi"], (Message("user", "hi"),)),
        ({"content": "hi"}, (Message("user", "hi"),)),
        ([{"role": "assistant", "content": None}], (Message("assistant", ""),)),
        ([{"role": "user", "content": None}, {}, [], 1, None], ()),
        ([{"role": 5, "content": 7, "tool_calls": {"a": 1}, "parts": "x"}], ()),
        ([{"role": "assistant", "tool_calls": [None, {}, {"function": {"name": 1}}]}], (Message("assistant", ""),)),
        ([{"role": "tool", "content": "", "id": "c1"}], (Message("tool", "", tool_call_id="c1"),)),
    ],
)
def test_broken_messages(items: Any, expected: tuple[Message, ...]) -> None:
    """An empty reply or result is a message; an empty prompt and what is no message are left out."""
    assert parse_messages(items) == expected


BROKEN = '{"q": "x'


@pytest.mark.parametrize(
    "message",
    [
        {"role": "assistant", "tool_calls": [{"id": "c1", "function": {"name": "search", "arguments": BROKEN}}]},
        {"role": "assistant", "tool_calls": [{**CALL, "args": {"INVALID_JSON": BROKEN}}]},
        {"role": "assistant", "tool_calls": [], "invalid_tool_calls": [{**CALL, "args": BROKEN, "error": "no JSON"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", **CALL, "arguments": {"_raw": BROKEN}}]},
    ],
    ids=["openai", "pydantic ai", "langchain", "openllmetry"],
)
def test_arguments_that_are_no_json_stay_as_they_were_written(message: dict[str, Any]) -> None:
    """Whatever a framework puts around them."""
    assert parse_messages([message]) == (Message("assistant", "", (ToolRequest("search", BROKEN, "c1"),)),)


def test_broken_json_is_no_bare_argument() -> None:
    """A tool of one argument may be recorded with the bare text; what was meant as JSON is none."""
    schema = {"type": "object", "properties": {"q": {"type": "string"}}}
    assert parse_arguments("rivers", schema) == {"q": "rivers"}
    assert parse_arguments(BROKEN, schema) == BROKEN


def test_a_conversation_that_every_call_sends_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The work grows with its messages, not with how often they are sent; they are the same objects again."""
    read: list[Any] = []

    def counted(item: Any, role: str) -> Any:
        read.append(item)
        return read_message(item, role)

    monkeypatch.setattr(messages, "read_message", counted)
    history = [{"role": "user", "content": f"The only one of this test, no. {i}."} for i in range(60)]
    calls = [parse_messages(history[: i + 1]) for i in range(60)]
    assert len(read) == 60
    assert all(one is other for one, other in zip(calls[-2], calls[-1], strict=False))
    assert [len(call) for call in calls] == list(range(1, 61))


def test_a_long_message_is_not_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is remembered is bounded in number and in size."""
    monkeypatch.setattr(messages, "_remembered", None)
    assert parse_messages([{"role": "user", "content": "x" * 4000}]) == (Message("user", "x" * 4000),)


@pytest.mark.parametrize(("given", "read"), [("search_0", ""), ("search_x", "search_x"), ("call_0", "call_0")])
def test_the_place_of_a_call_is_no_id(given: str, read: str) -> None:
    """ADK numbers the calls that Gemini gave no id, by name; their spans have other ids."""
    part = {"type": "tool_call", "id": given, "name": "search", "arguments": {"q": "x"}}
    (message,) = parse_messages([{"role": "assistant", "parts": [part]}])
    assert message.tool_requests == (ToolRequest("search", {"q": "x"}, read),)


ANY: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.sampled_from([0, 1, 0.0, 1.0, True, False, 10**30, "\ud800"]) | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["type", "text", "content", "arguments"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["role", "content", "parts", "tool_calls", "name"]), ANY, max_size=3))
def test_what_is_remembered_is_what_would_be_read(item: dict[str, Any]) -> None:
    """Equal numbers of other types, NaN and lone surrogates stay what they are."""
    item["parts"] = [{"type": "tool_call", "name": "f", "arguments": {"value": item.get("content")}}]
    assert repr(parse_messages([item])) == repr(tuple(read_message(item)))
