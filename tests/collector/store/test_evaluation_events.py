"""`gen_ai.evaluation.result`, as log records and span events: stored as scores, and no part of the trace judged."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from judging_bench import T0, TRACE, Bench, span
from sizes import sized
from store_parts import a_span

from tracejury.collector.outbound.otlp.returned_spans import ReturnedSpans
from tracejury.collector.store.committer import Committed
from tracejury.collector.store.scores import StoredScores
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.evidence import own_texts
from tracejury.processors.normalize import normalize
from tracejury.schemas.batch import Batch
from tracejury.schemas.given_scores import EVALUATION
from tracejury.schemas.queries.scores import ScoreQuery
from tracejury.schemas.spans import LogRecord, Span, SpanEvent

ONE = "1".rjust(16, "0")
SAID = {
    "gen_ai.evaluation.name": "relevance",
    "gen_ai.evaluation.score.value": "0.25",
    "gen_ai.evaluation.score.label": "poor",
    "gen_ai.evaluation.explanation": "boom, it missed",
}


def record(**changes: Any) -> LogRecord:
    values: dict[str, Any] = {"event_name": EVALUATION, "attributes": SAID, "body": "boom", "scope_name": "judge"}
    return LogRecord(TRACE, ONE, 7, 7, **values | changes)


def event(**said: str) -> SpanEvent:
    return SpanEvent(9, EVALUATION, {**SAID, **said})


def said_of(store: SharedStore) -> list[tuple[Any, ...]]:
    found = StoredScores(store).find(ScoreQuery(100))
    places = ((s, (s.trace_id, s.span_id, s.session_id)) for s in found)
    return sorted((s.name, s.value, s.label, s.source, s.error_type, *place) for s, place in places)


def test_records_and_events_are_scores_however_often_they_are_sent(store: SharedStore) -> None:
    """Each once, whatever came first; a conversation's has no trace; what states nothing is an ordinary record."""
    failed = {"gen_ai.evaluation.name": "tone", "error.type": "timeout"}
    talk = {"gen_ai.evaluation.name": "csat", "gen_ai.evaluation.score.value": "4", "gen_ai.conversation.id": "talk"}
    logs = [
        record(),
        record(attributes=failed, event_name="", body="x"),
        replace(record(attributes=failed), attributes={**failed, "event.name": EVALUATION}, event_name=""),
        replace(record(attributes=talk), trace_id="", span_id=""),
        record(attributes={"gen_ai.evaluation.name": "empty"}),
        record(attributes={"gen_ai.evaluation.name": "nan", "gen_ai.evaluation.score.value": "nan"}),
    ]
    evaluated = replace(span("1"), events=(event(), event(), SpanEvent(9, "other", {})))
    bench = Bench(store)
    for _ in range(2):
        bench.commit(logs=logs)
        bench.commit(evaluated)
    assert said_of(store) == [
        ("csat", 4.0, "", "judge", "", "", "", "talk"),
        ("relevance", 0.25, "poor", "judge", "", TRACE, ONE, ""),
        ("relevance", 0.25, "poor", "shop", "", TRACE, ONE, ""),
        ("tone", None, "", "judge", "timeout", TRACE, ONE, ""),
    ]
    assert store.rows("SELECT count() FROM logs FINAL") == [(3,)]
    assert store.rows("SELECT length(`Events.Name`) FROM spans FINAL") == [(3,)]


def test_true_and_false_are_numbers_with_a_label(store: SharedStore) -> None:
    """As in `/api/scores`; what its evaluator calls it stays."""
    name, value = "gen_ai.evaluation.name", "gen_ai.evaluation.score.value"
    said = [{name: "a", value: "true"}, {name: "b", value: "false", "gen_ai.evaluation.score.label": "fail"}]
    Bench(store).commit(logs=[record(attributes=one) for one in said])
    assert [one[:3] for one in said_of(store)] == [("a", 1.0, "true"), ("b", 0.0, "fail")]


def test_hostile_texts_are_cut_to_what_may_be_stored(store: SharedStore) -> None:
    """An evaluator's words are never refused with the request that they are in."""
    hostile = {
        "gen_ai.evaluation.name": "a\x00b\n" + "n" * 500,
        "gen_ai.evaluation.score.label": "l" * 5_000,
        "gen_ai.evaluation.explanation": "<b>\x1b[2J" + "e" * 50_000,
        "gen_ai.evaluation.score.value": "1e999",
    }
    Bench(store).commit(logs=[record(attributes=hostile)])
    (found,) = StoredScores(store).find(ScoreQuery(1))
    assert (found.name, len(found.name), found.value) == ("ab" + "n" * 198, 200, None)
    assert (len(found.label), len(found.explanation)) == (1_000, 20_000)


DERIVED = ("findings", "errors", "verdicts", "judgements", "traces", "run_facts", "texts", "outlines")


def derived(store: SharedStore) -> dict[str, list[Any]]:
    """All rows of what judging makes, but the time at which it was done."""
    found = {}
    for table in DERIVED:
        of_table = f"database = currentDatabase() AND table = '{table}'"
        names = [name for (name,) in store.rows(f"SELECT name FROM system.columns WHERE {of_table}")]
        kept = [f"`{name}`" for name in names if name not in {"JudgedAt", "ReceivedAt", "FoldedAt", "StoredAt", "At"}]
        found[table] = store.rows(f"SELECT {', '.join(kept)} FROM {table} ORDER BY ALL")
    return copy.deepcopy(found)


def test_scores_change_nothing_that_is_judged(store: SharedStore) -> None:
    """Before, with and after the span, as records and events: what is derived is the same, byte for byte."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.commit(span("2", "1", output="fine"))
    bench.wait(6)
    alone = derived(store)
    assert alone["findings"]
    for table in (*DERIVED, "spans", "logs"):
        store.command(f"TRUNCATE TABLE {table}")
    other = Bench(store)
    other.commit(logs=[record()])
    other.commit(replace(span("1", output="boom"), events=(event(),)), logs=[record(attributes={**SAID, "x": "boom"})])
    other.commit(replace(span("2", "1", output="fine"), events=(event(**{"error.type": "Boom"}),)))
    other.wait(6)
    assert derived(store) == alone


def test_a_late_score_opens_no_trace_again(store: SharedStore) -> None:
    """Nothing that hears of commits is told of it."""
    heard: list[Batch] = []

    class Hearer:
        def copy_for(self, _size: int) -> None:
            return None

        def committed(self, group: Any) -> None:
            heard.extend(group.batches)

    bench = Bench(store)
    bench.committer._hearer = Hearer()
    (outcome,) = bench.committer.commit([Batch(logs=[record()], size=10)])
    assert isinstance(outcome, Committed)
    assert len(outcome.stored) == 1
    assert heard == []
    bench.committer.commit([Batch([span("1")], [record(), record(event_name="other")], 10)])
    assert [(len(batch.spans), [one.event_name for one in batch.logs]) for batch in heard] == [(1, ["other"])]
    bench.commit(span("1"))
    assert bench.wait(6) == 1
    bench.commit(logs=[record(body="late")], tell=False)
    assert bench.wait(6) == 0


words = st.text(max_size=30)


@settings(max_examples=sized(60, 1000))
@given(
    st.lists(st.dictionaries(st.sampled_from([*SAID, "error.type", "exception.message"]), words), max_size=4),
    st.sampled_from(
        [
            {"openinference.span.kind": "LLM", "output.value": "hi"},
            {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"},
            {"gen_ai.request.model": "m"},
            {},
        ]
    ),
)
def test_what_others_say_of_a_span_is_no_text_of_it(stated: list[dict[str, str]], attributes: dict[str, str]) -> None:
    """The span reads as if nobody had said anything, and so does its own text, where quotes must be."""
    own: Span = a_span(attributes=attributes, events=(SpanEvent(1, "note", {"a": "b"}),))
    evaluated = replace(own, events=(*own.events, *(SpanEvent(2, EVALUATION, said) for said in stated)))
    logs = [record(attributes=said) for said in stated]
    found, alone = normalize(evaluated, logs), normalize(own)
    assert found == alone
    assert own_texts(found) == own_texts(alone)


@pytest.mark.parametrize(("mark", "kept"), [("ours", 0), ("ours@th:8,theirs", 0), ("theirs", 1), ("", 1)])
async def test_our_own_opinions_are_no_scores_of_others(mark: str, kept: int) -> None:
    """A backend may send back what we forwarded to it; another installation's are opinions like any."""
    taken: list[Batch] = []

    class Sink:
        async def submit(self, batch: Batch) -> int:
            taken.append(batch)
            return 0

    marked = SAID | ({"tracejury.forwarded_by": mark} if mark else {})
    batch = Batch(logs=[record(attributes=marked), record(event_name="other", attributes=marked)])
    await ReturnedSpans(Sink(), "ours").submit(batch)
    assert [sum(one.event_name == EVALUATION for one in batch.logs) for batch in taken] == [kept]
    assert [len(batch.logs) for batch in taken] == [kept + 1]


def test_the_clock_of_the_store_dates_their_arrival(store: SharedStore) -> None:
    """Not that of whoever said it: retention and `since` go by it."""
    Bench(store).commit(logs=[record()])
    (found,) = StoredScores(store).find(ScoreQuery(1))
    assert (found.at, found.received_at) == (7, T0)
