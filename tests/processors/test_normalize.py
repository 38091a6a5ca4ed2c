"""Spans of any convention to one vocabulary: recognised by evidence, read whatever is missing or hostile."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from trajectories import span

from tracejury.processors.normalize import CONVENTIONS, normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import ExceptionInfo, Kind, NormalizedSpan
from tracejury.schemas.spans import LogRecord, Span, SpanEvent


def read(attributes: dict[str, Any], **changes: Any) -> NormalizedSpan:
    return normalize(span("s", attributes=attributes, **changes))


@pytest.mark.parametrize(
    ("attributes", "convention", "kind"),
    [
        ({}, "", Kind.OTHER),
        ({"http.method": "GET"}, "", Kind.OTHER),
        ({"openinference.span.kind": "LLM"}, "openinference", Kind.LLM),
        ({"openinference.span.kind": "agent"}, "openinference", Kind.AGENT),
        ({"openinference.span.kind": "PROMPT"}, "openinference", Kind.OTHER),
        ({"openinference.span.kind": "RETRIEVER"}, "openinference", Kind.RETRIEVER),
        ({"llm.output_messages.0.message.role": "assistant"}, "openinference", Kind.LLM),
        ({"llm.model_name": "x"}, "", Kind.OTHER),
        ({"gen_ai.operation.name": "chat"}, "genai", Kind.LLM),
        ({"gen_ai.operation.name": "text_completion"}, "genai", Kind.LLM),
        ({"gen_ai.operation.name": "embeddings"}, "genai", Kind.EMBEDDING),
        ({"gen_ai.operation.name": "invoke_agent"}, "genai", Kind.AGENT),
        ({"gen_ai.operation.name": "create_agent"}, "genai", Kind.OTHER),
        ({"gen_ai.operation.name": "invoke_workflow"}, "genai", Kind.AGENT),
        ({"gen_ai.operation.name": "plan"}, "genai", Kind.PLAN),
        ({"gen_ai.operation.name": "anything new"}, "genai", Kind.CHAIN),
        ({"gen_ai.tool.call.id": "c"}, "genai", Kind.TOOL),
        ({"gen_ai.request.model": "m"}, "genai", Kind.LLM),
        ({"gen_ai.agent.name": "a"}, "genai", Kind.CHAIN),
        ({"openinference.span.kind": "TOOL", "gen_ai.operation.name": "chat"}, "openinference", Kind.TOOL),
    ],
)
def test_the_convention_is_recognised_by_evidence(attributes: dict[str, str], convention: str, kind: Kind) -> None:
    """What a span carries tells the convention and the kind; a name alone never does."""
    found = read(attributes)
    assert (found.convention, found.kind) == (convention, kind)


def test_a_log_record_can_be_the_only_evidence() -> None:
    """Message content may arrive as log records of a span that says nothing itself."""
    log = LogRecord("t", "s", 1, 1, event_name="gen_ai.user.message", body='{"content": "hi"}', body_type="kvlist")
    found = normalize(span("s"), [log])
    assert (found.convention, found.kind) == ("genai", Kind.LLM)
    assert [m.text for m in found.input_messages] == ["hi"]


@pytest.mark.parametrize("event", ["gen_ai.evaluation.result", "exception", ""])
def test_a_log_record_without_messages_is_no_evidence(event: str) -> None:
    """Evaluations and exceptions are recorded beside spans of any kind."""
    log = LogRecord("t", "s", 1, 1, event_name=event, body="x", attributes={"gen_ai.evaluation.name": "judge"})
    assert normalize(span("s"), [log]).kind is Kind.OTHER


def test_exceptions_may_be_log_records() -> None:
    """OpenTelemetry moves exceptions from span events to log records; both at once are one."""
    attributes = {"exception.type": "ValueError", "exception.message": "bad"}
    log = LogRecord("t", "s", 1, 1, event_name="exception", attributes=attributes)
    expected = (ExceptionInfo("ValueError", "bad"),)
    for found in ({"openinference.span.kind": "TOOL"}, {"gen_ai.operation.name": "chat"}, {}):
        assert normalize(span("s", attributes=found), [log]).exceptions == expected
    assert normalize(span("s", events=(SpanEvent(1, "exception", attributes),)), [log, log]).exceptions == expected


def test_names_of_conventions_are_distinct() -> None:
    """Users filter by them."""
    names = [c.name for c in CONVENTIONS]
    assert len(set(names)) == len(names)
    assert all(names)


def test_the_stored_span_is_kept() -> None:
    """Raw attributes stay at hand, whatever was read from them."""
    raw = span("s", attributes={"openinference.span.kind": "LLM", "odd": "x"})
    assert normalize(raw).raw is raw


def test_ordinary_log_lines_are_the_spans_own_text() -> None:
    """In order of time; records that hold messages are not repeated there."""
    logs = [
        LogRecord("t", "s", 3, 3, body="second"),
        LogRecord("t", "s", 0, 2, body="first"),
        LogRecord("t", "s", 1, 1, event_name="gen_ai.user.message", body='{"content": "hi"}'),
    ]
    assert normalize(span("s", attributes={"gen_ai.operation.name": "chat"}), logs).log_text == ("first", "second")
    plain = normalize(span("s"), logs[:2])
    assert plain.log_text == ("first", "second")


def test_exception_events_are_read_once() -> None:
    """Some instrumentations record the same exception twice."""
    event = SpanEvent(1, "exception", {"exception.type": "ValueError", "exception.message": "bad"})
    other = SpanEvent(2, "exception", {"exception.type": "AgentError"})
    found = normalize(span("s", events=(event, SpanEvent(1, "other", {}), event, other)))
    assert found.exceptions == (ExceptionInfo("ValueError", "bad"), ExceptionInfo("AgentError", ""))


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"llm.invocation_parameters": '{"stop": ["a", "b"]}'}, ("a", "b")),
        ({"llm.invocation_parameters": '{"stop": "a"}'}, ("a",)),
        ({"input.value": '{"messages": [], "stop_sequences": ["<end>"], "grammar": null}'}, ("<end>",)),
        ({"input.value": '{"messages": [], "stop_sequences":\n ["<end>"]}'}, ("<end>",)),
        ({"input.value": '{"stop_sequences": null}'}, ()),
        ({"input.value": '{"stop_sequences": ["<end>"]'}, ("<end>",)),
        ({"input.value": '{"stop_sequences": ["<en'}, ()),
        ({"input.value": r'{"messages": ["he said \"stop_sequences\": [\"x\"]"]}'}, ()),
        ({"input.value": '{"stop_sequences": [1, "x"]}'}, ("x",)),
        ({}, ()),
    ],
)
def test_stop_sequences(attributes: dict[str, str], expected: tuple[str, ...]) -> None:
    """From the parameters, else from the end of the client's recorded arguments; quoted text is no key."""
    assert read({"openinference.span.kind": "LLM", **attributes}).stop_sequences == expected


@pytest.mark.parametrize(
    ("recorded", "schema", "arguments"),
    [
        (
            '{"q": {"type": "string"}}',
            {"type": "object", "properties": {"q": {"type": "string"}}, "required": ["q"]},
            None,
        ),
        ('{"type": "object", "properties": {}}', {"type": "object", "properties": {}}, None),
        ('{"q": "Rhine"}', None, {"q": "Rhine"}),
        ('{"type": "car"}', None, {"type": "car"}),
        ("{}", {"type": "object", "properties": {}, "required": []}, None),
        ("nonsense", None, None),
    ],
)
def test_tool_parameters_are_a_schema_or_the_arguments(recorded: str, schema: Any, arguments: Any) -> None:
    """Instrumentations disagree on what `tool.parameters` holds."""
    found = read({"openinference.span.kind": "TOOL", "tool.name": "t", "tool.parameters": recorded})
    assert found.tool_parameters == schema
    assert found.tool_arguments == arguments


def test_an_unrecorded_tool_result_is_not_an_empty_one() -> None:
    """A tool that returned nothing and one whose output was not captured differ."""
    assert read({"openinference.span.kind": "TOOL"}).tool_result is None
    assert read({"openinference.span.kind": "TOOL", "output.value": ""}).tool_result == ""
    assert read({"gen_ai.operation.name": "execute_tool"}).tool_result is None


def test_sparse_indices_cost_nothing() -> None:
    """Indices are labels: a message 999999999 is one message, a longer index none."""
    found = read(
        {
            "openinference.span.kind": "LLM",
            "llm.input_messages.999999999.message.content": "last",
            "llm.input_messages.3.message.content": "first",
            "llm.input_messages.9999999999999999999.message.content": "none",
            "llm.input_messages.3.message.tool_calls.999999999.tool_call.function.name": "t",
        }
    )
    assert [m.text for m in found.input_messages] == ["first", "last"]
    assert [r.name for r in found.input_messages[0].tool_requests] == ["t"]


HUGE = [
    "[" * 100_000,
    '{"messages":' * 50_000,
    "{'a':" * 5_000 + "1" + "}" * 5_000,
    "{" + "-" * 19_000 + "1}",
    "[" + "1+" * 9_900 + "1]",
    "content='" + "\\'" * 300_000,
    '"' + "x" * 1_000_000,
    '{"a":"' + "x" * 1_000_000 + '"}',
    "[" + '{"text":""},' * 50_000 + "{}]",
    "x" * 1_000_000,
]


@pytest.mark.parametrize("text", HUGE, ids=range(len(HUGE)))
@pytest.mark.parametrize(
    "keys",
    [
        {"openinference.span.kind": "TOOL", "input.value": "", "output.value": "", "tool.parameters": ""},
        {"openinference.span.kind": "LLM", "input.value": "", "output.value": "", "llm.invocation_parameters": ""},
        {"openinference.span.kind": "CHAIN", "input.value": "", "output.value": "", "metadata": ""},
        {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.call.arguments": "", "gen_ai.tool.call.result": ""},
        {"gen_ai.operation.name": "chat", "gen_ai.input.messages": "", "gen_ai.system_instructions": ""},
        {"traceloop.span.kind": "tool", "traceloop.entity.input": "", "traceloop.entity.output": ""},
        {"ai.operationId": "ai.generateText", "ai.prompt": "", "ai.response.toolCalls": "", "ai.prompt.tools": ""},
        {"gcp.vertex.agent.llm_request": "", "gcp.vertex.agent.llm_response": ""},
        {
            "langfuse.observation.type": "generation",
            "langfuse.observation.input": "",
            "langfuse.observation.output": "",
        },
        {"agent_name": "a", "model_name": "m", "all_messages_events": "", "final_result": ""},
    ],
    ids=lambda keys: next(iter(keys)),
)
def test_huge_and_deep_values_are_read_as_far_as_they_can_be(keys: dict[str, str], text: str) -> None:
    """A megabyte, deep nesting in JSON or Python's notation: kept as text where it cannot be parsed, never an error."""
    found = read({key: value or text for key, value in keys.items()})
    assert found.convention
    assert found.raw.attributes


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ('{"input_str": "{\'q\': (1, None, True)}", "tags": [], "kwargs": {"color": "green"}}', {"q": [1, None, True]}),
        ('{"input_str": "Rhine", "tags": []}', "Rhine"),
        ('{"input_str": "x", "inputs": {"q": "Rhine"}}', {"q": "Rhine"}),
        ("{'q': 'it\\'s'}", {"q": "it's"}),
        ("{'q': open('/etc/passwd')}", "{'q': open('/etc/passwd')}"),
        ("{'q': " + "[" * 300 + "]" * 300 + "}", "{'q': " + "[" * 300 + "]" * 300 + "}"),
        ('"{\\"q\\": 1}"', {"q": 1}),
        ("'{\"q\": 1}'", {"q": 1}),
        ('"Rhine"', '"Rhine"'),
        ('{"kwargs": {"q": 1, "instructions_override": null, "security_context": {}}}', {"q": 1}),
        ('{"args": {"q": 1}, "kwargs": {"r": 2}}', {"q": 1, "r": 2}),
        ('{"name": "search", "arguments": {"q": 1}, "id": "c"}', {"q": 1}),
        ('{"name": "Ann", "input": "x"}', {"name": "Ann", "input": "x"}),
        ('{"arguments": {"q": 1}}', {"arguments": {"q": 1}}),
    ],
)
def test_arguments_are_the_same_in_any_wrapping(text: str, arguments: Any) -> None:
    """Calls are compared by their arguments; what is only text is never run."""
    assert read({"openinference.span.kind": "TOOL", "input.value": text}).tool_arguments == arguments


def test_a_tool_may_know_a_key_that_frameworks_add() -> None:
    """Its schema says so."""
    schema = '{"type": "object", "properties": {"security_context": {"type": "string"}}}'
    attributes = {"openinference.span.kind": "TOOL", "tool.parameters": schema}
    found = read(attributes | {"input.value": '{"security_context": "low"}'})
    assert found.tool_arguments == {"security_context": "low"}


@pytest.mark.parametrize(
    ("recorded", "result", "call_id", "failure"),
    [
        ('{"type": "tool", "data": {"content": "12", "tool_call_id": "c", "status": "error"}}', "12", "c", "12"),
        ('{"content": [{"type": "text", "text": "no"}], "isError": true}', "no", "", "no"),
        ('{"content": [{"type": "text", "text": "12"}], "isError": false}', "12", "", ""),
        ("content='it\\'s 12' name='t' tool_call_id='c'", "it's 12", "c", ""),
        ("content='no' name='t' tool_call_id='c' status='error'", "no", "c", "no"),
        ("content=12", "content=12", "", ""),
        ('{"id": "c", "name": "t", "response": {"error": "no"}}', '{"error":"no"}', "c", "no"),
        ('{"error": {"message": "no", "code": 5}}', '{"error": {"message": "no", "code": 5}}', "", "no"),
        ('{"status": "error", "message": "no"}', '{"status": "error", "message": "no"}', "", "no"),
        ('{"status": "error", "error_message": "no"}', '{"status": "error", "error_message": "no"}', "", "no"),
        ('{"error": null, "status": "done"}', '{"error": null, "status": "done"}', "", ""),
        ('{"error": "rate", "value": 3}', '{"error": "rate", "value": 3}', "", ""),
        ('[{"text": "a"}, {"text": "b"}]', "a\nb", "", ""),
        ("Error: no", "Error: no", "", ""),
    ],
)
def test_results_are_what_the_model_is_told(recorded: str, result: str, call_id: str, failure: str) -> None:
    """Frameworks' own records of a result are opened; one that is an error and nothing else is a failure."""
    found = read({"openinference.span.kind": "TOOL", "output.value": recorded})
    assert (found.tool_result, found.tool_call_id, found.failure) == (result, call_id, failure)
    assert found.is_error is bool(failure)


KEYS = st.sampled_from(
    [
        "openinference.span.kind", "gen_ai.operation.name", "gen_ai.input.messages", "gen_ai.output.messages",
        "gen_ai.system_instructions", "gen_ai.tool.definitions", "gen_ai.tool.call.arguments", "gen_ai.agent.tools",
        "gen_ai.response.finish_reasons", "gen_ai.usage.input_tokens", "gen_ai.request.stop_sequences",
        "gen_ai.tool.json_schema", "llm.invocation_parameters", "llm.tools.0.tool.json_schema", "input.value",
        "output.value", "tool.parameters", "llm.token_count.prompt", "smolagents.tools_names", "smolagents.max_steps",
        "smolagents.managed_agents.x.name", "llm.input_messages", "llm.input_messages.", "llm.input_messages.0",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments",
        "llm.output_messages.0.message.tool_calls.0", "llm.output_messages.0.message.contents.0",
        "llm.input_messages.0.message.contents.0.message_content.text", "content", "message", "tool_calls", "role",
        "metadata", "output.mime_type", "traceloop.span.kind", "traceloop.entity.name", "traceloop.entity.input",
        "traceloop.entity.output", "gen_ai.prompt.0.content", "gen_ai.prompt.0.role", "gen_ai.completion.0.content",
        "gen_ai.prompt.0.tool_calls.0.arguments", "gen_ai.completion.0.tool_calls.0.name", "llm.request.type",
        "llm.request.functions.0.parameters", "llm.request.functions.0.name", "ai.operationId", "ai.prompt",
        "ai.prompt.messages", "ai.prompt.tools", "ai.response.toolCalls", "ai.response.text", "ai.toolCall.args",
        "ai.toolCall.result", "gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response",
        "gcp.vertex.agent.tool_call_args", "gcp.vertex.agent.tool_response", "langfuse.observation.type",
        "langfuse.observation.input", "langfuse.observation.output", "langfuse.observation.usage_details",
        "langfuse.observation.model.parameters", "agent_name", "model_name", "all_messages_events", "events",
        "tool_arguments", "tool_response", "model_request_parameters", "request_data", "response_data",
        "gen_ai.tool.call.result", "gen_ai.event.content", "gen_ai.tool.name", "gen_ai.tool.status",
    ]
)  # fmt: skip
MEMBERS = [
    "role", "content", "parts", "type", "tool_calls", "function", "name", "arguments", "id", "text", "result",
    "response", "toolUse", "toolResult", "input", "messages", "choices", "message", "kwargs", "args", "properties",
    "reasoning", "config", "contents", "system_instruction", "tools", "function_declarations", "data", "lc", "value",
    "input_str", "inputs", "outputs", "output", "error", "status", "isError", "is_error", "blocks", "raw_output",
    "tool_call_id", "generations", "system", "prompt", "additional_kwargs", "event.name", "usage_metadata", "stop",
    "function_tools", "function_call", "function_response", "tool-call", "toolName", "toolCallId",
]  # fmt: skip
JSON_TEXT = st.recursive(
    st.sampled_from(
        ["null", "1", "NaN", '"x"', '"tool"', '"text"', '"human"', '"ai"', "{}", "[]", '"\\ud800"', "1e999"]
    ),
    lambda inner: st.lists(inner, max_size=3).map(lambda v: "[" + ",".join(v) + "]")
    | st.lists(
        st.tuples(
            st.sampled_from(MEMBERS),
            inner,
        ),
        max_size=4,
    ).map(lambda v: "{" + ",".join(f'"{k}":{w}' for k, w in v) + "}"),
    max_leaves=12,
)  # fmt: skip
VALUES = (
    st.sampled_from(
        [
            "LLM",
            "TOOL",
            "AGENT",
            "CHAIN",
            "chat",
            "execute_tool",
            "invoke_agent",
            "plan",
            "agent",
            "tool",
            "generation",
            "ai.generateText",
            "ai.generateText.doGenerate",
            "ai.toolCall",
            "{'a': (1, b'x')}",
            "content='x' name='y'",
        ]
    )
    | JSON_TEXT
    | JSON_TEXT.map(lambda text: f'"{text}')
    | st.text()
)
ATTRIBUTES = st.dictionaries(KEYS | st.text(), VALUES, max_size=12)
EVENTS = st.lists(
    st.builds(
        lambda name, attributes: SpanEvent(1, name, attributes),
        st.sampled_from(
            ["exception", "gen_ai.choice", "gen_ai.user.message", "gen_ai.tool.message",
             "gen_ai.client.inference.operation.details"]
        ),
        ATTRIBUTES,
    ),
    max_size=3,
)  # fmt: skip
LOGS = st.lists(
    st.builds(
        lambda event, body, kind, attributes: LogRecord("t", "s", 0, 1, event, body, kind, attributes),
        st.sampled_from(["", "gen_ai.choice", "gen_ai.assistant.message", "gen_ai.client.inference.operation.details"]),
        VALUES,
        st.sampled_from(["string", "kvlist", "array", "empty"]),
        ATTRIBUTES,
    ),
    max_size=2,
)


@settings(max_examples=sized(80, 400))
@given(ATTRIBUTES, EVENTS, LOGS)
def test_hostile_attributes_never_raise(
    attributes: dict[str, str], events: list[SpanEvent], logs: list[LogRecord]
) -> None:
    """Any attributes, events and log records give a span that can be rebuilt; reading again gives the same."""
    raw = Span("t", "s", "p", "n", 1, 2, attributes, events=tuple(events))
    found = normalize(raw, logs)
    assert repr(normalize(raw, logs)) == repr(found)
    parent = normalize(Span("t", "p", "", "n", 1, 2, {"openinference.span.kind": "AGENT"}))
    assert set(rebuild([parent, found]).spans) == {"p", "s"}
