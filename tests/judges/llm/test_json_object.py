"""The one object in a reply: what models and servers put around it, and when it is not clear which one is meant."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.json_object import MAX_CHARACTERS, json_object

ANSWER: dict[str, Any] = {"findings": [{"label": "S1", "quote": "a {brace} and \u201dquotes\u201d"}], "verdicts": []}
TEXT = json.dumps(ANSWER)


def stream(*deltas: dict[str, Any], index: int = 0) -> str:
    """Chunks of a chat completion as server-sent events."""
    chunks = [{"id": "c", "choices": [{"index": index, "delta": delta}]} for delta in deltas]
    return "".join(f"data: {json.dumps(chunk)}\n\n" for chunk in chunks) + "data: [DONE]\n\n"


def called(arguments: str, index: int = 0) -> dict[str, Any]:
    """A piece of a streamed tool call."""
    return {"tool_calls": [{"index": index, "function": {"arguments": arguments}}]}


WRAPPED = {
    "a fence": f"```json\n{TEXT}\n```",
    "a fence in prose": f"I looked at {{everything}}.\n```\n{TEXT}\n```\nThe plan {{S1}} was fine.",
    "the same twice": f"Draft:\n```json\n{TEXT}\n```\nFinal:\n{json.dumps(ANSWER, indent=2)}",
    "an object after it": f'{TEXT}\nUsage: {{"tokens": 12}}',
    "an object before it": f'The tool answered {{"error": "not found"}}.\n{TEXT}',
    "a list of one": f"[{TEXT}]",
    "a string": json.dumps(TEXT),
    "a string in a string": json.dumps(f"```json\n{TEXT}\n```"),
    "a byte order mark": f"\ufeff{TEXT}",
    "a printed tool call": json.dumps({"name": "answer", "arguments": ANSWER}),
    "a printed tool call with a string": json.dumps({"name": "answer", "arguments": TEXT}),
    "thoughts": f'<think>Is it {{"findings": []}}?</think>{TEXT}',
    "a page": f"<html><body><pre>{TEXT}</pre></body></html>",
    "a stream": stream({"role": "assistant"}, {"content": TEXT[:20]}, {"content": TEXT[20:]}),
    "a stream of one message": f"data: {json.dumps({'choices': [{'message': {'content': TEXT}}]})}\r\n\r\n",
    "a streamed tool call": "event: message\n" + stream(called(TEXT[:9]), called(TEXT[9:])),
    "the answer as an event": f"data: {TEXT}\n\n",
}


@pytest.mark.parametrize("text", WRAPPED.values(), ids=WRAPPED)
def test_an_answer_is_read_whatever_stands_around_it(text: str) -> None:
    """Where only one object can be meant."""
    assert json_object(text, "findings") == ANSWER


OTHER = json.dumps({"findings": []})
UNCLEAR = {
    "two answers": (f"{OTHER}\n{TEXT}", "2 different ones"),
    "two fences": (f"```json\n{OTHER}\n```\n```json\n{TEXT}\n```", "2 different ones"),
    "a list of two": (f"[{OTHER}, {TEXT}]", "2 different ones"),
    "a quoted answer before one that is cut off": (f"It says {OTHER}.\n{TEXT[:-9]}", "a second one breaks at"),
    "an answer that is cut off": (TEXT[:-9], "breaks at line 1"),
    "an answer that breaks in the middle": ('{"findings": [{"label": "S1" "why": "w"}, {"label": "S2"}]}', "column 30"),
    "a page": ("<!DOCTYPE html>\n<html><script>var a = {b: 1}</script></html>", "it is an HTML page"),
    "a page with settings": ('<html><script>var a = {"b": 1}, c = {"d": 2}</script></html>', "it is an HTML page"),
    "two streamed choices": (stream({"content": TEXT}) + stream({"content": TEXT}, index=1), "event stream"),
    "two streamed calls": (stream(called(TEXT), called(TEXT, 1)), "event stream"),
    "a stream of nothing": ("data: [DONE]\n\n", "event stream"),
    "two nested": (json.dumps({"a": ANSWER, "b": {"findings": []}}) + json.dumps({"c": 1}), "different ones"),
}


@pytest.mark.parametrize(("text", "why"), UNCLEAR.values(), ids=UNCLEAR)
def test_where_it_is_unclear_which_object_is_meant_none_is(text: str, why: str) -> None:
    """One line for the model that is asked to mend it."""
    with pytest.raises(AnswerError, match=why):
        json_object(text, "findings")


def test_an_object_without_the_key_is_handed_on_where_it_is_the_only_one() -> None:
    """So that its reader can name what it lacks."""
    assert json_object('Here: {"result": []}', "findings") == {"result": []}


FILL = MAX_CHARACTERS // 8
HOSTILE = {
    "braces": "{" * MAX_CHARACTERS,
    "begun objects": '{"' * (FILL * 4),
    "empty objects": "{}" * (FILL * 4),
    "begun pairs": '{"a":' * (FILL * 8 // 5),
    "unterminated": '{"\\"' * (FILL * 2),
    "blanks": ("{" + " " * 999) * (MAX_CHARACTERS // 1000),
    "strings": '"' * MAX_CHARACTERS,
    "events": "data: {\n" * FILL,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_reply_is_refused_in_linear_time(text: str) -> None:
    """Of the greatest length; a search that begins again at each brace would take hours."""
    began = time.process_time()
    with pytest.raises(AnswerError):
        json_object(text, "findings")
    assert time.process_time() - began < 20
