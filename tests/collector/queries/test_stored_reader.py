"""The API's reader over the store: what detectors and judges found, together."""

from __future__ import annotations

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_subject, a_judged_trace, a_span
from stored_readers import stored_reader

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.taxonomy import Severity

GOAL = "goal-fulfilment"


@pytest.fixture
def reader(store: SharedStore) -> StoredReader:
    """One trace in which a detector and a judge found something, the judge also something immaterial."""
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(attributes={"openinference.span.kind": "LLM"})], 1))
    StoredJudging(store).save([a_judged_trace(a_finding(judge="loops"))])
    found = a_finding(judge=GOAL, evidence="gave up", confidence=0.7)
    immaterial = a_finding(judge=GOAL, evidence="spelling", severity=Severity.LOW, confidence=0.25)
    StoredLlmJudging(store).save([a_judged_subject(GOAL, found, immaterial)])
    return stored_reader(store, AssemblerConfig(), lambda: 10**18)


@pytest.mark.parametrize(("profile", "judges"), [("balanced", ["loops", GOAL]), ("recall", ["loops", GOAL, GOAL])])
def test_a_trace_shows_what_both_found(reader: StoredReader, profile: str, judges: list[str]) -> None:
    """And the verdicts; what is immaterial stands in the store, and only a wider profile shows it."""
    view = reader.trace(TRACE_ID, Confidence.of(profile))
    assert view is not None
    assert sorted(f.judge for f in view.findings) == sorted(judges)
    assert [(v.judge, v.score, v.model) for v in view.verdicts] == [(GOAL, 2, "some/model")]
    everywhere = reader.findings(ErrorQuery(Confidence.of(profile), 10))
    assert sorted(s.finding.judge for s in everywhere) == sorted(judges)


def test_errors_of_one_judge(reader: StoredReader) -> None:
    """By its name, as for a detector."""
    query = ErrorQuery(Confidence.of("balanced"), 10, judge=GOAL)
    assert [s.finding.evidence for s in reader.findings(query)] == ["gave up"]
