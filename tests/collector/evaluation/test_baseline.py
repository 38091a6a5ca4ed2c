"""The TRAIL-style baseline: one call over the raw trace."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from canned_client import CannedClient
from trail_folder import write

from tracejury.collector.evaluation.baseline import BASELINE, MOST_ERRORS, judge_baseline
from tracejury.collector.evaluation.rebuilt import rebuild_folder
from tracejury.judges.llm.case import NO_DESCRIPTION, ServiceDescription
from tracejury.schemas.errors import LlmError, OverBudgetError, TracejuryError
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import Trace

A = "a" * 32


@pytest.fixture
def trace(tmp_path: Path) -> Trace:
    return rebuild_folder(write(tmp_path / "x", [A], {})).traces[0]


def told(**changes: object) -> dict[str, object]:
    return {
        "category": "goal deviation",
        "location": f" {5:016X}",
        "evidence": "The mean is 42.",
        "description": "Made up.",
        "impact": "low",
    } | changes


async def judged(trace: Trace, *errors: object) -> tuple[list[tuple[str, str, Severity]], dict[str, int]]:
    client = CannedClient(lambda _: f"Here: {json.dumps({'errors': errors, 'scores': {}})}")
    run = await judge_baseline(trace, NO_DESCRIPTION, client)
    return [(f.span_id, f.category, f.severity) for f in run.findings], dict(run.dropped)


async def test_errors_become_findings_at_their_spans(trace: Trace) -> None:
    """Ids in any case, categories as TRAIL's scorer reads them; the same error twice is one."""
    found, dropped = await judged(trace, told(), told(), told(impact="dire", category="Formatting Errors"))
    at = f"{5:016x}"
    assert found == [(at, "Goal Deviation", Severity.LOW), (at, "Formatting Errors", Severity.MEDIUM)]
    assert dropped == {}


async def test_what_names_no_span_is_dropped_and_counted(trace: Trace) -> None:
    """Whatever stands in the place of an error."""
    found, dropped = await judged(trace, told(location="f" * 16), told(location=5), "error", None, told())
    assert (len(found), dropped) == (1, {"unknown-span": 4})


async def test_its_errors_are_bounded(trace: Trace) -> None:
    """However many it tells."""
    found, _ = await judged(trace, *(told(evidence=str(i)) for i in range(MOST_ERRORS + 5)))
    assert len(found) == MOST_ERRORS


@pytest.mark.parametrize("said", ["", "none", "{}", '{"errors": 1}', "[]", LlmError("stalled"), OverBudgetError("cap")])
async def test_without_a_usable_answer_it_is_unscored(trace: Trace, said: str | TracejuryError) -> None:
    """With the reason."""
    run = await judge_baseline(trace, NO_DESCRIPTION, CannedClient(lambda _: said))
    assert run.findings == ()
    assert run.failures.keys() == {BASELINE}


async def test_it_reads_the_whole_trace_and_the_architecture(trace: Trace) -> None:
    """All spans with their ids; a description where there is one."""
    client = CannedClient(lambda _: '{"errors": []}')
    await judge_baseline(trace, ServiceDescription("An agent that reads files."), client)
    text = client.asked[0].messages[-1].text
    assert all(span_id in text for span_id in trace.spans)
    assert "An agent that reads files." in text
