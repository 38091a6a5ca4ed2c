"""Results in the model's input find the requests that they answer, with ids and without."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from typing import Any

import pytest
from trajectories import span

from tracejury.processors.normalize import normalize
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.trajectory import ToolCall

Message = dict[str, Any]


def otel(role: str, *parts: Message) -> Message:
    return {"role": role, "parts": list(parts)}


def otel_results(*results: tuple[str, str, str]) -> list[Message]:
    """Results given as (name, call id, text), as in the GenAI conventions."""
    parts = [{"type": "tool_call_response", "name": n, "id": i, "response": t} for n, i, t in results]
    return [otel("tool", *parts)]


def gemini_results(*results: tuple[str, str, str]) -> list[Message]:
    return [otel("user", *({"functionResponse": {"name": n, "response": {"result": t}}} for n, _, t in results))]


def openai_results(*results: tuple[str, str, str]) -> list[Message]:
    return [{"role": "tool", "name": n, "content": t} | ({"tool_call_id": i} if i else {}) for n, i, t in results]


def older_openai_results(*results: tuple[str, str, str]) -> list[Message]:
    return [{"role": "function", "name": n, "content": t} for n, _, t in results]


DIALECTS = (otel_results, gemini_results, openai_results, older_openai_results)


def asking(*calls: tuple[str, str]) -> Message:
    """A reply that asks for calls given as (name, call id)."""
    return otel("assistant", *({"type": "tool_call", "name": n, "id": i, "arguments": {}} for n, i in calls))


def calls_of(*rounds: tuple[Message, list[Message]], tools: tuple[tuple[str, str], ...] = ()) -> list[ToolCall]:
    """The calls of a run that asks, is sent results, and so on; `tools`: TOOL spans (name, call id), one a round."""
    spans = [span("a", attributes={"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "x"}, end=99)]
    history: list[Message] = [otel("user", {"type": "text", "content": "Go."})]
    replies = [*(reply for reply, _ in rounds), otel("assistant", {"type": "text", "content": "Done."})]
    for number, reply in enumerate(replies):
        attributes = {
            "gen_ai.operation.name": "chat",
            "gen_ai.input.messages": json.dumps(history),
            "gen_ai.output.messages": json.dumps([reply]),
        }
        spans.append(span(f"l{number}", "a", attributes, start=10 * number + 1, end=10 * number + 2))
        if number < len(rounds):
            history += [reply, *rounds[number][1]]
        for name, call_id in tools[number : number + 1]:
            stated = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, "gen_ai.tool.call.id": call_id}
            spans.append(span(f"t{number}", "a", stated, start=10 * number + 3, end=10 * number + 4))
    (run,) = rebuild(map(normalize, spans)).runs
    return [call for turn in run.turns for call in turn.tool_calls]


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_names_find_their_requests(dialect: Callable[..., list[Message]], order: tuple[int, ...]) -> None:
    """In every dialect and order; two calls of one name in theirs."""
    results = [("look", "", "1"), ("find", "", "2"), ("look", "", "3")]
    sent = [results[i] for i in order]
    found = calls_of((asking(("look", ""), ("find", ""), ("look", "")), dialect(*sent)))
    looked = [text for name, _, text in sent if name == "look"]
    assert [c.result if dialect is not gemini_results else json.loads(c.result or "")["result"] for c in found] == [
        looked[0],
        "2",
        looked[1],
    ]
    assert all(c.executed for c in found)


def test_results_without_names_come_in_order() -> None:
    """If there are as many as requests; else they may be anybody's."""
    whole = calls_of((asking(("look", ""), ("find", "")), otel_results(("", "", "1"), ("", "", "2"))))
    assert [c.result for c in whole] == ["1", "2"]
    one_of_two = calls_of((asking(("look", ""), ("find", "")), otel_results(("", "", "1"))))
    assert [c.result for c in one_of_two] == [None, None]


def test_another_calls_id_is_no_order() -> None:
    """Results and requests with different ids are never joined, nor is a name that nobody asked for."""
    assert [c.result for c in calls_of((asking(("look", "c1")), otel_results(("look", "c2", "1"))))] == [None]
    assert [c.result for c in calls_of((asking(("look", "")), otel_results(("find", "", "1"))))] == [None]


def test_an_id_on_one_side_is_enough_for_names() -> None:
    """Clients make up ids for requests, or only for results."""
    assert [c.result for c in calls_of((asking(("look", "c1")), otel_results(("look", "", "1"))))] == ["1"]
    assert [c.result for c in calls_of((asking(("look", "")), otel_results(("look", "c1", "1"))))] == ["1"]


@pytest.mark.parametrize("tools", [(), (("look", "call_0"), ("look", "call_0"))])
def test_ids_that_each_reply_numbers_anew(tools: tuple[tuple[str, str], ...]) -> None:
    """Each call keeps its own result, and its span."""
    rounds = [(asking(("look", "call_0")), openai_results(("look", "call_0", text))) for text in ("1", "2")]
    found = calls_of(*rounds, tools=tools)
    assert [c.result for c in found] == ["1", "2"]
    assert [c.span.span_id for c in found if c.span] == [f"t{i}" for i, _ in enumerate(tools)]


def test_results_of_a_reply_without_a_span_are_its_own() -> None:
    """What a call that was not recorded asked for does not answer the call before it."""
    later = [*otel_results(("look", "", "1")), asking(("look", ""), ("find", "")), *otel_results(("look", "", "2"))]
    assert [c.result for c in calls_of((asking(("look", "")), later))] == ["1"]
    missing = [asking(("look", ""), ("find", "")), *otel_results(("look", "", "2"))]
    assert [c.result for c in calls_of((asking(("look", "")), missing))] == [None]


@pytest.mark.parametrize(
    "marked",
    [
        {"role": "user", "content": [{"type": "tool_result", "name": "look", "is_error": True, "content": "no such"}]},
        {"role": "user", "content": [{"toolResult": {"toolUseId": "c", "status": "error", "content": "no such"}}]},
        {"role": "tool", "name": "look", "status": "error", "content": "no such"},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "c", "toolName": "look",
                                      "output": {"type": "error-text", "value": "no such"}}]},
        {"role": "user", "parts": [{"functionResponse": {"name": "look", "response": {"error": "no such"}}}]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("tools", [(), (("look", ""),)])
def test_an_error_in_a_result_is_the_calls(marked: Message, tools: tuple[tuple[str, str], ...]) -> None:
    """By the mark of each dialect; with and without a span of the tool."""
    (found,) = calls_of((asking(("look", "")), [marked]), tools=tools)
    assert found.error == "no such"
