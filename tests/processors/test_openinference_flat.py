"""OpenInference's flattened lists, against reading them field by field without remembering anything."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hypothesis import given
from hypothesis import strategies as st

from tracejury.processors.normalize import openinference_layout
from tracejury.processors.normalize.arguments import parse_arguments
from tracejury.processors.normalize.openinference_flat import read_flat
from tracejury.schemas.normalized import Message, ToolRequest

INDICES = st.sampled_from(["0", "1", "2", "00", "01", "10", "123456789", "1234567890", "x", "", "-1", "¹"])
FIELDS = st.sampled_from(
    [
        "message.role", "message.role", "message.content", "message.content", "message.name", "message.tool_call_id",
        "message.tool_calls.0.tool_call.function.name", "message.tool_calls.0.tool_call.function.arguments",
        "message.tool_calls.1.tool_call.function.name", "message.tool_calls.00.tool_call.id",
        "message.contents.0.message_content.text", "message.contents.0.message_content.type",
        "message.function_call_name", "tool.json_schema", "other", "",
    ]
)  # fmt: skip
LISTS = st.sampled_from(["llm.input_messages.", "llm.output_messages.", "llm.tools.", "llm.", ""])
KEYS = st.builds("{}{}.{}".format, LISTS, INDICES, FIELDS) | st.sampled_from(["llm.input_messages.3", "input.value"])
VALUES = st.sampled_from(
    ["user", "AI", "tool-response", "Call id: c1\nDone.", "__REDACTED__", "", "reasoning", '{"a": 1}', "f", "x" * 4_001]
)
SHORT: Final = 10


def index_of(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < SHORT else None


def items(attributes: Mapping[str, str], prefix: str) -> list[tuple[int, dict[str, str]]]:
    """The fields of each item below a prefix, by index."""
    found: dict[int, dict[str, str]] = {}
    for key, value in attributes.items():
        index, _, field = key.removeprefix(prefix).partition(".")
        if key.startswith(prefix) and (number := index_of(index)) is not None:
            found.setdefault(number, {})[field] = value
    return sorted(found.items())


def message(fields: Mapping[str, str]) -> Message:
    role = fields.get("message.role", "").lower()
    role = {"ai": "assistant"}.get(role, role)
    content = fields.get("message.content", "").replace("__REDACTED__", "")
    parts = [part for _, part in items(fields, "message.contents.")]
    told = [(p.get("message_content.type", ""), p.get("message_content.text", "")) for p in parts]
    told = [(kind, text) for kind, text in told if text and text != "__REDACTED__"]
    text = content or "\n".join(text for kind, text in told if kind != "reasoning")
    requests = [
        ToolRequest(
            f.get("tool_call.function.name", ""),
            parse_arguments(f.get("tool_call.function.arguments", "")),
            f.get("tool_call.id", ""),
        )
        for _, f in items(fields, "message.tool_calls.")
    ]
    if not requests and (name := fields.get("message.function_call_name", "")):
        requests = [ToolRequest(name, parse_arguments(""))]
    answered = role == "tool-response" and text.startswith("Call id: c1")
    return Message(
        role,
        text,
        tuple(requests),
        fields.get("message.tool_call_id", "") or ("c1" if answered else ""),
        fields.get("message.name", ""),
        "\n".join(text for kind, text in told if kind == "reasoning"),
    )


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=12), max_size=4))
def test_lists_are_read_by_the_places_of_their_keys(calls: list[dict[str, str]]) -> None:
    """Whatever keys there are, in whatever order, and whatever was read before."""
    for attributes in calls * 2:
        inputs, outputs = items(attributes, "llm.input_messages."), items(attributes, "llm.output_messages.")
        found = read_flat(attributes)
        assert found.inputs == tuple(message(fields) for _, fields in inputs)
        assert found.outputs == tuple(message(fields) for _, fields in outputs)
        tools = [fields for _, fields in items(attributes, "llm.tools.")]
        assert found.schemas == [f["tool.json_schema"] for f in tools if "tool.json_schema" in f]
        assert found.is_late == (bool(inputs) and inputs[0][0] > 1)


def test_layouts_are_bounded() -> None:
    """By their number, and by the size of their keys."""
    for number in range(2_000):
        read_flat({f"llm.input_messages.{number}.message.role": "user"})
        read_flat({f"llm.input_messages.{number}.{'x' * 30_000}": "user"})
    known = openinference_layout._known
    assert len(known) <= 512
    assert all(sum(map(len, keys)) <= 20_000 for keys in known)
