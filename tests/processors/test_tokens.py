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
    """Of spans given as (id, parent, kind, tokens sent, tokens written), each in the time of those before it."""
    spans: list[dict[str, Any]] = []
    for at, (span_id, parent, kind, sent, written) in enumerate(entries):
        counts = {"llm.token_count.prompt": sent, "llm.token_count.completion": written}
        attributes = {"openinference.span.kind": kind, **{k: v for k, v in counts.items() if v is not None}}
        spans.append({"id": span_id, "parent": parent, "start": at, "end": 99 - at, "attributes": attributes})
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


def test_what_only_an_agent_states_counts() -> None:
    """Whether or not its calls have spans; one of them that states its own is enough for the sums to be partial."""
    assert sums(("a", "", "AGENT", 300, 30)) == TokenSums(300, 30, 0, 0)
    silent = (("l", "a", "LLM", None, None), ("m", "a", "LLM", None, None))
    assert sums(("a", "", "AGENT", 300, 30), *silent) == TokenSums(300, 30, 2, 0)
    assert sums(("a", "", "AGENT", 300, 30), *silent, ("n", "a", "LLM", 5, 1)) == TokenSums(5, 1, 3, 2)


@pytest.mark.parametrize(("outer", "expected"), [(300, 300), (100, 100), (99, 199)])
def test_sums_inside_each_other(outer: int, expected: int) -> None:
    """An agent's sum holds those of agents below it, unless it is too small to."""
    found = sums(("a", "", "AGENT", outer, 3), ("t", "a", "TOOL", None, None), ("b", "t", "AGENT", 100, 2))
    assert found.input_tokens == expected


def test_an_agent_beside_one_with_calls() -> None:
    """Each is counted in its own way."""
    told = (("m", "", "AGENT", 999, 99), ("l", "m", "LLM", 5, 1))
    assert sums(*told, ("s", "m", "AGENT", 50, 5), ("k", "s", "LLM", None, None)) == TokenSums(55, 6, 2, 0)


def test_a_call_below_no_agent_may_be_in_any_sum() -> None:
    """Its parent may have been lost: nothing is counted twice."""
    assert sums(("a", "", "AGENT", 300, 30), ("l", "lost", "LLM", 300, 30)) == TokenSums(300, 30, 1, 0)


def test_a_record_around_several_calls_is_not_each_ones() -> None:
    """It is their sum, which counts where none of them states its own."""
    outer = ("o", "", "LLM", 40, 8)
    assert sums(outer, ("l", "o", "LLM", None, None), ("m", "o", "LLM", None, None)) == TokenSums(40, 8, 2, 0)
    assert sums(outer, ("l", "o", "LLM", 30, 6), ("m", "o", "LLM", None, None)) == TokenSums(30, 6, 2, 1)
