"""One error for each cause: a file that several runs miss, and calls of one turn that fail in different ways."""

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


def reading(run_id: str, path: str, start: int) -> AgentRun:
    """A run that does not find a file."""
    steps = [Said("skip" + run_id + str(i), "Well.") for i in range(start)]
    failing = Said(f"a{run_id}", "", [Did("read_file", {"path": path}, None, f"{MISSING}: {path}", f"t{run_id}")])
    return run(run_id, *steps, failing, Said(f"z{run_id}", f"I could not read {path}, it does not exist."))


@pytest.mark.parametrize(("other", "count"), [("/data/a.csv", 1), ("/data/b.csv", 2)])
def test_a_file_that_two_runs_miss(other: str, count: int) -> None:
    """An agent that hands a path on makes the mistake once."""
    whole = trace(reading("r1", "/data/a.csv", 0), reading("r2", other, 1))
    found = errors(whole)
    assert [one for one, _ in found] == ["ar1", "ar2"][:count]
    assert ("ar2" in found[0][1]) is (count == 1)


@pytest.mark.parametrize(
    ("other", "primaries"), [(DOWN, ["t1"]), (f"{MISSING}: /data/a.csv", ["t1", "t2"]), (None, ["t1"])]
)
def test_two_calls_of_a_turn_that_fail_for_different_causes(other: str | None, primaries: list[str]) -> None:
    """Two errors, the second at its call; the same cause twice is one."""
    calls = [
        Did("search", {"q": "the Rhine"}, None, DOWN, "t1"),
        Did("read_file", {"path": "/data/a.csv"}, None if other else "1230", other, "t2"),
    ]
    whole = trace(run("r1", Said("a1", "", calls), Said("z", "I could not find it, the search is down.")))
    assert [one for one, _ in errors(whole)] == primaries


UNREAD = "Error while parsing tool call from model output: the message contains no call."


@pytest.mark.parametrize(("between", "expected"), [((), [("a1", ("a2", "a3"))]), ((2,), [("a1", ()), ("a3", ())])])
def test_replies_in_a_row_that_cannot_be_read(
    between: tuple[int, ...], expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    """One error at the first, however often the model is asked again; a step that works begins anew."""
    steps = [
        Said(f"a{n}", "", [Did("search", {"q": "the Rhine"}, "1230 km", None, f"t{n}")])
        if n in between
        else Said(f"a{n}", "Well.", step_error=UNREAD)
        for n in (1, 2, 3)
    ]
    found = errors(trace(run("r1", *steps, Said("z", "I could not find it."))))
    assert [one for one in found if one[0] in ("a1", "a2", "a3")] == expected


@pytest.mark.parametrize(
    ("arguments", "error", "expected"),
    [
        ({"q": "the Rhine"}, DOWN, [("t1", ("a1", "a2", "t2"))]),
        ({"q": "the Elbe"}, DOWN, [("t1", ("a1",)), ("t2", ("a2",))]),
        ({"q": "the Rhine"}, MISSING, [("t1", ("a1",)), ("a2", ())]),
    ],
    ids=["the same", "another call", "another failure"],
)
def test_a_failed_call_that_is_made_again_at_once(
    arguments: dict[str, str], error: str, expected: list[tuple[str, tuple[str, ...]]]
) -> None:
    """Unchanged, it is the same mistake; with other arguments, or where it fails in another way, it is another."""
    first = Said("a1", "", [Did("search", {"q": "the Rhine"}, None, DOWN, "t1")])
    again = Said("a2", "", [Did("search", arguments, None, error, "t2")])
    found = errors(trace(run("r1", first, again, Said("z", "I could not find it, the search is down."))))
    assert [(one, tuple(sorted(repeats))) for one, repeats in found] == expected
