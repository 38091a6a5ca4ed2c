"""Tokens are summed over LLM leaves."""

from __future__ import annotations

from typing import Any

from trajectories import fixture_spans, normalise_all

from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import TokenSums, sum_tokens


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
    assert sums(("a", "", "AGENT", 15, 3), ("l", "a", "LLM", 5, 1), ("m", "a", "LLM", 10, 2)) == TokenSums(15, 3, 2)


def test_a_call_recorded_twice_counts_once() -> None:
    """Of nested records the inner one counts; what it lacks is taken from the outer one."""
    assert sums(("o", "", "LLM", 5, 1), ("c", "o", "CHAIN", 5, 1), ("i", "c", "LLM", 6, None)) == TokenSums(6, 1, 1)


def test_a_tools_own_call_is_another_call() -> None:
    """An LLM call that a tool makes below the call that asked for the tool is counted beside it."""
    assert sums(("o", "", "LLM", 5, 1), ("t", "o", "TOOL", None, None), ("i", "t", "LLM", 6, 2)) == TokenSums(11, 3, 2)


def test_unknown_is_not_zero() -> None:
    """Where no call recorded usage there is no sum."""
    assert sums(("l", "", "LLM", None, None)) == TokenSums(None, None, 1)
    assert sums() == TokenSums(None, None, 0)
