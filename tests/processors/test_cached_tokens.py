"""Cached and reasoning tokens inside and outside of the figures."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from trajectories import span

from tracejury.processors.cached_tokens import TokenKinds, token_kinds
from tracejury.processors.normalize import normalize
from tracejury.processors.tokens import LlmCall

SENT, WROTE, TOTAL = "gen_ai.usage.input_tokens", "gen_ai.usage.output_tokens", "gen_ai.usage.total_tokens"
READ, KEPT = "gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_write.input_tokens"
THOUGHT = "gen_ai.usage.reasoning.output_tokens"
COUNT = st.integers(1, 10**6)


def kinds(**counts: Any) -> TokenKinds:
    return of({globals()[name]: count for name, count in counts.items()})


def of(attributes: dict[str, Any]) -> TokenKinds:
    return token_kinds(LlmCall(normalize(span("l", attributes={"gen_ai.operation.name": "chat"} | attributes)), None))


@given(COUNT, COUNT, COUNT, COUNT, COUNT)
def test_a_stated_total_tells_what_the_figures_hold(fresh: int, read: int, kept: int, wrote: int, thought: int) -> None:
    """Whichever way a sender counts, the same call has the same kinds of tokens."""
    expected = TokenKinds(fresh, read, kept, wrote + thought)
    total = fresh + read + kept + wrote + thought
    parts = {"READ": read, "KEPT": kept, "THOUGHT": thought, "TOTAL": total}
    assert kinds(SENT=fresh + read + kept, WROTE=wrote + thought, **parts) == expected
    if read + kept != thought:  # else either may be outside
        assert kinds(SENT=fresh, WROTE=wrote + thought, **parts) == expected
        assert kinds(SENT=fresh + read + kept, WROTE=wrote, **parts) == expected
    assert kinds(SENT=fresh, WROTE=wrote, **parts) == expected


def test_a_part_larger_than_the_whole_is_outside() -> None:
    """Without a total, too; a total that fits nothing tells nothing."""
    for total in ({}, {"TOTAL": 7}):
        assert kinds(SENT=5, READ=128_955, KEPT=1_253, WROTE=100, **total) == TokenKinds(5, 128_955, 1_253, 100)
        assert kinds(SENT=5, WROTE=10, THOUGHT=90, **total) == TokenKinds(5, 0, 0, 100)


def test_else_the_convention_tells() -> None:
    """OpenTelemetry's has both inside; Strands and Claude Code pass on figures of APIs that have not."""
    assert kinds(SENT=100, READ=60, KEPT=10, WROTE=30, THOUGHT=20) == TokenKinds(30, 60, 10, 30)
    strands = {"gen_ai.usage.cache_read_input_tokens": 60, "gen_ai.usage.cache_write_input_tokens": 10}
    assert of({SENT: 100, WROTE: 30} | strands) == TokenKinds(100, 60, 10, 30)
    assert of({SENT: 100, WROTE: 30, "cache_read_tokens": 60, "cache_creation_tokens": 10}).fresh == 100


@pytest.mark.parametrize("key", [KEPT, "gen_ai.usage.cache_creation.input_tokens"])
def test_both_names_of_what_the_cache_keeps(key: str) -> None:
    """The convention renamed it."""
    assert of({SENT: "100.0", key: "40.0", WROTE: 1}) == TokenKinds(60, 0, 40, 1)


@pytest.mark.parametrize("nothing", ["-3", "many", "nan", "1.5", ""])
def test_what_is_no_number_is_none(nothing: str) -> None:
    """It is as if it were not stated."""
    assert of({SENT: 100, READ: nothing, THOUGHT: nothing, TOTAL: nothing, WROTE: 1}) == TokenKinds(100, 0, 0, 1)
