"""Deleting traces: all of them goes, in the store and in memory, and nothing else."""

from __future__ import annotations

from dataclasses import replace

from judging_bench import KEY, T0, TRACE, Bench, span
from naive_rates import expected
from store_parts import a_finding, a_judged_subject

from tracejury.collector.labels.stored_labels import StoredLabels
from tracejury.collector.rates import StoredRates
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.processors.assemble import SECOND
from tracejury.schemas.annotations import Annotation
from tracejury.schemas.llm_rows import AnswerRow
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.queries.labels import Labelled
from tracejury.schemas.rates import Population, RateQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.verdicts import Subject, SubjectKind

OTHER = "b" * 32
EVER = RateQuery(0, T0 + 10**15, population=Population.DETECTORS)
LABEL = Annotation(
    id="label", trace_id=TRACE, span_id="1".rjust(16, "0"), annotator="ann", category="Tool-related",
    severity=Severity.HIGH, evidence="boom", explanation="it did", changed_at=1,
)  # fmt: skip


def begins_anew(store: SharedStore) -> None:
    """What is sent again of a deleted trace begins it anew from now on."""
    store.config = store.config.model_copy(update={"tombstone_days": 0})


def deletion(store: SharedStore, bench: Bench) -> Deletion:
    return Deletion(store, bench.judging, clock=lambda: bench.now)


def rows_of(store: SharedStore, trace_id: str) -> dict[str, int]:
    """How many rows each table has of a trace; those without any, and the note that it was deleted, are left out."""
    tables = store.rows(
        "SELECT table FROM system.columns WHERE database = currentDatabase() AND name = 'TraceId' "
        "AND table IN (SELECT name FROM system.tables WHERE database = currentDatabase() AND engine LIKE '%MergeTree')"
    )
    counts = {
        name: store.rows(f"SELECT count() FROM {name} FINAL WHERE TraceId = {{id:String}}", {"id": trace_id})[0][0]
        for (name,) in tables
        if name != "deletions"
    }
    return {name: count for name, count in counts.items() if count}


def judged(store: SharedStore) -> Bench:
    """Two traces of one service, judged to their end, one of them by an LLM judge and by a person, too."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"), span("1", output="boom", trace_id=OTHER))
    bench.wait(6)
    run = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE)
    found = a_finding(trace_id=TRACE, judge="goal-fulfilment")
    StoredLlmJudging(store).save([a_judged_subject("goal-fulfilment", found, judged_at=T0, received=T0, subject=run)])
    answer = AnswerRow("key", "m", "it went boom", "stop", 10, 0, 5, 0.25, T0, "shop", TRACE, "run-1", "panel")
    StoredLlmJudging(store).keep([answer, replace(answer, key="other", trace_id=OTHER)])
    StoredLabels(store).save(Labelled((LABEL,)))
    return bench


def test_all_of_a_trace_goes_and_nothing_of_another(store: SharedStore) -> None:
    """In every table; what a call to a model cost stays in the day's spend, what it answered does not."""
    bench = judged(store)
    StoredRates(store).ask(EVER)
    other = rows_of(store, OTHER)
    assert rows_of(store, TRACE).keys() >= {"spans", "traces", "findings", "verdicts", "judgements", "run_facts"}
    assert deletion(store, bench).delete(DeleteQuery(trace_id=TRACE)).traces == 1
    answer = StoredRates(store).ask(EVER)
    assert rows_of(store, TRACE) == {"annotations": 1, "answers": 1}
    assert rows_of(store, OTHER) == other
    assert store.rows("SELECT Text, Key FROM answers FINAL WHERE TraceId = {id:String}", {"id": TRACE}) == [("", "")]
    assert sum(spend.usd for spend in StoredLlmJudging(store).spend(0)) == 0.5
    assert answer.unjudged.counts == dict(expected(store, EVER, ()).unjudged)


def test_labels_go_only_when_told(store: SharedStore) -> None:
    """They are somebody's work."""
    begins_anew(store)
    bench = judged(store)
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    assert StoredLabels(store).of_traces([TRACE]) == {TRACE: Labelled((LABEL,))}
    bench.commit(span("1"))
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE, labels=True))
    assert StoredLabels(store).of_traces([TRACE]) == {}


def test_labels_of_a_trace_that_is_gone(store: SharedStore) -> None:
    """They go as well when told, whether the trace was deleted or has expired."""
    bench = judged(store)
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    assert deletion(store, bench).delete(DeleteQuery(trace_id=TRACE)).traces == 0
    assert deletion(store, bench).delete(DeleteQuery(trace_id=TRACE, labels=True)).traces == 1
    assert rows_of(store, TRACE) == {"answers": 1}
    assert deletion(store, bench).delete(DeleteQuery(trace_id=TRACE, labels=True)).traces == 0


def test_an_open_trace_is_forgotten(store: SharedStore) -> None:
    """What the judging thread holds of it is not judged to its end, nor written again."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"))
    bench.wait(0.1)
    assert bench.judging.assembler.get(KEY) is not None
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    bench.wait(700)
    assert bench.judging.idle
    assert rows_of(store, TRACE) == {}


def test_what_waits_to_be_judged_goes_too(store: SharedStore) -> None:
    """Committed before the deletion, heard of after it; what another trace sent along stays."""
    bench = Bench(store)
    bench.commit(span("2", "1", "boom"), span("1", output="boom", trace_id=OTHER))
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    bench.wait(6)
    assert rows_of(store, TRACE) == {}
    assert rows_of(store, OTHER)["findings"] == 1


def test_what_arrives_later_begins_the_trace_anew(store: SharedStore) -> None:
    """Of what was deleted nothing comes back, not even its findings' first sight."""
    begins_anew(store)
    bench = judged(store)
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    bench.now += SECOND
    bench.commit(span("3", output="boom"))
    bench.wait(6)
    assert set(bench.states()) == {"3".rjust(16, "0")}
    assert rows_of(store, TRACE)["spans"] == 1


def test_what_a_judge_says_of_it_afterwards_is_not_stored(store: SharedStore) -> None:
    """A hearing that was under way looked at what is gone; one of what came later counts."""
    begins_anew(store)
    bench = judged(store)
    run = Subject(SubjectKind.AGENT_RUN, "run-1", TRACE)
    deletion(store, bench).delete(DeleteQuery(trace_id=TRACE))
    late = a_judged_subject("plan-quality", judged_at=bench.now, received=T0, subject=run)
    StoredLlmJudging(store).save([late])
    assert "judgements" not in rows_of(store, TRACE)
    StoredLlmJudging(store).save([a_judged_subject("plan-quality", received=bench.now + 1, subject=run)])
    assert rows_of(store, TRACE)["judgements"] == 1


def test_a_save_under_way_is_waited_for(store: SharedStore) -> None:
    """While a trace is being deleted nothing of it is written; another one's judging goes on."""
    deletions = store.deletions
    with deletions.writing():
        assert deletions.stays(KEY, 5)
    deletions.hold([KEY], 7)
    assert not deletions.stays(KEY, 100)
    assert deletions.stays(("", OTHER), 1)
    deletions.let_go([KEY])
    assert not deletions.stays(KEY, 7)
    assert deletions.stays(KEY, 8)


def test_what_is_old_of_a_service_goes_judged_or_not(store: SharedStore) -> None:
    """By arrival; of another service, and what came since, stays."""
    bench = Bench(store)
    bench.commit(span("1", output="boom"))
    bench.commit(span("1", trace_id=OTHER), tell=False)
    bench.commit(replace(span("1", trace_id="c" * 32), service="desk"))
    bench.wait(6)
    before = bench.now
    bench.now += SECOND
    bench.commit(span("1", trace_id="d" * 32))
    assert deletion(store, bench).delete(DeleteQuery(service="shop", before=before)).traces == 2
    assert {row[0] for row in store.rows("SELECT TraceId FROM spans FINAL")} == {"c" * 32, "d" * 32}


def test_a_session_goes_with_all_its_traces(store: SharedStore) -> None:
    """And no other one."""
    bench = Bench(store)
    for number, session in (("1", "s1"), ("2", "s1"), ("3", "s2")):
        one = span("1", trace_id=number * 32)
        bench.commit(replace(one, attributes={**one.attributes, "session.id": session}))
    bench.wait(6)
    assert deletion(store, bench).delete(DeleteQuery(session="s1")).traces == 2
    assert [row[0] for row in store.rows("SELECT TraceId FROM traces FINAL")] == ["3" * 32]


def test_an_unknown_trace_is_none(store: SharedStore) -> None:
    """Nothing is deleted, and it says so."""
    bench = Bench(store)
    assert deletion(store, bench).delete(DeleteQuery(trace_id=TRACE)).traces == 0
    assert bench.judging.assembler.get(KEY) is None
