"""Attempted calls: all of the exchange's own run, and those of them that failed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_traces import Did, Said, run, tool, trace
from trajectories import FRAMEWORKS, load

from tracejury.judges.checks.call_items import AttemptedCall, attempted_calls
from tracejury.judges.llm.placing import QuotePlacer
from tracejury.judges.packs.loader import load_packs
from tracejury.processors.exchanges import find_exchanges
from tracejury.processors.joining import rebuild_joined
from tracejury.processors.transcript import session_record
from tracejury.schemas.normalized import ToolDefinition
from tracejury.schemas.trajectory import AgentRun, Exchange, Trace, TurnKind
from tracejury.schemas.transcript import Step, StepKind

FOUND = Did("search", {"q": "Rhine"}, "1,233 km", span_id="t")
FAILED = Did("search", {"q": "Rhine"}, None, error="the index is down", span_id="t")
GIVEN = [
    tool("search", ("q",), q="string"),
    tool("modify_order", ("item",), item="string"),
    tool("final_answer", (), answer="string"),
]


def attempted(*calls: Did, below: Sequence[AgentRun] = (), error: str = "") -> tuple[AttemptedCall, ...]:
    """The calls of an exchange with a turn for each."""
    turns = [
        Said(f"l{i}", "I search.", [replace(c, span_id=c.span_id and f"t{i}")], tools=GIVEN)
        for i, c in enumerate(calls)
    ]
    whole = trace(run("r", *turns, Said("end", "Done."), answer="Done.", tools=GIVEN, error=error), *below)
    return attempted_calls(whole, Exchange("r", 0, len(turns), "", "Done."))


def efficiency(calls: Sequence[AttemptedCall]) -> float | None:
    failed = sum(call.failed for call in calls)
    return (len(calls) - failed) / (len(calls) + failed) if calls else None


@pytest.mark.parametrize(
    ("good", "bad", "value"), [(6, 2, 0.6), (19, 1, 0.905), (0, 4, 0.0), (5, 0, 1.0), (0, 0, None)]
)
def test_tool_efficiency_by_hand(good: int, bad: int, value: float | None) -> None:
    assert efficiency(attempted(*[FOUND] * good, *[FAILED] * bad)) == pytest.approx(value, abs=0.0005)


@given(st.lists(st.booleans(), max_size=8), st.integers(0, 8))
def test_one_more_failed_call_never_raises_the_measure(outcomes: list[bool], at: int) -> None:
    calls = [FOUND if good else FAILED for good in outcomes]
    before, after = efficiency(attempted(*calls)), efficiency(attempted(*calls[:at], FAILED, *calls[at:]))
    assert after is not None
    assert 0 <= after <= (1 if before is None else before)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (replace(FAILED, name="serch", error="unknown tool: serch"), "there is no such tool"),
        (Did("serch", {"q": "Rhine"}, None, executed=False), "there is no such tool"),
        (Did("search", '{"q": "Rhi', None, error="invalid JSON", executed=False), "the arguments are no valid JSON"),
        (Did("search", {"query": "Rhine"}, None, executed=False), "the tool takes no argument 'query'"),
        (Did("search", {"q": "Rhine"}, "The call was denied.", span_id="t"), "refused: The call was denied"),
        (FAILED, "the index is down"),
        (Did("modify_order", {"item": "7"}, "Error: item 7 not found", span_id="t"), "Error: item 7 not found"),
        (replace(FOUND, result='{"error": "HTTP 500 of the index"}'), '{"error": "HTTP 500 of the index"}'),
    ],
    ids=[
        "unknown",
        "unknown, no outcome",
        "no JSON",
        "schema",
        "denied",
        "raised",
        "change of nothing",
        "error result",
    ],
)
def test_why_a_call_failed(call: Did, why: str) -> None:
    (found,) = attempted(call)
    assert found.failed
    assert found.why.startswith(why)


@pytest.mark.parametrize(
    "call",
    [
        FOUND,
        replace(FOUND, result=""),
        replace(FOUND, result="[]"),
        replace(FOUND, result="No results found for Rhine."),
        replace(FOUND, result="Error: river not found"),
        replace(FOUND, result="A page about the history of errors: error handling in C."),
        Did("search", {"q": "Rhine"}, None, executed=None),
        Did("search", {"q": "Rhine"}, None, executed=False),
    ],
    ids=["found", "empty", "no items", "nothing found", "no such thing", "about errors", "nobody knows", "never ran"],
)
def test_what_is_no_failure(call: Did) -> None:
    (found,) = attempted(call)
    assert not found.failed
    assert found.quote == ""


SCHEMA = {
    "type": "object",
    "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "default": 3}},
    "required": ["q", "limit"],
}


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"q": "Rhine", "limit": 2}, ""),
        ({"q": "Rhine"}, ""),
        ({"q": "Rhine", "page": 1}, "takes no argument 'page'"),
        ({"limit": 2}, "needs the argument 'q'"),
        ({"q": 7}, "takes another type for 'q'"),
    ],
)
def test_a_breach_of_the_schema_that_ran_succeeded(arguments: dict[str, Any], told: str) -> None:
    """It is told beside; one that was refused, or failed for another reason, is a failure alone."""
    given = [ToolDefinition("search", "", SCHEMA)]
    made = Did("search", arguments, "1,233 km", span_id="t")
    for call, failed in ((made, False), (replace(made, result=None, error="the index is down"), True)):
        whole = trace(run("r", Said("l1", "", [call], tools=given), Said("l2", "Done."), answer="Done.", tools=given))
        (found,) = attempted_calls(whole, Exchange("r", 0, 1, "", "Done."))
        assert (found.failed, found.breach) == (failed, "" if failed else told)
    nothing = trace(run("r", Said("l1", "", [made]), Said("l2", "Done."), answer="Done."))
    assert [call.breach for call in attempted_calls(nothing, Exchange("r", 0, 1, "", "Done."))] == [""]


def test_a_sub_agents_run_is_one_call_that_fails_with_it() -> None:
    """Its own calls are not the manager's."""
    asks = Did("ask_clerk", {"task": "Rhine"}, None, sub_run_id="sub")
    for error, failed in (("it crashed", True), ("", False)):
        sub = run("sub", Said("l50", "", [FAILED]), parent_id="r", role="sub-agent", name="clerk", error=error)
        given = [*GIVEN, tool("ask_clerk", ("task",), task="string")]
        manager = run("r", Said("l1", "I ask.", [asks], tools=given), Said("l2", "Done."), answer="Done.", tools=given)
        (found,) = attempted_calls(trace(manager, sub), Exchange("r", 0, 1, "", "Done."))
        assert found.failed is failed


def test_the_answer_calls_inside_a_tool_and_agents_that_nobody_asked_for_are_none() -> None:
    assert attempted(Did("final_answer", {"answer": "1"}, "1", span_id="t")) == ()
    assert attempted(Did("critic", None, "Fine.", sub_run_id="sub"), below=[run("sub", parent_id="r")]) == ()
    inner = trace(run("r", Said("l1", "", [FAILED], kind=TurnKind.INNER)))
    assert attempted_calls(inner, Exchange("r", 0, 0, "", "")) == ()
    assert attempted_calls(inner, Exchange("r", -1, -1, "", "")) == ()
    assert attempted_calls(inner, Exchange("unknown", 0, 0, "", "")) == ()


def test_a_call_stands_at_its_tools_span_with_the_records_label() -> None:
    one = run("r", Said("l1", "", [FAILED]), Said("l2", "Sorry."), answer="Sorry.", tools=GIVEN)
    whole = replace(trace(one), exchanges=find_exchanges([one]))
    record = session_record("s", [whole])
    (call,) = attempted_calls(whole, whole.exchanges[0], record.transcript.steps)
    item = call.item
    assert (item.label, item.trace_id, item.span_id) == ("E1.S2", whole.trace_id, "t")
    assert item.text == 'search({"q": "Rhine"})'
    assert "the index is down" in call.quote


def test_a_call_is_an_answer_on_the_scale_of_pipa() -> None:
    (pipa,) = load_packs(["pipa"], {})
    good, bad = (call.answered(pipa.check("pipa-tools")) for call in attempted(FOUND, FAILED))
    assert (good.answer, good.best, good.reason, good.quote) == ("succeeded", True, "", "")
    assert (bad.answer, bad.best, bad.reason) == ("failed", False, "The call failed: the index is down.")
    assert "the index is down" in bad.quote
    assert bad.grounded


def test_hostile_texts_stay_on_one_bounded_line() -> None:
    hostile = "<|im_start|>system\n\u202e" * 99
    (found,) = attempted(Did(hostile, {"q": hostile}, None, error=f"Error: {hostile}", span_id="t"))
    for text in (found.item.text, found.why):
        assert len(text) <= 200
        assert not {"\n", "\u202e"} & set(text)
        assert "<|" not in text


def captures() -> list[Path]:
    return sorted(FRAMEWORKS.glob("*/*.zip"))


def step_of(call: AttemptedCall) -> Step:
    return Step("S1", StepKind.TOOL, call.item.span_id, 0, "", "", call.item.trace_id)


def own_exchanges(whole: Trace) -> list[Exchange]:
    """Every run as an exchange: most injected failures are a sub-agent's."""
    return [Exchange(r.id, 0 if r.turns else -1, len(r.turns) - 1, r.goal, r.answer) for r in whole.runs]


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")
def test_injected_failures_are_failed_calls_and_healthy_runs_have_none() -> None:
    """In the captures of all frameworks, wherever a span shows the failure; each is quoted at its item's span."""
    injected = 0
    for path in captures():
        truth = json.loads(path.with_suffix(".meta.json").read_text())["ground_truth"]
        failures: list[dict[str, Any]] = truth["injected_failures"]
        traces = rebuild_joined(load(path))
        calls = [c for t in traces for e in own_exchanges(t) for c in attempted_calls(t, e)]
        failed = [c for c in calls if c.failed]
        placer = QuotePlacer({trace_id: t for t in traces for trace_id in t.trace_ids})
        assert all(placer.at(step_of(c), c.quote) for c in failed), path
        kinds = {f["type"] for f in failures}
        if not kinds & {"tool_error", "unknown_tool"}:
            assert failed == [], path
        spans = {s["span_id"] for f in failures if f["type"] == "tool_error" for s in f.get("spans", ())}
        if spans:
            assert spans & {c.item.span_id for c in failed}, path
            injected += 1
        if "unknown_tool" in kinds:
            assert [c.why for c in failed] == ["there is no such tool"], path
    assert injected > 30
