"""One error by any id under which it was ever shown."""

from __future__ import annotations

from dataclasses import replace

import pytest
from store_parts import TRACE_ID, a_finding, a_judged_trace, a_span
from stored_readers import stored_reader

from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.causes import led_by
from tracejury.judges.detectors import BUILT_IN
from tracejury.judges.rule import RunRule
from tracejury.processors.assemble import AssemblerConfig
from tracejury.schemas.findings import Finding, FindingState
from tracejury.schemas.queries.reader import Confidence, ErrorQuery
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns
from tracejury.schemas.verdicts import JudgedTrace

ALL = Confidence(0.0, 0.0)
CALL = "c" * 16


@pytest.fixture
def reader(store: SharedStore) -> StoredReader:
    store.insert("spans", SPAN_COLUMNS, span_columns([a_span(attributes={"openinference.span.kind": "LLM"})], 1))
    return stored_reader(store, AssemblerConfig(), lambda: 10**18)


def early() -> Finding:
    """What is found first: a call that failed."""
    return a_finding(judge="service-error", tool_span_id=CALL, confidence=0.5, turn=1)


def late() -> Finding:
    """What is found later, about the same call, and surer."""
    return a_finding(judge="schema-violation", span_id=CALL, tool_span_id=CALL, confidence=0.9, turn=0)


def save(store: SharedStore, when: int, *found: Finding, gone: tuple[Finding, ...] = ()) -> None:
    judged: JudgedTrace = a_judged_trace(*found)
    word = replace(judged.judgement, judged_at=judged.judgement.judged_at + when)
    retracted = tuple(replace(one, state=FindingState.RETRACTED) for one in gone)
    StoredJudging(store).save([replace(judged, judgement=word, retracted=retracted)])


@pytest.mark.parametrize("listed", [True, False])
def test_an_earlier_id_leads_to_the_error_that_it_became(
    store: SharedStore, reader: StoredReader, *, listed: bool
) -> None:
    """Whether or not any list showed it: pages group findings in memory."""
    save(store, 0, early())
    if listed:
        assert [e.error.id for e in reader.errors(ErrorQuery(ALL, 5))] == [led_by(early())]
    save(store, 1, early(), late())
    for some_id in (led_by(early()), led_by(late()), early().id, late().id):
        view = reader.error(some_id, ALL)
        assert view is not None
        assert view.located.error.id == led_by(late())
        assert [f.id for f in view.findings] == [late().id, early().id]
    assert [e.error.id for e in reader.errors(ErrorQuery(ALL, 5))] == [led_by(late())]
    assert set(reader.error_ids(led_by(early())[:9], 5)) == {led_by(early())}


def test_a_finding_stored_without_a_title_is_told_by_its_rule_or_category(
    store: SharedStore, reader: StoredReader
) -> None:
    """As those from before there were titles; with its group, and in words. A title that is stored stays."""
    kept = a_finding(judge="loops", span_id="d" * 16, turn=5, title="Told by a judge", taxonomy="own")
    judged = a_finding(judge="tone", span_id="e" * 16, turn=7, category="Language-only", confidence=0.8)
    save(store, 0, early(), kept, judged)
    rule = next(one.title for one in BUILT_IN if isinstance(one, RunRule) and one.name == "service-error")
    assert rule
    shown = {e.error.judge: e.error.title for e in reader.errors(ErrorQuery(ALL, 5))}
    assert shown == {"service-error": rule, "loops": "Told by a judge", "tone": "Hallucination: language-only"}
    titles = {f.finding.judge: f.finding.shown_title for f in reader.findings(ErrorQuery(ALL, 5))}
    assert titles == shown
    view = reader.error(early().id, ALL)
    assert view is not None
    assert (view.findings[0].title, view.located.error.title) == (rule, rule)


def test_an_error_that_holds_no_more_is_retracted(store: SharedStore, reader: StoredReader) -> None:
    """It is answered from its findings."""
    save(store, 0, early())
    assert reader.errors(ErrorQuery(ALL, 5))
    save(store, 1, gone=(early(),))
    assert reader.errors(ErrorQuery(ALL, 5)) == []
    view = reader.error(led_by(early()), ALL)
    assert view is not None
    assert (view.located.error.id, view.located.error.state) == (led_by(early()), FindingState.RETRACTED)
    assert [(f.id, f.state) for f in view.findings] == [(early().id, FindingState.RETRACTED)]


def test_an_unknown_id_leads_nowhere(store: SharedStore, reader: StoredReader) -> None:
    """Nor does one of another project."""
    save(store, 0, early())
    assert reader.error("f" * 32, ALL) is None
    other = stored_reader(store, AssemblerConfig(), tenant="another")
    assert other.error(led_by(early()), ALL) is None
    assert other.error_ids("", 5) == []


def test_an_id_stored_before_findings_named_their_errors_resolves(store: SharedStore, reader: StoredReader) -> None:
    """By the row that folding keeps of an error that is gone."""
    save(store, 0, early())
    old = reader.errors(ErrorQuery(ALL, 5))[0].error.id
    save(store, 1, early(), late())
    reader.errors(ErrorQuery(ALL, 5))
    store.command("ALTER TABLE findings UPDATE ErrorId = '' WHERE 1 SETTINGS mutations_sync = 2")
    store.command("OPTIMIZE TABLE errors FINAL")
    view = reader.error(old, ALL)
    assert view is not None
    assert view.located.error.id == led_by(late())


def test_a_trace_shows_the_errors_of_lists(store: SharedStore, reader: StoredReader) -> None:
    """In the profile of either; findings below it count towards the error that they are of."""
    save(store, 0, early(), late(), a_finding(judge="other", span_id="d" * 16, confidence=0.3, turn=5))
    for least, count in ((0.0, 2), (0.4, 1), (0.95, 0)):
        view = reader.trace(TRACE_ID, Confidence(least, least))
        assert view is not None
        assert len(view.errors) == count
        listed = reader.errors(ErrorQuery(Confidence(least, least), 5))
        assert {(e.error, e.severity, e.whole) for e in listed} == {(e.error, e.severity, e.whole) for e in view.errors}
