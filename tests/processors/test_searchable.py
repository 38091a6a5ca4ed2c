"""What is said in a trace as one text: each message once, found by any part of it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.processors.searchable import MOST, searchable, searched
from tracejury.schemas.trajectory import Trace


def call(number: int, messages: list[str], answer: str) -> dict[str, Any]:
    """An LLM call that was sent the whole history so far."""
    sent = {
        f"llm.input_messages.{i}.message.{key}": value
        for i, text in enumerate(messages)
        for key, value in (("role", "user" if i % 2 == 0 else "assistant"), ("content", text))
    }
    said = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": answer}
    kind = {"openinference.span.kind": "LLM"}
    return {"id": f"l{number}", "parent": "a", "name": "chat", "attributes": {**kind, **sent, **said}}


def trace(*spans: dict[str, Any]) -> Trace:
    agent = {
        "id": "a",
        "name": "Planner.run",
        "attributes": {"openinference.span.kind": "AGENT", "agent.name": "Planner"},
    }
    return rebuild(normalise_all(fixture_spans({"spans": [agent, *spans]})[0]))


def test_a_history_that_is_sent_again_stands_there_once() -> None:
    """However often a message travels to the model."""
    text = searchable(
        trace(call(1, ["Find me a hotel"], "Where?"), call(2, ["Find me a hotel", "Where?", "In Rome"], "Done"))
    )
    for said in ("find me a hotel", "where?", "in rome", "done", "planner"):
        assert text.count(said) == 1 + (said == "planner"), said


def test_tool_calls_and_failures_are_found() -> None:
    """Arguments, results, and what a failed span says."""
    tool = {
        "id": "t",
        "parent": "a",
        "name": "book",
        "attributes": {
            "openinference.span.kind": "TOOL",
            "tool.name": "book_hotel",
            "input.value": json.dumps({"city": "Roma Termini"}),
            "output.value": "No Rooms left",
        },
    }
    text = searchable(trace(call(1, ["hi"], "ok"), tool))
    assert "roma termini" in text
    assert "no rooms left" in text
    assert "book_hotel" in text


def test_white_space_and_case_do_not_matter() -> None:
    """A phrase is found over line breaks, in any case, also outside ASCII."""
    text = searchable(trace(call(1, ["Die\n\n  STRASSE  über"], "ok")))
    assert searched("straße ÜBER") in text


def test_a_very_long_trace_is_cut() -> None:
    """Nothing beyond the limit is searched, and the limit holds whatever is said."""
    assert len(searchable(trace(call(1, ["x " * 400, "y " * 400, "z " * 400], "end")), most=500)) <= 501
    assert MOST > 10**6


@given(st.text(), st.text(min_size=1))
def test_any_part_of_a_message_is_found(before: str, part: str) -> None:
    """What stands in a message stands in its text, once both are written the same way."""
    once = searched(f"{before} {part}")
    assert searched(once) == once
    assert searched(part) in searched(f"{before} {part} ")


ODD = " \n\t\x0b\x1c\x1f\x85\xa0\u2003\u3000aAzZ.ßẞς\u03a3\u03c3İ\u0131ŉ\u212aé中\ud800🙂"
"""White space of every kind, and letters whose folding is longer, or of another script."""


@given(st.text(st.sampled_from(ODD)) | st.text(st.characters(codec=None)))
def test_folding_is_that_of_the_language(text: str) -> None:
    """Each character is folded as `str.casefold` does, and white space is what `str.split` takes for it."""
    plain = text.encode("utf-8", "replace").decode()
    assert searched(text) == " ".join(plain.casefold().split())
