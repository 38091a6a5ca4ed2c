"""Faults that were injected into captures of frameworks: the first difference from the healthy capture is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from trajectories import FRAMEWORKS, load

from tracejury.judges.divergence.aligning import StepDifference, StepPair, align
from tracejury.judges.divergence.steps import TraceStep, steps_of
from tracejury.processors.joining import rebuild_joined
from tracejury.schemas.normalized import NormalizedSpan

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")

FAULTS = {"loop", "tool_error", "no_tools_used", "process_killed"}
LATER = 86_400 * 1_000_000_000


@cache
def spans(path: Path) -> dict[str, list[NormalizedSpan]]:
    return load(path)


def steps(path: Path) -> list[TraceStep]:
    return steps_of(rebuild_joined(spans(path)))


def pairs() -> list[tuple[Path, Path, dict[str, Any], dict[str, Any]]]:
    """Of each framework the healthy capture and those with a fault: what was injected, and what the program did."""
    found = []
    for faulty in sorted(FRAMEWORKS.glob("*/S[23589].zip")):
        truth = json.loads(faulty.with_suffix(".meta.json").read_text())["ground_truth"]
        fault = next((one for one in truth["injected_failures"] if one["type"] in FAULTS), None)
        if fault and (healthy := faulty.with_name("S1.zip")).exists():
            found.append((healthy, faulty, fault, truth))
    return found


def at_fault(
    told: StepPair | None, fault: dict[str, Any], truth: dict[str, Any], sequence: Sequence[TraceStep]
) -> bool:
    """Whether it is the step that was injected, by its span; where the truth names none, by the call that it was."""
    if told is None or told.second is None:
        return False
    ids = {span["span_id"] for span in fault.get("spans", ())}
    if fault["type"] == "no_tools_used":
        first = told.first is not None and bool(told.first.tool)
        return first and not told.second.tool and (told.second.span_id in ids or told.second is sequence[-1])
    if ids:
        return told.second.span_id in ids
    calls = truth["tool_calls_by_agent"]["researcher"]
    wanted = fault.get("args") or next(call["args"] for call in calls if call["error"])
    return told.second.tool == "search" and json.loads(told.second.arguments or "{}") == wanted


def damaged(traces: dict[str, list[NormalizedSpan]]) -> dict[str, list[NormalizedSpan]]:
    """A copy that arrived in another order, some of it twice, with the arguments of calls in another order, later."""
    return {trace_id: [_changed(s) for s in [*reversed(own), *own[::3]]] for trace_id, own in traces.items()}


def _changed(span: NormalizedSpan) -> NormalizedSpan:
    def turned(arguments: Any) -> Any:
        return dict(reversed(arguments.items())) if isinstance(arguments, dict) else arguments

    requests = [
        replace(m, tool_requests=tuple(replace(r, arguments=turned(r.arguments)) for r in m.tool_requests))
        for m in span.output_messages
    ]
    raw = replace(span.raw, start=span.raw.start + LATER, end=span.raw.end + LATER)
    return replace(span, raw=raw, output_messages=tuple(requests), tool_arguments=turned(span.tool_arguments))


def test_the_first_divergence_is_at_the_injected_step(capsys: pytest.CaptureFixture[str]) -> None:
    hits, hits_damaged, missed, kinds = 0, 0, [], set()
    for healthy, faulty, fault, truth in pairs():
        good, bad = steps(healthy), steps(faulty)
        told = align(good, bad).divergence
        if at_fault(told, fault, truth, bad):
            hits += 1
            kinds.add(told.difference if told else None)
        else:
            missed.append(f"{faulty.parent.name}/{faulty.stem}")
        mixed = steps_of(rebuild_joined(damaged(spans(faulty))))
        hits_damaged += at_fault(align(good, mixed).divergence, fault, truth, mixed)
        # It is symmetric, and a copy is no different.
        other = align(bad, good).divergence
        assert (other and other.second, other and other.first) == (told and told.first, told and told.second)
        assert align(bad, mixed).divergence is None, faulty
        # Where spans are lost, what is left is compared: it parts at the fault or before, never after it.
        lost = steps_of(rebuild_joined({i: own[::2] for i, own in spans(faulty).items()}))
        assert align(good, lost).at <= align(good, bad).at, faulty
    count = len(pairs())
    with capsys.disabled():
        print(  # noqa: T201 - the figure of the docs
            f"\nfirst divergence at the injected step: {hits}/{count} pairs of {len({p.parent for p, *_ in pairs()})} "
            f"frameworks ({hits / count:.2f}), damaged copies {hits_damaged / count:.2f}; elsewhere: {missed}"
        )
    assert count >= 50
    assert min(hits, hits_damaged) >= 0.9 * count
    assert {StepDifference.STEP, StepDifference.OUTCOME} <= kinds


def test_another_run_of_the_same_program_is_no_different() -> None:
    """Streamed: other ids, times and spans. One framework's manager really stops early when it streams."""
    for streamed in sorted(FRAMEWORKS.glob("*/S1_stream.zip")):
        told = align(steps(streamed.with_name("S1.zip")), steps(streamed)).divergence
        assert (told is None) == (streamed.parent.name != "pydantic_ai"), streamed
