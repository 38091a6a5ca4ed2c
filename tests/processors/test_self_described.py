"""Spans in notations that no module reads: what they are is said by the words of their own keys.

Each sender writes the same run (a question, a call of a tool that fails in words, an answer) with keys of its own.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from trajectories import normalise_all, span

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.trajectory import Trace

QUESTION = "What is the freight price of parcel 77 to Oslo?"
ARGUMENTS = {"parcel": "77", "city": "Oslo"}
RESULT = "price list unavailable"
ANSWER = "It is 12 EUR."
SENT = [{"role": "system", "content": "You are a clerk."}, {"role": "user", "content": QUESTION}]
CALL = {"id": "call_1", "type": "function", "function": {"name": "freight_price", "arguments": json.dumps(ARGUMENTS)}}
ASKS = {"role": "assistant", "content": None, "tool_calls": [CALL]}
TOLD = [*SENT, ASKS, {"role": "tool", "tool_call_id": "call_1", "content": RESULT}]
SAYS = {"role": "assistant", "content": ANSWER}
AGENT, LLM, TOOL = Kind.AGENT, Kind.LLM, Kind.TOOL

Sender = Callable[[Kind, Any, Any], dict[str, Any]]
"""The attributes of a span of a kind that was given something and gave something back."""


def _genkit(kind: Kind, given: Any, back: Any) -> dict[str, Any]:
    if kind is LLM:
        given = {"messages": [_genkit_message(m) for m in given]}
        back = {"message": _genkit_message(back), "usage": {"inputTokens": 10, "outputTokens": 5}}
    words = {AGENT: "flow", LLM: "model", TOOL: "tool.v2"}
    names = {AGENT: "clerk", LLM: "vendor/m", TOOL: "freight_price"}
    return {
        "genkit:type": "action", "genkit:metadata:subtype": words[kind], "genkit:name": names[kind],
        "genkit:input": json.dumps(given), "genkit:output": json.dumps(back),
    }  # fmt: skip


def _genkit_message(message: dict[str, Any]) -> dict[str, Any]:
    role = {"assistant": "model"}.get(message["role"], message["role"])
    if message.get("tool_calls"):
        part = {"toolRequest": {"name": "freight_price", "input": ARGUMENTS, "ref": "call_1"}}
    elif role == "tool":
        part = {"toolResponse": {"name": "freight_price", "output": message["content"], "ref": "call_1"}}
    else:
        part = {"text": message["content"]}
    return {"role": role, "content": [part]}


def _braintrust(kind: Kind, given: Any, back: Any) -> dict[str, Any]:
    found = {
        "braintrust.span_attributes": json.dumps({"type": {AGENT: "task"}.get(kind, kind.value)}),
        "braintrust.input_json": json.dumps(given),
        "braintrust.output_json": json.dumps([{"message": back}] if kind is LLM else back),
    }
    usage = {"prompt_tokens": 10, "completion_tokens": 5}
    more = {"braintrust.metadata": json.dumps({"model": "m"}), "braintrust.metrics": json.dumps(usage)}
    return found | (more if kind is LLM else {})


def _honeyhive(kind: Kind, given: Any, back: Any) -> dict[str, Any]:
    words = {AGENT: "chain", LLM: "model", TOOL: "tool"}
    given = {"chat_history": given} if kind is LLM else given if kind is TOOL else {"question": given}
    tokens = {"metadata.prompt_tokens": 10, "metadata.completion_tokens": 5} if kind is LLM else {}
    inputs = {f"honeyhive_inputs.{k}": v if isinstance(v, str) else json.dumps(v) for k, v in given.items()}
    return {
        "honeyhive_event_type": words[kind], "honeyhive.session_id": "s-1",
        "honeyhive_outputs.result": back if isinstance(back, str) else json.dumps(back), **inputs, **tokens,
    }  # fmt: skip


def _prefixed(
    kind_key: str, words: dict[Kind, str], given_key: str, back_key: str, *, encoded: bool = True, **more: Any
) -> Sender:
    """A sender with one key for the kind and one for each side; `encoded`: texts are JSON, too."""

    def write(kind: Kind, given: Any, back: Any) -> dict[str, Any]:
        sides = {given_key: given, back_key: back}
        texts = {k: v if isinstance(v, str) and not encoded else json.dumps(v) for k, v in sides.items()}
        model = {"model_name": "m", "input_tokens": 10, "output_tokens": 5} if kind is LLM else {}
        return {kind_key: words[kind], **texts, **model, **more}

    return write


def _grouped(kind: Kind, given: Any, back: Any) -> dict[str, Any]:
    """No kind at all: what is called is named beside its contents."""
    texts = [v if isinstance(v, str) else json.dumps(v) for v in (given, back)]
    if kind is LLM:
        tokens = {"llm.prompt_tokens": 10, "llm.completion_tokens": 5}
        return {"llm.model": "m", "llm.prompt": texts[0], "llm.completion": texts[1], **tokens}
    name = {AGENT: "clerk", TOOL: "freight_price"}[kind]
    return {f"{kind.value}.name": name, f"{kind.value}.input": texts[0], f"{kind.value}.output": texts[1]}


_UPPER = {AGENT: "AGENT", LLM: "LLM", TOOL: "TOOL"}
_PLAIN = {AGENT: "agent", LLM: "llm", TOOL: "tool"}
_RUNS = {AGENT: "agent_run", LLM: "model_generation", TOOL: "mcp_tool_call"}
SENDERS: dict[str, Sender] = {
    "genkit": _genkit,
    "braintrust": _braintrust,
    "honeyhive": _honeyhive,
    "laminar": _prefixed("lmnr.span.type", _UPPER, "lmnr.span.input", "lmnr.span.output"),
    "agentops": _prefixed("agentops.span.kind", _PLAIN, "agentops.entity.input", "agentops.entity.output"),
    "cozeloop": _prefixed("cozeloop.span_type", _PLAIN | {LLM: "model"}, "cozeloop.input", "cozeloop.output"),
    "loongsuite": _prefixed("gen_ai.span.kind", _UPPER, "input.value", "output.value", encoded=False),
    "langtrace": _prefixed("langtrace.service.type", _PLAIN, "llm.prompts", "llm.responses"),
    "mastra": _prefixed("mastra.span.type", _RUNS, "input", "output"),
    "camel case": _prefixed("acme.spanType", _UPPER, "acme.requestInput", "acme.resultOutput", encoded=False),
    "one's own": _prefixed("event.type", _PLAIN, "app.question", "app.answer", encoded=False),
    "no kind": _grouped,
}


def _told(sender: Sender, *, root: bool = True, parents: bool = True) -> list[NormalizedSpan]:
    def write(at: int, name: str, kind: Kind, given: Any, back: Any) -> Iterator[Any]:
        above = "run" if parents and root else "lost" if parents else ""
        times = {"start": 100 * at, "end": 100 * at + 50} if at else {"start": 1, "end": 900}
        yield span("run" if not at else f"s{at}", above if at else "", sender(kind, given, back), name=name, **times)

    spans = [
        *(write(0, "clerk", AGENT, QUESTION, ANSWER) if root else ()),
        *write(1, "ask the model", LLM, SENT, ASKS),
        *write(2, "freight_price", TOOL, ARGUMENTS, RESULT),
        *write(3, "ask the model", LLM, TOLD, SAYS),
    ]
    return normalise_all(spans)


def _shown(trace: Trace) -> tuple[Any, ...]:
    (run,) = trace.runs
    calls = [(c.name, c.arguments, c.result) for turn in run.turns for c in turn.tool_calls]
    tokens = [(t.llm.input_tokens, t.llm.output_tokens) for t in run.turns if t.llm]
    return [t.text for t in run.turns], calls, tokens, run.goal, run.answer


@pytest.mark.parametrize("name", SENDERS)
@pytest.mark.parametrize("damage", [{}, {"root": False}, {"root": False, "parents": False}], ids=str)
def test_a_run_in_a_notation_of_its_own(name: str, damage: dict[str, bool]) -> None:
    """Turns, the call with its arguments and result, tokens, goal and answer, whole and without the spans above."""
    found = _told(SENDERS[name], **damage)
    trace = rebuild(found)
    calls = [("freight_price", ARGUMENTS, RESULT)]
    assert _shown(trace) == (["", ANSWER], calls, [(10, 5), (10, 5)], QUESTION, ANSWER)
    assert [s.raw.name for s in trace.remainder if s.kind in (LLM, TOOL)] == []
    assert {s.session_id for s in found} <= {"", "s-1"}


@pytest.mark.parametrize(
    "attributes",
    [
        {"span.type": "web", "input": "a"},
        {"span.type": "function"},  # of a cloud, without contents
        {"step.type": "task", "ci.job.name": "build"},
        {"model": "resnet", "input": "cat.png"},  # a model, but none that is prompted
        {"user_agent.original": "m", "device.model.name": "m", "http.request.body": "x"},
        {"agent.name": "builder", "db.query.text": "SELECT 1", "db.response.status_code": "0"},
        {"agent.name": "builder", "request": "x"},  # an agent of a build, beside what a request was sent
        {"service.type": "database", "query": "SELECT 1"},
        {"tool.name": "curl"},
    ],
    ids=str,
)
def test_words_that_programs_of_any_kind_use(attributes: dict[str, Any]) -> None:
    """Nothing is made of them."""
    found = normalize(span("s", attributes=attributes, name="work"))
    assert (found.kind, found.convention) == (Kind.OTHER, "")


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"gen_ai.operation.name": "chat", "input": json.dumps(SENT), "output": ANSWER}, (LLM, QUESTION, ANSWER)),
        (
            {"gen_ai.tool.name": "t", "gen_ai.tool.input": '{"a": 1}', "gen_ai.tool.output": "b"},
            (TOOL, '{"a": 1}', "b"),
        ),
        (
            {"gen_ai.tool.name": "t", "gen_ai.tool.parameters": '{"type": "object"}', "gen_ai.output.type": "text"},
            (TOOL, "", ""),
        ),
        (
            {"gen_ai.operation.name": "invoke_agent", "mastra.agent_run.output": '{"text": "Five."}'},
            (AGENT, "", "Five."),
        ),
    ],
    ids=["call", "tool", "schema", "agent"],
)
def test_plain_keys_beside_the_conventions(attributes: dict[str, Any], expected: tuple[Any, ...]) -> None:
    """Where GenAI's own keys say nothing of the contents, plain ones do."""
    found = normalize(span("s", attributes=attributes))
    asked = found.input_text or "".join(m.text for m in found.input_messages if m.role == "user")
    assert (found.kind, asked, found.output or found.output_text) == expected


@pytest.mark.parametrize(
    ("above", "sent", "turns"),
    [("asked", "Weigh it.", ["12 kg"]), ("run", "Weigh it.", ["12 kg"]), ("asked", "And now?", ["", "12 kg"])],
)
def test_a_reply_that_is_told_after_its_stream(above: str, sent: str, turns: list[str]) -> None:
    """It is a record of the call that was sent the same, below or beside it; of no other."""

    def chat(name: str, above: str, start: int, end: int, asked: str, **reply: Any) -> Any:
        request = {"model": "m", "messages": [{"role": "user", "content": asked}], "stream": True}
        return span(name, above, {"request_data": request, **reply}, start=start, end=end)

    told = chat("told", above, 9, 9, sent, response_data={"combined_chunk_content": "12 kg", "chunk_count": 2})
    (run,) = rebuild(
        normalise_all([span("run", name="work", end=20), chat("asked", "run", 2, 3, "Weigh it."), told])
    ).runs
    assert [turn.text for turn in run.turns] == turns
