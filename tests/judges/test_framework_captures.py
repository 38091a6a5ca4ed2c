"""The suite on captures of real frameworks: healthy runs are clean, injected errors are found."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from trajectories import FRAMEWORKS, load

from tracejury.judges.registry import suite_of
from tracejury.processors.rebuild import rebuild
from tracejury.schemas.findings import Finding
from tracejury.schemas.profiles import threshold
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

pytestmark = pytest.mark.skipif(not FRAMEWORKS.exists(), reason="the shared framework captures are not on this machine")

SUITE = suite_of(())


def captures(scenario: str) -> Iterator[Path]:
    """The captures of a scenario, one a framework."""
    return iter(sorted(FRAMEWORKS.glob(f"*/{scenario}.zip")))


@cache
def judged(path: Path) -> tuple[tuple[Trace, ...], tuple[Finding, ...]]:
    """A capture's rebuilt traces and what is shown of them in the balanced profile."""
    rebuilt = tuple(rebuild(spans) for spans in load(path).values())
    results = [SUITE.judge(trace) for trace in rebuilt]
    assert all(result.failures == () for result in results)
    return rebuilt, tuple(f for r in results for f in r.findings if f.confidence >= threshold("balanced"))


@pytest.mark.parametrize("scenario", ["S1", "S1_stream", "S6"])
def test_healthy_runs_are_clean(scenario: str) -> None:
    """At most one finding in five runs over all frameworks, and nothing severe."""
    shown = {path: judged(path)[1] for path in captures(scenario)}
    assert shown
    assert sum(map(len, shown.values())) <= 0.2 * len(shown)
    assert [f for found in shown.values() for f in found if f.severity is Severity.HIGH] == []


def acting(scenario: str, *needs: str) -> list[Path]:
    """Captures of frameworks whose agent runs are rebuilt with LLM calls and tool calls that say what they did."""
    found = []
    for path in captures(scenario):
        turns = [t for whole in judged(path)[0] for agent_run in whole.runs for t in agent_run.turns]
        has = {
            "text": any(t.text for t in turns),
            "result": any(c.result is not None for t in turns for c in t.tool_calls),
            "error": any(c.error is not None for t in turns for c in t.tool_calls),
            "tools": any(agent_run.tools or agent_run.managed_agents for w in judged(path)[0] for agent_run in w.runs),
        }
        if all(has[need] for need in needs):
            found.append(path)
    return found


def test_the_same_search_four_times_is_found() -> None:
    """Wherever arguments and results are recorded."""
    paths = acting("S2", "text", "result")
    assert paths
    for path in paths:
        assert "Resource Abuse" in {f.category for f in judged(path)[1]}, path.parent.name


def test_a_tool_that_raises_is_found() -> None:
    """Wherever the tool's span says so; a number made up after it, wherever the answer is recorded."""
    for scenario in ("S3", "S8"):
        paths = acting(scenario, "error")
        assert paths
        for path in paths:
            assert judged(path)[1], (scenario, path.parent.name)


def test_a_plan_whose_tools_are_never_used_is_found() -> None:
    """Wherever the answer is recorded and something tells which tools there were."""
    paths = acting("S5", "text", "tools")
    assert paths
    for path in paths:
        assert "Goal Deviation" in {f.category for f in judged(path)[1]}, path.parent.name


def test_a_killed_process_is_not_the_agents_error() -> None:
    """What is missing because the end never came is not reported as missing."""
    paths = list(captures("S9"))
    assert paths
    assert [f for path in paths for f in judged(path)[1] if f.severity is Severity.HIGH] == []
