"""What one judging changes in the store."""

from __future__ import annotations

from dataclasses import replace

from tracejury.collector.judging.detect.judge_traces import standing
from tracejury.collector.judging.pipeline import BY_ITS_JUDGE, compare
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.taxonomy import TRAIL, Dimension, Severity
from tracejury.schemas.trajectory import TraceState


def finding(
    name: str, *, fingerprint: str = "", state: FindingState = FindingState.CURRENT, first_seen: int = 0
) -> Finding:
    return Finding(
        id=name, fingerprint=fingerprint or name, tenant="", trace_id="t", span_id="s", agent_run_id="r", turn=0,
        judge="rule", dimensions=(Dimension.TOOL_CALLING,), taxonomy=TRAIL, category="Formatting Errors",
        severity=Severity.LOW, confidence=0.9, evidence="quote", explanation="why", state=state, first_seen=first_seen,
    )  # fmt: skip


def by_id(*findings: Finding) -> dict[str, Finding]:
    return {f.id: f for f in findings}


def test_a_new_finding_is_written_with_the_time_of_first_sight() -> None:
    """It is provisional while its trace is open and current once that is closed."""
    for state, expected in [
        (TraceState.OPEN, FindingState.PROVISIONAL),
        (TraceState.SETTLED, FindingState.CURRENT),
        (TraceState.INCOMPLETE, FindingState.CURRENT),
    ]:
        change = compare([finding("a")], {}, standing(state), now=7)
        assert change.written == change.findings == (finding("a", state=expected, first_seen=7),)
        assert change.retracted == ()


def test_judging_again_with_the_same_outcome_writes_nothing() -> None:
    """Judging again is safe, and cheap."""
    first = compare([finding("a")], {}, FindingState.CURRENT, now=7)
    again = compare([finding("a")], by_id(*first.findings), FindingState.CURRENT, now=9)
    assert again.findings == first.findings
    assert (again.written, again.retracted) == ((), ())


def test_a_finding_that_no_longer_holds_is_retracted_once() -> None:
    """A retracted one is not retracted again, and comes back under its id with its first sight."""
    held = finding("a", first_seen=7)
    gone = compare([], by_id(held), FindingState.CURRENT, now=9)
    assert gone.retracted == (replace(held, state=FindingState.RETRACTED, withdrawn=BY_ITS_JUDGE),)
    assert compare([], by_id(*gone.retracted), FindingState.CURRENT, now=10).retracted == ()
    back = compare([finding("a")], by_id(*gone.retracted), FindingState.CURRENT, now=11)
    assert back.written == (held,)


def test_first_sight_is_the_fingerprints() -> None:
    """A reworded finding keeps the time at which the error was first seen."""
    old = finding("a", fingerprint="f", first_seen=7)
    change = compare([finding("b", fingerprint="f")], by_id(old), FindingState.CURRENT, now=9)
    assert [f.first_seen for f in change.findings] == [7]
    assert [f.id for f in change.retracted] == ["a"]
