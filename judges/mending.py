"""Which errors can still be mended at the end of a run, by going on where it stopped.

What somebody did not do can still be done: the errors of detectors that claim an absence (a test that did not run, a
step of the plan, a look-up). A failure that nothing made up for can still be made up for: a call that works later makes
its error LOW (later_calls.py). And what the last reply says can be corrected. A step that was wasted, or went wrong and
was overtaken by what followed, cannot.
"""

from __future__ import annotations

from functools import cache

from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

from .detectors import BUILT_IN


def can_be_mended(error: AgentError, trace: Trace, least: float) -> bool:
    """Whether that can still be done; `least`: the confidence that severities are for."""
    if error.severity(least).rank < Severity.MEDIUM.rank:
        return False
    if error.lead.judge in _of_what_lasts():
        return True
    run = trace.run(error.lead.agent_run_id)
    return run is not None and not run.parent_id and bool(run.turns) and error.lead.turn == run.turns[-1].index


@cache
def _of_what_lasts() -> frozenset[str]:
    """Detectors of an absence or of a failure."""
    return frozenset(
        detector.name
        for detector in BUILT_IN
        if getattr(detector, "of_absence", False) or getattr(detector, "of_failure", False)
    )
