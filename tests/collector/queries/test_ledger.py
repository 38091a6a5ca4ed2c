"""Why a trace has no score: each case has its line."""

from __future__ import annotations

import pytest
from served_api import KNOWN, ledger_entry

from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.queries.ledger import JudgedState, JudgesStatus, why_unscored
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import Outcome, SubjectKind

OFF, ON = JudgesStatus(), JudgesStatus(on=True, model="some/model")
BROKEN = JudgesStatus(on=True, model="some/model", trouble="no key")
SETTLED, OPEN, EMPTY = (
    JudgedState(TraceState.SETTLED, 1),
    JudgedState(TraceState.OPEN, 1),
    JudgedState(TraceState.SETTLED, 0),
)
DETECTED = ledger_entry(1, kind=SubjectKind.TRACE, judge="detectors").word
DONE, PENDING = ledger_entry(2).word, ledger_entry(3, outcome=Outcome.PENDING).word


@pytest.mark.parametrize(
    ("words", "judged", "status", "part"),
    [
        ([], None, OFF, "not judged at all yet"),
        ([DETECTED], SETTLED, OFF, "no LLM judge is switched on: switch them on with `tracejury serve --model"),
        ([DETECTED], EMPTY, ON, "no agent run was recognised"),
        ([DETECTED], OPEN, ON, "has not settled yet"),
        ([DETECTED], SETTLED, ON, f"before the judges were switched on: `tracejury judge --trace {KNOWN}`"),
        ([DETECTED], SETTLED, BROKEN, "the LLM judges do not work: no key"),
        ([PENDING], SETTLED, BROKEN, "the LLM judges do not work: no key"),
        ([DONE, PENDING], SETTLED, OFF, "still to look at it, and this collector has none"),
        ([DONE, PENDING], SETTLED, ON, None),
        ([DONE, DETECTED], SETTLED, OFF, None),
        ([DONE], SETTLED, BROKEN, None),
    ],
)
def test_every_case_has_its_line(
    words: list[LedgerRow], judged: JudgedState | None, status: JudgesStatus, part: str | None
) -> None:
    """Nothing is said only where the judges' own words tell."""
    why = why_unscored(words, judged, status, KNOWN)
    assert (why is None) if part is None else (why is not None and part in why)
