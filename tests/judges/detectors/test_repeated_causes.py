"""Failures of one cause are one error: a tool that stays down, a file that several runs miss."""

from __future__ import annotations

import pytest
from small_traces import Did, Said, run, trace

from tracejury.judges.grouping import group
from tracejury.judges.registry import suite_of
from tracejury.schemas.profiles import threshold
from tracejury.schemas.trajectory import AgentRun, Trace

SUITE = suite_of(())
DOWN = "SearchBackendError: search backend returned 503"
MISSING = "FileNotFoundError: No such file or directory"


def errors(whole: Trace) -> list[tuple[str, tuple[str, ...]]]:
    """Primary span and repeats of each balanced error."""
    shown = [f for f in SUITE.judge(whole).findings if f.confidence >= threshold("balanced")]
    return [(e.lead.span_id, e.repeated_at) for e in group(shown, [r.id for r in whole.runs])]


def asking(*errors: str) -> AgentRun:
    """An agent whose searches, each of something else, fail in these ways."""
    turns = [
        Said(f"a{i}", "", [Did("search", {"q": f"river {i}"}, None, error, f"t{i}")]) for i, error in enumerate(errors)
    ]
    return run("r1", *turns, Said("z", "I could not find it, the search is down.", sees=errors[-1:]))


def reading(run_id: str, path: str, start: int) -> AgentRun:
    """A run that does not find a file."""
    steps = [Said("skip" + run_id + str(i), "Well.") for i in range(start)]
    failing = Said(f"a{run_id}", "", [Did("read_file", {"path": path}, None, f"{MISSING}: {path}", f"t{run_id}")])
    return run(run_id, *steps, failing, Said(f"z{run_id}", f"I could not read {path}, it does not exist."))


def test_a_tool_that_stays_down() -> None:
    """One error with its repeats; another kind of failure is another error."""
    ((primary, repeated),) = errors(trace(asking(DOWN, DOWN)))
    assert (primary, set(repeated) >= {"a1"}) == ("a0", True)
    assert [one for one, _ in errors(trace(asking(DOWN, "ValueError: no number")))] == ["a0", "a1"]


@pytest.mark.parametrize(("other", "count"), [("/data/a.csv", 1), ("/data/b.csv", 2)])
def test_a_file_that_two_runs_miss(other: str, count: int) -> None:
    """An agent that hands a path on makes the mistake once."""
    whole = trace(reading("r1", "/data/a.csv", 0), reading("r2", other, 1))
    found = errors(whole)
    assert [one for one, _ in found] == ["ar1", "ar2"][:count]
    assert ("ar2" in found[0][1]) is (count == 1)
