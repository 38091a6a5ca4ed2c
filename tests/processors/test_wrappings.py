"""Messages in any wrapping: the same conversation however an attribute encodes or wraps it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import blob, mark_of, picture, png
from trajectories import normalise_all, span

from tracejury.processors.normalize.messages import parse_messages
from tracejury.processors.normalize.wrappings import wrapped_messages
from tracejury.schemas.normalized import Message, ToolRequest

SAID = [
    {"role": "user", "content": "How long is the Aare?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "c1", "name": "length", "arguments": {"river": "Aare"}}],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "288 km"},
]
READ = (
    Message("user", "How long is the Aare?"),
    Message("assistant", "", (ToolRequest("length", {"river": "Aare"}, "c1"),)),
    Message("tool", "288 km", tool_call_id="c1"),
)


def constructor(name: str, **kwargs: Any) -> dict[str, Any]:
    """LangChain's serialised object."""
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", name], "kwargs": kwargs}


CALL = {"id": "c1", "name": "length", "args": {"river": "Aare"}}
SERIALISED = [
    constructor("HumanMessage", content="How long is the Aare?", type="human"),
    constructor("AIMessage", content="", type="ai", tool_calls=[CALL]),
    constructor("ToolMessage", content="288 km", type="tool", tool_call_id="c1"),
]
WRAPPED = {
    "list": json.dumps(SAID),
    "twice": json.dumps(json.dumps(SAID)),
    "three times": json.dumps(json.dumps(json.dumps(SAID))),
    "texts": json.dumps([json.dumps(m) for m in SAID]),
    "messages": json.dumps({"messages": SAID}),
    "prompts": json.dumps({"messages": [SAID]}),
    "request": json.dumps({"model": "m", "input": SAID, "tools": []}),
    "state": json.dumps({"outputs": {"messages": SAID}}),
    "choices": json.dumps({"id": "r", "choices": [{"index": i, "message": m} for i, m in enumerate(SAID)]}),
    "lines": "\n".join(json.dumps(m) for m in SAID),
    "python": repr(SAID),
    "python object": repr({"messages": SAID}),
    "serialised": json.dumps(SERIALISED),
    "serialised prompts": json.dumps([SERIALISED]),
    "serialised object": json.dumps(constructor("ChatPromptValue", messages=SERIALISED)),
    "generations": json.dumps({"generations": [[{"text": "", "message": m} for m in SERIALISED]], "llm_output": None}),
}


@pytest.mark.parametrize("name", WRAPPED)
def test_the_same_conversation_in_any_wrapping(name: str) -> None:
    """What is unwrapped is told by structure alone."""
    assert wrapped_messages(WRAPPED[name], "user") == READ


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ({"generations": [[{"text": "288 km", "generation_info": {}}]]}, "288 km"),
        ({"candidates": [{"content": {"role": "model", "parts": [{"text": "288 km"}]}, "index": 0}]}, "288 km"),
        ({"output": {"message": {"role": "assistant", "content": [{"text": "288 km"}]}}}, "288 km"),
        ([{"type": "text", "content": "It is"}, {"type": "text", "content": "288 km"}], "It is\n288 km"),
        ([{"role": "model", "partial": True, "parts": [{"text": "28"}]}, {"role": "model", "parts": ["288"]}], "288"),
        ({"role": "model", "parts": [{"text": "Let me see.", "thought": True}, {"text": "288"}]}, "288"),
    ],
    ids=["generation", "gemini", "bedrock", "parts alone", "streamed", "thought"],
)
def test_a_response_of_an_interface(text: Any, said: str) -> None:
    """Responses of models' interfaces as they are; thoughts and streamed partials are no reply."""
    (found,) = wrapped_messages(json.dumps(text), "assistant")
    assert (found.role, found.text) == ("assistant", said)


@pytest.mark.parametrize("document", [{"messages": SAID}, SAID, [json.dumps(m) for m in SAID], {"answer": 42}])
def test_a_document_that_a_user_pastes_is_that_users_text(document: Any) -> None:
    """The content of a message is never unwrapped."""
    pasted = json.dumps(document)
    said = wrapped_messages(json.dumps([{"role": "user", "content": pasted}]), "user")
    assert said == (Message("user", pasted),)


@pytest.mark.parametrize(
    "text", ['{"answer": 42}', '[{"river": "Aare"}]', '{"q": [1, 2]}', '"quoted"', "{'a': 1}", "7"]
)
def test_json_without_a_message_stays_text(text: str) -> None:
    """A structured answer is what the model said."""
    assert wrapped_messages(text, "assistant") == (Message("assistant", text),)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["role", "content", "parts", "messages", "message", "type", "lc", "kwargs", "text", "id"]),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_no_structure_raises(value: Any) -> None:
    """Content is hostile."""
    for text in (json.dumps(value), json.dumps(json.dumps(value)), repr(value)):
        assert all(isinstance(m, Message) for m in wrapped_messages(text, "user"))


@pytest.mark.parametrize(
    ("part", "shown"),
    [
        ({"type": "blob", "modality": "image", "mime_type": "image/png", "content": "iVBOR"}, "[image: image/png]"),
        ({"type": "uri", "modality": "audio", "uri": "https://a.example/x.mp3"}, "[audio: https://a.example/x.mp3]"),
        ({"type": "file", "modality": "image", "file_id": "f1"}, "[image: f1]"),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBOR"}}, "[image: image/png]"),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg"}}, "[image: image/jpeg]"),
        ({"inlineData": {"mimeType": "application/pdf", "data": "JVBERi0"}}, "[file: application/pdf]"),
        ({"image": {"format": "png", "source": {}}}, "[image: png]"),
        (blob(png()), f"[image: image/png{mark_of(png())}"),
        ({"type": "image_url", "image_url": {"url": picture().url}}, f"[image: image/png{mark_of(png())}"),
        ({"image": {"format": "png", "source": {"bytes": blob(png())["content"]}}}, f"[image: png{mark_of(png())}"),
        ({"type": "image", "data": blob(png())["content"]}, f"[image: image/png{mark_of(png())}"),
        (blob(b"<svg xmlns='http://www.w3.org/2000/svg'/>"), "[image: image/png]"),
        ({"type": "my_part", "value": 1}, "[my_part]"),
    ],
)
def test_a_part_that_is_no_text_leaves_a_placeholder(part: dict[str, Any], shown: str) -> None:
    """A message of a picture alone is no empty one; its bytes are not shown."""
    assert parse_messages([{"role": "user", "content": [part]}]) == (Message("user", shown),)


SEARCH = {"query": "Aare"}


@pytest.mark.parametrize(
    ("parts", "name", "arguments", "result"),
    [
        (
            [
                {"type": "server_tool_call", "id": "s1", "name": "search",
                 "server_tool_call": {"type": "search", "query": "Aare"}},
                {"type": "server_tool_call_response", "id": "s1",
                 "server_tool_call_response": {"type": "search", "text": "288 km"}},
            ],
            "search", SEARCH, "288 km",
        ),
        (
            [
                {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": SEARCH},
                {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [{"text": "288 km"}]},
            ],
            "web_search", SEARCH, "288 km",
        ),
        (
            [{"type": "web_search_call", "id": "s1", "status": "completed", "action": SEARCH}],
            "web_search", SEARCH, "[result not recorded]",
        ),
        (
            [{"type": "mcp_call", "id": "s1", "name": "ask", "arguments": '{"query": "Aare"}', "output": "288 km"}],
            "ask", SEARCH, "288 km",
        ),
        (
            [{"type": "mcp_call", "id": "s1", "name": "ask", "arguments": '{"query": "Aare"}', "error": "no tool"}],
            "ask", SEARCH, "Error: no tool",
        ),
        (
            [{"type": "server_tool_call", "id": "s1", "name": "search", "arguments": SEARCH}],
            "search", SEARCH, "[result not recorded]",
        ),
    ],
)  # fmt: skip
def test_a_tool_that_the_provider_runs_is_a_call(parts: Any, name: str, arguments: Any, result: str) -> None:
    """The call and its result, from one message."""
    found = parse_messages([{"role": "assistant", "parts": [*parts, {"type": "text", "content": "It is 288 km."}]}])
    assert [r for m in found for r in m.tool_requests] == [ToolRequest(name, arguments, "s1")]
    assert [m.text for m in found if m.tool_call_id == "s1"] == [result]
    assert "It is 288 km." in [m.text for m in found]


HISTORY = [("user", "u"), ("assistant", "c"), ("tool", "r"), ("assistant", "a")]


@pytest.mark.parametrize("sent", [[], HISTORY[:1], HISTORY[:3]], ids=["nothing", "request", "all"])
@pytest.mark.parametrize("after", [[], [("user", "(state)")]], ids=["", "then a user"])
@pytest.mark.parametrize("names", [{}, {"user": "human", "assistant": "ai"}], ids=["roles", "types"])
def test_a_call_that_records_the_history_as_its_output(sent: Any, after: Any, names: dict[str, str]) -> None:
    """Its reply is what the assistant wrote last; what came before was sent."""
    written = [[{"role": names.get(r, r), "content": t} for r, t in part] for part in (sent, [*HISTORY, *after])]
    attributes = {"gen_ai.operation.name": "chat"}
    attributes |= dict(zip(("gen_ai.input.messages", "gen_ai.output.messages"), map(json.dumps, written), strict=True))
    (found,) = normalise_all([span("a", attributes=attributes)])
    assert (found.output, [m.role for m in found.input_messages]) == ("a", ["user", "assistant", "tool"])


GEMINI = {"candidates": [{"content": {"role": "model", "parts": [{"text": "288 km"}]}}]}


@pytest.mark.parametrize(
    "output", [GEMINI, json.dumps(json.dumps(GEMINI)), repr(GEMINI), {"km": 288}, {"content": "x"}]
)
def test_a_recorded_response_without_flattened_messages(output: Any) -> None:
    """OpenInference's whole record is read where it says whose words it holds; a structured answer stays as it is."""
    text = output if isinstance(output, str) else json.dumps(output)
    attributes = {"openinference.span.kind": "LLM", "input.value": json.dumps(json.dumps(SAID)), "output.value": text}
    (found,) = normalise_all([span("a", attributes=attributes)])
    assert found.input_messages == READ
    assert found.output == ("288 km" if "288 km" in text else text if "km" in text else "x")
