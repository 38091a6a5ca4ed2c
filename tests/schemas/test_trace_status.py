"""The status of a trace or session: what was not judged, or goes on, or failed, is never ok."""

from __future__ import annotations

from itertools import product

import pytest

from tracejury.schemas.trace_status import TraceStatus, status_of
from tracejury.schemas.trajectory import TraceState


@pytest.mark.parametrize(("state", "unjudged", "traces"), [*product(TraceState, (0, 1, 2), (1, 2))])
def test_ok_is_what_settled_and_was_judged_as_a_whole(state: TraceState, unjudged: int, traces: int) -> None:
    """And nothing else."""
    is_ok = state is TraceState.SETTLED and unjudged == 0
    assert (status_of(state, unjudged, traces) is TraceStatus.OK) == is_ok


@pytest.mark.parametrize("unjudged", [0, 1])
def test_what_runs_and_what_failed_says_so_whether_judged_or_not(unjudged: int) -> None:
    """A failure is known of statuses alone."""
    assert status_of(TraceState.OPEN, unjudged) is TraceStatus.RUNNING
    assert status_of(TraceState.FAILED, unjudged) is TraceStatus.FAILED


def test_a_session_says_whether_a_part_or_nothing_was_judged() -> None:
    """Of one trace there is no part."""
    assert [status_of(TraceState.SETTLED, unjudged, 3) for unjudged in range(4)] == [
        TraceStatus.OK,
        TraceStatus.PARTLY_JUDGED,
        TraceStatus.PARTLY_JUDGED,
        TraceStatus.NOT_JUDGED,
    ]
    assert status_of(TraceState.INCOMPLETE, 1) is TraceStatus.NOT_JUDGED
    assert status_of(TraceState.INCOMPLETE, 0) is TraceStatus.INCOMPLETE
    assert TraceStatus.NOT_JUDGED.words == "not judged"
