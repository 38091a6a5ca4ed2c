"""Small captures scored: a right rebuild is right in every measure, and each way of being wrong has its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from framework_folder import ANSWER, QUERY, TASK, call, chat, run_spans, tool, truth, write
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from tracejury.collector.evaluation.frameworks.items import Measure, ScoredFact
from tracejury.collector.evaluation.frameworks.run import ReconstructionEvaluation, evaluate_frameworks

Change = Callable[[dict[str, Any]], object]


def missed(e: ReconstructionEvaluation) -> set[tuple[str, str]]:
    """What was missed: measure and kind."""
    return {(i.measure.value, i.kind) for i in e.items if not i.ok}


def of(e: ReconstructionEvaluation, measure: Measure) -> list[ScoredFact]:
    """The items of a measure."""
    return [i for i in e.items if i.measure is measure]


@pytest.mark.parametrize("seed", [None, 1, 2, 3])
def test_a_right_rebuild_misses_nothing(tmp_path: Path, seed: int | None) -> None:
    """In any order; everything is stated and counts."""
    e = evaluate_frameworks(write(tmp_path, truth(), run_spans()), shuffle=seed)
    assert missed(e) == set()
    assert all(i.stated for i in e.items)
    counts = {m: sum(i.weight for i in of(e, m)) for m in Measure if of(e, m)}
    assert counts == {
        Measure.AGENTS: 2,
        Measure.PARENTS: 2,
        Measure.TOOL_CALLS: 2,
        Measure.LLM_CALLS: 4,
        Measure.FINDINGS: 1,
    }


def search(meta: dict[str, Any]) -> dict[str, Any]:
    """The true search."""
    call: dict[str, Any] = meta["tool_calls_by_agent"]["researcher"][0]
    return call


WRONG: list[tuple[Change, set[tuple[str, str]]]] = [
    (lambda t: t["agents"][1].update(invocations=2), {("agents", "too few runs"), ("parent relations", "no parent")}),
    (lambda t: t["agents"].pop(), {("agents", "an agent that is none")}),
    (lambda t: t["agents"][1].update(parent=None), {("parent relations", "another parent")}),
    (lambda t: t["agents"][1].update(invocations=0), {("agents", "too many runs")}),
    (lambda t: search(t).update(args={"query": TASK}), {("tool calls", "arguments")}),
    (lambda t: search(t).update(executed=False), {("tool calls", "executed")}),
    (lambda t: search(t).update(error=f"Error: {ANSWER}"), {("tool calls", "error")}),
    (lambda t: search(t).update(name="length"), {("tool calls", "name")}),
    (lambda t: t["tool_calls_by_agent"]["researcher"].append(search(t)), {("tool calls", "missing")}),
    (lambda t: t["final_answers"].clear(), {("LLM calls", "counted more than once")}),
]


@pytest.mark.parametrize(("change", "expected"), WRONG)
def test_what_differs_from_the_truth_is_named(tmp_path: Path, change: Change, expected: set[tuple[str, str]]) -> None:
    """The same export under a truth that it does not fit."""
    meta = truth()
    change(meta["ground_truth"])
    assert missed(evaluate_frameworks(write(tmp_path, meta, run_spans()))) == expected


def test_a_call_of_another_agent_is_named(tmp_path: Path) -> None:
    """The search as the manager's."""
    meta = truth()
    calls = meta["ground_truth"]["tool_calls_by_agent"]
    calls["manager"], calls["researcher"] = [*calls["manager"], *calls["researcher"]], []
    assert missed(evaluate_frameworks(write(tmp_path, meta, run_spans()))) == {("tool calls", "agent")}


def test_a_second_execution_is_one_too_many(tmp_path: Path) -> None:
    """The same search again, which the program did not make; a tool that the truth does not know is the framework's."""
    more = [tool(9, 4, "search", {"query": QUERY}, "1230 km", "c9"), tool(10, 1, "final_answer", {}, ANSWER, "c10")]
    e = evaluate_frameworks(write(tmp_path, truth(), [*run_spans(), *more]))
    assert missed(e) == {("tool calls", "one too many")}


@pytest.mark.parametrize("parallel", [False, True])
def test_the_order_of_calls_counts_unless_they_run_at_once(tmp_path: Path, *, parallel: bool) -> None:
    """One call of three stands before the one that it followed."""
    meta = truth(parallel=parallel)
    calls = meta["ground_truth"]["tool_calls_by_agent"]["researcher"]
    spans = run_spans()
    for at, place in enumerate(("Rhine", "Oder", "Elbe"), 20):
        calls.append(calls[0] | {"args": {"query": place}})
        spans += [chat(10 * at, 4, [], call("search", {"query": place}, f"d{at}"))]
        spans += [tool(10 * at + 1, 4, "search", {"query": place}, "?", f"d{at}")]
    calls[1], calls[2] = calls[2], calls[1]
    e = evaluate_frameworks(write(tmp_path, meta, spans))
    assert [i.kind for i in of(e, Measure.TOOL_CALLS) if not i.ok] == ([] if parallel else ["order"])


def test_a_failure_is_found_at_its_span_or_turn(tmp_path: Path) -> None:
    """A tool that raised, and a loop that is not there."""
    spans = run_spans()
    spans[5].status.code = Status.STATUS_CODE_ERROR
    spans[5].status.message = "SearchBackendError: search backend returned 503"
    spans[5].attributes[-1].value.string_value = "search backend returned 503"
    meta = truth("S8")
    search(meta["ground_truth"])["error"] = "SearchBackendError: search backend returned 503"
    at = [{"span_id": spans[5].span_id.hex(), "name": "search", "status": "ERROR"}]
    error = {"type": "tool_error", "agent": "researcher", "args": {"query": QUERY}, "spans": at}
    meta["ground_truth"]["injected_failures"] = [error, error | {"type": "loop"}]
    found, loop = of(evaluate_frameworks(write(tmp_path, meta, spans)), Measure.FAILURES)
    assert (found.what, found.ok, found.stated) == ("tool_error", True, True)
    assert (loop.what, loop.ok, loop.kind) == ("loop", False, "another category")
