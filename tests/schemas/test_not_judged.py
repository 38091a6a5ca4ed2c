"""Why a trace or run is not judged, on traces as they are rebuilt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from doctor_traces import AGENT, CALL, SENT, TOOL, TRACE, WROTE, built, genai, span, whole, without
from hypothesis import given
from hypothesis import strategies as st
from store_parts import a_judged_trace

from tracejury.schemas.judged_rows import TRACE_COLUMNS, trace_row
from tracejury.schemas.normalized import Kind
from tracejury.schemas.not_judged import NotJudged, why_not_judged, why_run_not_judged
from tracejury.schemas.spans import Span
from tracejury.schemas.verdicts import Outcome

CONTENT = ("input", "output", "system_instructions", "tool.call.arguments", "tool.call.result")
BARE = [span(1, 0, AGENT), span(2, 1, without(CALL, *CONTENT)), span(3, 1, without(TOOL, *CONTENT))]
WEB = {"http.request.method": "GET", "url.path": "/", "server.address": "a", "code.function.name": "f"}


@pytest.mark.parametrize(
    ("spans", "why"),
    [
        (whole(), None),
        ([span(1, 0, AGENT), span(2, 1, CALL)], None),
        (BARE, NotJudged.NO_CONTENT),
        ([*BARE, span(4, 1, TOOL)], None),
        ([span(1, 0, AGENT)], NotJudged.NO_CALLS),
        ([span(1, 0, genai(operation__name="invoke_workflow"))], NotJudged.NO_CALLS),
        ([span(1, 0, WEB), span(2, 1, {"db.system.name": "mysql"})], NotJudged.NO_CALLS),
        ([span(1, 0, {})], NotJudged.NO_CALLS),
        ([span(1, 0, WEB), span(2, 1, {"acme.cart.items": "3", "user_agent.original": "x"})], NotJudged.NO_CALLS),
        ([span(1, 0, {"device.model.name": "x", "auth.rate": "1", "email": "a"})], NotJudged.NO_CALLS),
        ([span(1, 0, WEB), span(2, 1, {"acme.llm.text": "hi"})], NotJudged.UNKNOWN_CONVENTION),
        ([span(1, 0, {"acme.promptTokens": "3"})], NotJudged.UNKNOWN_CONVENTION),
        ([span(1, 0, WEB, name="AgentExecutor.run")], NotJudged.UNKNOWN_CONVENTION),
    ],
    ids=[
        "whole",
        "no tool",
        "no content",
        "some content",
        "an agent",
        "a workflow",
        "web",
        "bare",
        "a shop",
        "general words",
        "unknown",
        "camel case",
        "by name",
    ],
)
def test_the_reason_is_told_by_what_there_is(spans: Sequence[Span], why: NotJudged | None) -> None:
    """Whether anything was called, whether anything was recorded of it, whether anything was recognised."""
    trace = built(spans)
    assert why_not_judged(trace, Outcome.DONE) is why
    stored = dict(zip(TRACE_COLUMNS, trace_row(trace, a_judged_trace().judgement, a_judged_trace().spent), strict=True))
    assert stored["NotJudged"] == (why or "")


def test_calls_outside_of_all_runs_are_no_absence_of_calls() -> None:
    """It is not said that no model was called."""
    trace = built([span(1, 0, WEB)])
    (lost,) = trace.spans.values()
    outside = replace(trace, runs=(), remainder=(replace(lost, kind=Kind.LLM),))
    assert why_not_judged(outside, Outcome.DONE) is NotJudged.NO_RUN


def test_a_failure_of_judging_is_no_verdict() -> None:
    """Nor are calls of our own judges the agents'."""
    assert why_not_judged(built(whole()), Outcome.FAILED) is NotJudged.FAILED
    assert why_not_judged(built(whole()), Outcome.FILTERED) is NotJudged.OUR_CALLS


@given(kept=st.sets(st.integers(0, 2)), order=st.permutations([1, 2, 3]))
def test_any_content_at_all_is_content(kept: set[int], order: list[int]) -> None:
    """Of whichever span, in any order of arrival; of a run as of its trace."""
    texts = [{"gen_ai.input.messages": SENT}, {"gen_ai.output.messages": WROTE}, {"gen_ai.tool.call.result": "1"}]
    own = [{}, {}, {}] if not kept else [texts[n] if n in kept else {} for n in range(3)]
    spans = {
        1: span(1, 0, AGENT | own[0]),
        2: span(2, 1, without(CALL, *CONTENT) | own[1]),
        3: span(3, 1, without(TOOL, *CONTENT) | own[2]),
    }
    trace = built([spans[number] for number in order])
    expected = None if kept else NotJudged.NO_CONTENT
    assert why_not_judged(trace, Outcome.DONE) is expected
    assert why_run_not_judged(trace.runs[0]) is expected


def test_a_run_that_called_nothing_is_not_judged() -> None:
    """Beside one that did."""
    trace = built([*whole(), span(4, 0, AGENT, trace_id=TRACE)])
    assert {run.span.span_id[-1]: why_run_not_judged(run) for run in trace.runs if run.span} == {
        "1": None,
        "4": NotJudged.NO_CALLS,
    }


def test_each_reason_has_words() -> None:
    """They fit a list."""
    assert all(0 < len(why.words) < 40 for why in NotJudged)
