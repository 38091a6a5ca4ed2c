"""The calls of a session as an oracle sees them, of small traces and of the captures of frameworks."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from small_traces import Did, Said, run, tool, trace
from trajectories import FRAMEWORKS, load

from tracejury.judges.packs.cards.oracle import Oracle
from tracejury.judges.packs.rut.calls import OUTSIDE, OracleCall, calls_of
from tracejury.judges.packs.rut.oracle_case import OracleCase
from tracejury.judges.packs.rut.outcome import judge
from tracejury.judges.packs.rut.rules import broken
from tracejury.processors.doctor.examine import diagnose, without_tool_spans
from tracejury.processors.exchanges import find_exchanges
from tracejury.processors.joining import rebuild_joined
from tracejury.schemas.trajectory import AgentRun, Trace, TraceState, TurnKind

PAY = Did("pay", {"eur": 5}, "paid", span_id="p")


def calls(*runs: AgentRun, state: TraceState = TraceState.SETTLED) -> tuple[OracleCall, ...]:
    whole = trace(*runs, state=state)
    whole = replace(whole, exchanges=find_exchanges(runs))
    return calls_of([whole], {(whole.trace_id, e.id): n for n, e in enumerate(whole.exchanges)})


def names(*runs: AgentRun, state: TraceState = TraceState.SETTLED) -> list[tuple[str, str]]:
    return [(one.tool, "ok" if one.ok else "failed" if one.ran else "refused") for one in calls(*runs, state=state)]


@pytest.mark.parametrize(
    ("did", "seen"),
    [
        (PAY, [("pay", "ok")]),
        (replace(PAY, error="no money"), [("pay", "failed")]),
        (replace(PAY, result="Error: HTTP 500 from the bank"), [("pay", "failed")]),
        (replace(PAY, span_id="", result="paid"), [("pay", "ok")]),
        (replace(PAY, span_id="", result=None, executed=None), [("pay", "refused")]),
        (replace(PAY, span_id="", result=None, executed=False), [("pay", "refused")]),
        (Did("nope", {"q": 1}, None, error="unknown tool: nope"), [("nope", "refused")]),
        (Did("final_answer", {"answer": 1}, "1", span_id="p"), []),
        (Did("clerk", None, "Fine.", sub_run_id="sub"), []),
        (replace(PAY, arguments='{"eur": '), [("pay", "ok")]),
    ],
    ids=[
        "ran", "raised", "told of an error", "ran by its result", "unpaired", "never ran", "no such tool", "answer",
        "unasked agent", "no JSON",
    ],
)  # fmt: skip
def test_which_calls_ran_and_which_failed(did: Did, seen: list[tuple[str, str]]) -> None:
    below = [run("sub", parent_id="r", role="sub-agent")] if did.sub_run_id else []
    tools = [tool("pay", (), eur="integer")]
    assert names(run("r", Said("l1", "", [did], tools=tools), tools=tools), *below) == seen


def test_a_call_that_never_ended_is_none_that_a_step_has() -> None:
    """Its span was announced at its start, and no more came."""
    whole = run("r", Said("l1", "", [PAY]))
    (turn,) = whole.turns
    (made,) = turn.tool_calls
    assert made.span is not None
    begun = replace(made, result=None, span=replace(made.span, raw=replace(made.span.raw, pending=True)))
    (found,) = calls(replace(whole, turns=(replace(turn, tool_calls=(begun,)),)))
    assert (found.ran, found.ok) == (True, False)


def test_arguments_that_are_no_json_object_match_nothing_and_lost_ones_are_unknown() -> None:
    garbled, empty, lost = calls(
        run("r", Said("l1", "", [replace(PAY, arguments=a, span_id=f"p{n}") for n, a in enumerate(("{", "", None))]))
    )
    assert (garbled.arguments, garbled.unknown) == (None, False)
    assert (empty.arguments, empty.unknown) == ({}, False)
    assert (lost.arguments, lost.unknown) == (None, True)


def test_calls_of_sub_agents_belong_to_the_exchange_that_caused_them() -> None:
    manager = run("r", Said("l1", "", [Did("ask", {"q": 1}, "ok", sub_run_id="sub")]), Said("l2", "Done."))
    sub = run("sub", Said("l9", "", [PAY]), parent_id="r", role="sub-agent", name="clerk")
    seen = {one.tool: (one.exchange, one.span_id) for one in calls(manager, sub)}
    assert seen["pay"] == (0, "p")
    lost = run("x", Said("l7", "", [replace(PAY, span_id="q")]), parent_id="gone", role="sub-agent")
    assert [one.exchange for one in calls(manager, lost) if one.span_id == "q"] == [OUTSIDE]


def test_calls_of_exchanges_that_are_not_asked_about_are_left_out() -> None:
    whole = trace(run("r", Said("l1", "", [PAY])))
    whole = replace(whole, exchanges=find_exchanges(whole.runs))
    assert calls_of([whole], {}) == ()


def test_of_an_open_trace_only_closed_turns_are_seen() -> None:
    turn = Said("l1", "", [PAY], closed=False)
    assert names(run("r", turn), state=TraceState.OPEN) == []
    assert names(run("r", turn), state=TraceState.SETTLED) == [("pay", "ok")]
    assert names(run("r", replace(turn, closed=True)), state=TraceState.OPEN) == [("pay", "ok")]
    assert names(run("r", replace(turn, kind=TurnKind.INNER))) == [("pay", "ok")]


def captures() -> list[Path]:
    return sorted(FRAMEWORKS.glob("*/*.zip"))


def healthy(path: Path) -> bool:
    return not json.loads(path.with_suffix(".meta.json").read_text())["ground_truth"]["injected_failures"]


def case_of(traces: Sequence[Trace], oracle: Oracle) -> OracleCase:
    numbers = {(t.trace_id, e.id): n for n, (t, e) in enumerate((t, e) for t in traces for e in t.exchanges)}
    answered = tuple(bool(e.answer) for t in traces for e in t.exchanges)
    return OracleCase(oracle, oracle.writing(), calls_of(traces, numbers), answered)


def oracle_of(made: Sequence[OracleCall]) -> Oracle:
    """The oracle that asks for just these calls, in this order."""
    steps: list[dict[str, Any]] = [
        {"id": f"s{n:03}", "tool": one.tool, "arguments": dict(one.arguments or {})} for n, one in enumerate(made)
    ]
    order = [(f"s{n - 1:03}", f"s{n:03}") for n in range(1, len(made)) if made[n - 1].start < made[n].start]
    return Oracle.model_validate({"steps": steps, "order": order, "strict_edges": True})


@pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")
def test_an_oracle_made_from_a_healthy_run_of_each_framework_succeeds_on_it() -> None:
    """Whether there are spans of its tools or not; live, too, no rule is broken. The quotes stand in their spans."""
    frameworks = {path.parent.name for path in captures()}
    seen: set[str] = set()
    for path in (one for one in captures() if healthy(one)):
        traces = rebuild_joined(load(path))
        gaps = {gap.kind: gap for gap in diagnose(traces).gaps}
        line = without_tool_spans(traces)
        assert bool(line) is ("no-tool-spans" in gaps)
        if line:
            gap = gaps["no-tool-spans"]
            assert line == f"{gap.severity} {gap.title}: {gap.what}"
        made = [c for c in case_of(traces, Oracle(type="refuse_or_scope")).calls if c.ok and c.arguments is not None]
        if not made:
            continue
        seen.add(path.parent.name)
        case = case_of(traces, oracle_of(made))
        found = judge(case)
        assert found.success, (path, found)
        for end in range(len(case.calls)):
            assert not broken(replace(case, calls=case.calls[:end]), over=False), path
        assert all(c.quote() for c in made)
        short = judge(replace(case, calls=case.calls[:-1]))
        assert short.success is not True, path
    assert len(seen) > len(frameworks) // 2, frameworks - seen
