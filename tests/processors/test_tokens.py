"""Tokens are summed over LLM leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from trajectories import fixture_spans, load, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import TokenSums, sum_tokens

CAPTURES = Path(__file__).parents[1] / "judges" / "captures"


def sums(*entries: tuple[str, str, str, int | None, int | None]) -> TokenSums:
    """Of spans given as (id, parent, kind, tokens sent, tokens written)."""
    spans: list[dict[str, Any]] = []
    for span_id, parent, kind, sent, written in entries:
        counts = {"llm.token_count.prompt": sent, "llm.token_count.completion": written}
        attributes = {"openinference.span.kind": kind, **{k: v for k, v in counts.items() if v is not None}}
        spans.append({"id": span_id, "parent": parent, "attributes": attributes})
    return sum_tokens(rebuild(normalise_all(fixture_spans({"spans": spans})[0])).spans)


def test_agents_repeat_their_calls() -> None:
    """Usage on agent and step spans is not counted again."""
    assert sums(("a", "", "AGENT", 15, 3), ("l", "a", "LLM", 5, 1), ("m", "a", "LLM", 10, 2)) == TokenSums(15, 3, 2, 0)


def test_a_call_recorded_twice_counts_once() -> None:
    """Of nested records the inner one counts; what it lacks is taken from the outer one."""
    assert sums(("o", "", "LLM", 5, 1), ("c", "o", "CHAIN", 5, 1), ("i", "c", "LLM", 6, None)) == TokenSums(6, 1, 1, 0)


def test_a_tools_own_call_is_another_call() -> None:
    """An LLM call that a tool makes below the call that asked for the tool is counted beside it."""
    found = sums(("o", "", "LLM", 5, 1), ("t", "o", "TOOL", None, None), ("i", "t", "LLM", 6, 2))
    assert found == TokenSums(11, 3, 2, 0)


def test_unknown_is_not_zero() -> None:
    """Where no call recorded usage there is no sum."""
    assert sums(("l", "", "LLM", None, None)) == TokenSums(None, None, 1, 1)
    assert sums() == TokenSums(None, None, 0, 0)


def test_calls_that_recorded_none_make_the_sums_partial() -> None:
    """Nor does any call take nothing at all; one of them suffices, also where a streamed reply only has no usage."""
    silent = (("m", "", "LLM", None, None), ("n", "", "LLM", 0, 0))
    found = sums(("l", "", "LLM", 5, 1), *silent, ("o", "", "LLM", 3, None))
    assert found == TokenSums(8, 1, 4, 2)


@pytest.mark.parametrize("framework", ["langgraph", "llama_index", "openai_agents", "pydantic_ai"])
def test_a_streamed_reply_without_usage_is_told(framework: str) -> None:
    """Captures of real frameworks: the second of two replies came without (judges/captures/README.md)."""
    (spans,) = load(CAPTURES / f"{framework}_stream.pb.gz").values()
    found = sum_tokens(rebuild(spans).spans)
    assert (found.calls, found.without_usage) == (2, 1)
    assert found.input_tokens
