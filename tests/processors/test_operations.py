"""The operations of a trace: each run and call once, with its own tokens, cost and duration."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sizes import sized
from trajectories import fixture_spans, normalise_all

from tracejury.collector.judging.model.price import Price
from tracejury.collector.judging.prices import SpentBy
from tracejury.collector.judging.prices.table import PriceTable
from tracejury.processors.cached_tokens import token_kinds
from tracejury.processors.operations import MOST_TOKENS
from tracejury.processors.prompts import prompt_of
from tracejury.processors.rebuild import rebuild
from tracejury.processors.tokens import usage
from tracejury.schemas.operations import UNKNOWN, USAGE, Operation
from tracejury.schemas.trajectory import Trace

PRICES = PriceTable({"house/model-1": Price(0.5, 0.1, 2.0)})
SENT, WRITTEN, MODEL = "llm.token_count.prompt", "llm.token_count.completion", "llm.model_name"
READ = "llm.token_count.prompt_details.cache_read"

Entry = tuple[str, str, str, dict[str, Any]]
AGENT: Entry = ("a", "", "AGENT", {})


def trace(*entries: Entry, **changes: Any) -> Trace:
    """Of spans given as (id, parent, kind, attributes), each within the one before; `changes` of the last."""
    spans = [
        {"id": i, "parent": parent, "start": 1 + at, "end": 200 - at, "name": i}
        | {"attributes": {"openinference.span.kind": kind, **attributes}}
        for at, (i, parent, kind, attributes) in enumerate(entries)
    ]
    spans[-1] |= changes
    return rebuild(normalise_all(fixture_spans({"spans": spans})[0]))


def ran(found: Trace, kind: str) -> list[Operation]:
    """Its operations of a kind."""
    return [one for one in SpentBy(PRICES)(found).operations or () if one.kind == kind]


def test_a_run_has_the_sums_of_its_own_calls() -> None:
    """Not those of its sub-agent, so that runs add up."""
    found = trace(
        AGENT,
        ("l", "a", "LLM", {SENT: 10, WRITTEN: 2, MODEL: "house/model-1"}),
        ("b", "a", "AGENT", {}),
        ("m", "b", "LLM", {SENT: 4, WRITTEN: 1, MODEL: "nobody-knows-it"}),
    )
    runs = {one.agent: one for one in ran(found, "run")}
    assert {name: (one.input_tokens, one.output_tokens, one.usd, one.unpriced) for name, one in runs.items()} == {
        "a": (10, 2, 9.0, 0),
        "b": (4, 1, 0.0, 1),
    }
    assert [(one.agent, one.model) for one in ran(found, "llm_call")] == [
        ("a", "house/model-1"),
        ("b", "nobody-knows-it"),
    ]


def test_nested_records_of_a_call_are_one_call() -> None:
    """With what only the outer one states."""
    (call,) = ran(trace(AGENT, ("o", "a", "LLM", {SENT: 5, MODEL: "m"}), ("i", "o", "LLM", {WRITTEN: 6})), "llm_call")
    assert (call.input_tokens, call.output_tokens, call.model, call.agent) == (5, 6, "m", "a")


def test_what_an_agent_states_in_sum_is_no_call() -> None:
    """Its tokens are there, and those of its run; its calls have none, and none of them is of unknown price."""
    found = trace(
        ("a", "", "AGENT", {SENT: 10, WRITTEN: 2}),
        ("l", "a", "LLM", {MODEL: "house/model-1"}),
        ("m", "a", "LLM", {MODEL: "house/model-1"}),
    )
    (whole,), (run,) = ran(found, USAGE), ran(found, "run")
    assert (whole.input_tokens, whole.usd, whole.nanos) == (10, 9.0, UNKNOWN)
    assert (run.input_tokens, run.usd) == (10, 9.0)
    assert [(one.input_tokens, one.unpriced) for one in ran(found, "llm_call")] == [(0, 0), (0, 0)]


def test_a_tool_call_names_the_model_and_prompt_that_asked_for_it() -> None:
    """And whether it failed."""
    asked = {
        MODEL: "m",
        "gen_ai.prompt.name": "greeting",
        "gen_ai.prompt.version": "3",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.name": "search",
        "llm.output_messages.0.message.tool_calls.0.tool_call.function.arguments": "{}",
    }
    found = trace(AGENT, ("l", "a", "LLM", asked), ("t", "a", "TOOL", {"tool.name": "search"}), status="error")
    (call,) = ran(found, "tool_call")
    assert (call.agent, call.tool, call.model, call.prompt) == ("a", "search", "m", "greeting:3")
    assert (call.failed, call.input_tokens) == (True, 0)


def test_calls_outside_of_runs_count() -> None:
    """Without an agent."""
    plain = trace(("w", "", "CHAIN", {}), ("t", "w", "TOOL", {"tool.name": "search"}))
    (call,) = ran(plain, "tool_call")
    assert call.tool == "search"


def test_durations_are_those_of_spans() -> None:
    """Unknown while one is pending, and where it ends before it begins."""
    (call,) = ran(trace(AGENT, ("l", "a", "LLM", {})), "llm_call")
    found = trace(AGENT, ("l", "a", "LLM", {}))
    assert call.nanos == found.spans[call_id(found)].raw.end - found.spans[call_id(found)].raw.start > 0
    for changes in ({"pending": True}, {"end": 0}, {"start": 0}):
        spans = dict(found.spans)
        span = spans[call_id(found)]
        spans[span.span_id] = replace(span, raw=replace(span.raw, **changes))
        again = rebuild(list(spans.values()))
        assert [one.nanos for one in ran(again, "llm_call")] == [UNKNOWN], changes


def call_id(found: Trace) -> str:
    """The id of its LLM call."""
    return next(i for i, span in found.spans.items() if span.kind == "llm")


@pytest.mark.parametrize(
    ("attributes", "prompt"),
    [
        ({}, ""),
        ({"gen_ai.prompt.name": "greet"}, "greet"),
        ({"langfuse.observation.prompt.name": "greet", "langfuse.observation.prompt.version": "7"}, "greet:7"),
        ({"traceloop.prompt.key": "k", "traceloop.prompt.version": "2"}, "k:2"),
        ({"gen_ai.prompt.version": "2"}, ""),
    ],
)
def test_prompts(attributes: dict[str, str], prompt: str) -> None:
    """As each convention names them; a version alone names none."""
    assert prompt_of(attributes) == prompt


numbers = st.one_of(st.integers(0, 2000), st.just(10**30))


@settings(max_examples=sized(20, 500), deadline=None)
@given(st.lists(st.tuples(numbers, numbers, numbers, st.sampled_from(["a", "b", ""])), min_size=1, max_size=8))
def test_tokens_and_cost_add_up(calls: list[tuple[int, int, int, str]]) -> None:
    """Of calls as of all records of the trace, whoever made them; hostile counts are cut."""
    entries = [
        (f"l{n}", parent, "LLM", {SENT: sent, WRITTEN: written, READ: read, MODEL: "house/model-1"})
        for n, (sent, written, read, parent) in enumerate(calls)
    ]
    found = trace(AGENT, ("b", "a", "AGENT", {}), *entries)
    used = [token_kinds(call) for call in usage(found.spans).records]
    calls_found = [*ran(found, "llm_call"), *ran(found, USAGE)]
    sent = [min(one.fresh + one.cache_read + one.cache_written, MOST_TOKENS) for one in used]
    assert sum(one.input_tokens for one in calls_found) == sum(sent)
    assert sum(one.cached_tokens for one in calls_found) == sum(min(one.cache_read, MOST_TOKENS) for one in used)
    assert all(one.cached_tokens <= one.input_tokens for one in calls_found)
    runs = ran(found, "run")
    inside = [one for one in calls_found if one.agent]
    assert sum(one.input_tokens for one in runs) == sum(one.input_tokens for one in inside)
    assert sum(one.usd for one in runs) == pytest.approx(sum(one.usd for one in inside))
    assert sum(one.unpriced for one in runs) == sum(one.unpriced for one in inside)
