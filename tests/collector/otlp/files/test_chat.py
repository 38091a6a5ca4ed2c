"""Recorded conversations with messages as of OpenAI's chat API: their traces, and what is none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tracejury.collector.otlp.codec.groups import rows
from tracejury.collector.otlp.files import BrokenFileError, TraceFile, read, read_file

SYSTEM = {"role": "developer", "content": "You are a clerk."}
GREETING = {"role": "assistant", "content": "Hello!"}
ASKED = {"role": "user", "content": [{"type": "text", "text": "Refund 7"}, {"type": "image_url"}]}
CALL = {
    "role": "assistant", "content": None, "tool_calls": [
        {"id": "c", "type": "function", "function": {"name": "look", "arguments": '{"id": 7}'}},
        {"id": "d", "type": "function", "function": {"name": "list", "arguments": "{broken"}},
        {"id": "e", "type": "function", "function": {"name": "wait", "arguments": ""}},
    ],
}  # fmt: skip
RESULTS = [{"role": "tool", "tool_call_id": call, "content": f"result {call}"} for call in ("d", "c")]
ANSWER = {"role": "assistant", "content": "Done. \ud800"}
LEGACY = [
    {"role": "assistant", "function_call": {"name": "pay", "arguments": '{"eur": 1}'}},
    {"role": "function", "name": "pay", "content": "paid"}, {"role": "assistant", "refusal": "No more."},
]  # fmt: skip
MESSAGES = [SYSTEM, GREETING, ASKED, CALL, *RESULTS, ANSWER, {"role": "user", "content": "Again"}, *LEGACY]


def spans_in(folder: Path, *documents: object) -> list[list[tuple[str, Span]]]:
    """The spans of each session with their services."""
    file = folder / "chat.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in documents))
    requests = [source.request for source in read_file(TraceFile(file, chat=True))]
    return [
        [(header.resource.attributes[0].value.string_value, span) for header, _, span in rows(request)]
        for request in requests
    ]


def given(span: Span) -> Mapping[str, Any]:
    values = {pair.key: getattr(pair.value, str(pair.value.WhichOneof("value"))) for pair in span.attributes}
    return {key: json.loads(value) if key.endswith("messages") else value for key, value in values.items()}


def test_a_conversation_is_a_session_as_talk_makes_it(tmp_path: Path) -> None:
    """A trace an exchange, below a root of the user; a span for each reply and each call, also without a result."""
    whole = {"task": 7, "persona": "expert", "trial": 2, "service": "shop", "messages": MESSAGES}
    ((first, *_), *_), again = spans_in(tmp_path, whole), spans_in(tmp_path, whole)
    (found,) = again
    assert {service for service, _ in found} == {"shop"}
    spans = [span for _, span in found]
    assert [span.name for span in spans] == [
        "invoke_agent", "invoke_agent shop", "chat", "execute_tool look", "execute_tool list", "execute_tool wait",
        "chat", "invoke_agent", "invoke_agent shop", "chat", "execute_tool pay", "chat",
    ]  # fmt: skip
    assert len({span.trace_id for span in spans[:7]}) == len({span.trace_id for span in spans[7:]}) == 1
    assert spans[0].trace_id != spans[7].trace_id
    assert first[1].span_id == spans[0].span_id  # the same when it is sent again
    roots = [given(span) for span in spans if not span.parent_span_id]
    assert [span.kind for span in spans if not span.parent_span_id] == [Span.SPAN_KIND_CLIENT] * 2
    named = {"tracejury.task.id": "7", "tracejury.persona": "expert", "tracejury.trial": 2, "tracejury.simulated": True}
    session = roots[0]["session.id"]
    for root, asked, answer in zip(roots, ("Refund 7\n[image_url]", "Again"), ("Done. ?", "No more."), strict=True):
        assert root.items() >= {**named, "session.id": session}.items()
        assert root["gen_ai.input.messages"][0]["parts"][0]["content"] == asked
        assert root["gen_ai.output.messages"][0]["parts"][0]["content"] == answer
    assert [root.get("tracejury.session.end") for root in roots] == [None, True]
    received = [message["parts"][0] for message in given(spans[2])["gen_ai.input.messages"]]
    assert [part["content"] for part in received] == ["You are a clerk.", "Hello!", "Refund 7\n[image_url]"]
    calls = [given(span) for span in spans if span.name.startswith("execute_tool")]
    assert [(one["gen_ai.tool.call.arguments"], one.get("gen_ai.tool.call.result")) for one in calls] == [
        ('{"id": 7}', "result c"), ("{broken", "result d"), ("{}", None), ('{"eur": 1}', "paid"),
    ]  # fmt: skip


def test_conversations_that_are_alike_are_sessions_of_their_own(tmp_path: Path) -> None:
    """Without a trial, too; a service that none names is that of `talk`. A list of them is read like lines."""
    alike = {"task": "a", "messages": [ASKED, ANSWER]}
    sessions = spans_in(tmp_path, alike, alike, {"task": "b", "messages": [ASKED]})
    ids = [given(spans[0][1])["session.id"] for spans in sessions]
    assert len({*ids}) == 3
    assert {service for spans in sessions for service, _ in spans} == {"tracejury-talk"}
    assert len({span.trace_id for spans in sessions for _, span in spans}) == 3
    assert [given(s[0][1])["session.id"] for s in spans_in(tmp_path, [alike, alike])] == ids[:2]
    assert "gen_ai.output.messages" not in given(sessions[2][0][1])


def test_conversations_are_told_by_their_content_too(tmp_path: Path) -> None:
    """Beside other files of a folder, of which those without a task are no conversations."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"task": "a", "messages": [ASKED, ANSWER]}))
    (tmp_path / "index.json").write_text(json.dumps({"messages": [ASKED]}))
    (source,) = read([tmp_path])
    assert len(list(rows(source.request))) == 3


@pytest.mark.parametrize(
    ("document", "why"),
    [
        ({"messages": [ASKED]}, "conversation 2: task: "),
        ({"task": "a", "messages": []}, "conversation 2: messages: "),
        ({"task": "a", "messages": "no"}, "conversation 2: messages: "),
        ({"task": "a", "messages": [{"content": "x"}]}, "conversation 2: messages.0.role: "),
        ({"task": "a", "messages": [{"role": "critic"}]}, "conversation 2: messages.0.role: "),
        ({"task": "a", "messages": [SYSTEM, GREETING]}, "conversation 2: messages: there is none of a user"),
        ({"task": "a", "messages": [ASKED, {"role": "user"}]}, "conversation 2: messages.1.content: "),
        ({"task": "a", "messages": [{"role": "user", "content": []}]}, "conversation 2: messages.0.content: "),
        ({"task": "a", "messages": [ASKED, *RESULTS]}, "conversation 2: messages.1: it is the result of no call"),
        ({"task": "a", "messages": [ASKED, CALL, RESULTS[0], RESULTS[0]]}, "messages.3: it is the result of no call"),
        ({"task": "a", "messages": [ASKED | {"timestamp": "yesterday"}]}, "messages.0.timestamp: it is no time"),
        ({"task": "a", "trial": 0, "messages": [ASKED]}, "conversation 2: trial: "),
        ({"task": "a", "personna": "x", "messages": [ASKED]}, "conversation 2: personna: "),
        ({"resourceSpans": []}, "conversation 2: "),
        (7, "conversation 2: "),
    ],
)
def test_what_is_no_conversation_is_one_line(tmp_path: Path, document: object, why: str) -> None:
    """With the number of the line, and without a value."""
    with pytest.raises(BrokenFileError) as error:
        spans_in(tmp_path, {"task": "a", "messages": [ASKED]}, document)
    assert why in str(error.value), error.value
    assert "\n" not in str(error.value)


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    """As it stands in the file, blank lines counted."""
    (tmp_path / "a.jsonl").write_text(json.dumps({"task": "a", "messages": [ASKED]}) + '\n\n{"task": "b", \n{}\n')
    with pytest.raises(BrokenFileError, match=r"a\.jsonl, line 3, is broken JSON"):
        list(read([tmp_path / "a.jsonl"]))
