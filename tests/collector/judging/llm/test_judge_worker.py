"""LLM judging from committed spans to stored verdicts, over the real store."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from clickhouse_http import clickhouse_server
from hens import MANAGER, Held, hens, outcomes
from judging_bench import TRACE
from llm_bench import NAMES, LlmBench, agent, until

from tracejury.collector.judging.llm import judge_worker as worker
from tracejury.collector.judging.llm import stored as stored_cases
from tracejury.collector.judging.llm.judge_queue import JudgeQueue
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.scripted import ScriptedClient, answer
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import RetryableError, StoreError, TracejuryError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.verdicts import Outcome, SubjectKind


def test_a_settled_run_is_judged_and_its_verdicts_and_findings_are_stored(store: SharedStore) -> None:
    """One call for all judges of a finished run; the run has no plan, so that judge has nothing to judge."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    assert outcomes(llm) == dict.fromkeys(NAMES, Outcome.DONE) | {"plan-quality": Outcome.NOT_APPLICABLE}
    (found,) = llm.findings()
    assert (found.state, found.evidence, found.judge) == (
        FindingState.CURRENT,
        "I count 1 hens in yard 0.",
        "logical-consistency",
    )
    assert found.span_id == "0b0".rjust(16, "0")
    assert {v.score for v in llm.verdicts().values()} == {2, None}
    assert isinstance(llm.client, ScriptedClient)
    assert len(llm.client.prompts) == 1


def test_a_live_run_has_provisional_findings_that_its_closing_pass_confirms_or_retracts(store: SharedStore) -> None:
    """Windows say what they see; only the closing pass says what holds."""
    llm = LlmBench(store, hens)
    with llm.running():
        llm.hear(*agent(ended=False, turns=range(6)), seconds=0.1)
        (early,) = llm.findings()
        assert early.state is FindingState.PROVISIONAL
        windows = {row.kind for row in llm.words().values()}
        assert windows == {SubjectKind.TURN_WINDOW}
        llm.hear(*agent())
    (late,) = llm.findings()
    assert (late.id, late.state) == (early.id, FindingState.CURRENT)
    assert late.first_seen == early.first_seen
    closed = {r.outcome for (subject, _), r in llm.words().items() if subject != MANAGER}
    assert closed == {Outcome.SUPERSEDED}


def test_a_provisional_finding_that_the_closing_pass_does_not_repeat_is_retracted(store: SharedStore) -> None:
    """What a window took for an error may turn out to be none."""
    llm = LlmBench(store, lambda prompt: hens(prompt) if not llm.watch.stages else answer(prompt))
    with llm.running():
        llm.hear(*agent(ended=False, turns=range(6)), seconds=0.1)
        assert [f.state for f in llm.findings()] == [FindingState.PROVISIONAL]
        llm.hear(*agent())
    assert [f.state for f in llm.findings()] == [FindingState.RETRACTED]


def test_a_late_span_has_only_what_it_changes_judged_again(store: SharedStore) -> None:
    """The other trace is left alone, and so is the same trace when nothing of the run has changed."""
    llm = LlmBench(store)
    other = "b" * 32
    with llm.running():
        llm.hear(*agent(turns=range(2)), *agent(trace_id=other, turns=range(2)))
        llm.hear(*agent(turns=[2], ended=False))
        llm.detecting.judging.ask([("", TRACE), ("", other)])
        llm.detecting.wait(6)
        llm.settle()
    assert len(llm.watch.stages) == 3
    assert len(llm.watch.subjects) == 3


def test_what_an_earlier_process_left_pending_is_judged_by_the_next(store: SharedStore) -> None:
    """Nothing depends on memory: the pending rows of the store are the queue."""
    before = LlmBench(store)
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    assert set(outcomes(before).values()) == {Outcome.PENDING}
    after = LlmBench(store)
    with after.running():
        after.settle()
    assert Outcome.PENDING not in outcomes(after).values()
    assert len(after.watch.stages) == 1
    with (third := LlmBench(store)).running():
        third.settle()
    assert third.watch.stages == [], "what is judged is not judged again"


def test_what_another_version_left_pending_is_judged_by_the_one_that_sits_now(store: SharedStore) -> None:
    """A change of model or criteria in between leaves nothing behind."""
    before = LlmBench(store, model="old")
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    after = LlmBench(store, model="new")
    with after.running():
        after.settle()
    assert {row.version for row in after.words().values()} == {after.panel.version(n) for n in NAMES}
    assert after.stored.pending(10) == []


def test_what_another_process_left_is_judged_once_its_time_is_over(
    store: SharedStore, store_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a server whoever noted a run has it alone for a while; then it is taken for dead."""
    monkeypatch.setattr(stored_cases, "OTHERS_TIME", 2 * SECOND)
    monkeypatch.setattr(worker, "LEFT_SECONDS", 0.2)
    with clickhouse_server(store_folder) as server:
        remote = SharedStore.open(f"{server.dsn}/{store.database}")
        before = LlmBench(remote)
        before.detecting.commit(*agent(turns=range(2)))
        before.detecting.wait(6)
        after = LlmBench(remote)
        assert after.cases.pending(10) == []
        with after.running():
            until(lambda: Outcome.PENDING not in outcomes(after).values())
        assert len(after.watch.stages) == 1
        remote.close()


def test_more_runs_than_the_queue_holds_are_read_back_from_the_store(store: SharedStore) -> None:
    """The queue is bounded; the store is the queue."""
    llm = LlmBench(store, queue=JudgeQueue(max_entries=2))
    traces = [f"{i:032x}" for i in range(1, 8)]
    for trace_id in traces:
        llm.detecting.commit(*agent(trace_id=trace_id, turns=range(2)))
    llm.detecting.wait(6)
    with llm.running():
        llm.settle()
    assert all(Outcome.PENDING not in outcomes(llm, t).values() for t in traces)
    assert len(llm.watch.stages) == 7


def test_what_waits_behind_the_runs_in_flight_is_read_back_too(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many slow calls at a time do not hide the rest of what an earlier process left."""
    monkeypatch.setattr(worker, "RESUME_ROWS", 1)
    before = LlmBench(store)
    traces = [f"{i:032x}" for i in range(1, 6)]
    for number, trace_id in enumerate(traces):
        before.detecting.commit(*agent(trace_id=trace_id, turns=range(2)))
        before.detecting.wait(6 + number)
    client = Held()
    with (after := LlmBench(store, client=client)).running():
        until(lambda: client.now == len(traces))
        client.free.set()
        after.settle()
    assert all(Outcome.PENDING not in outcomes(after, t).values() for t in traces)


@pytest.mark.parametrize("trouble", [RetryableError("away", retry_after=0.01), StoreError("no such column")])
def test_a_store_that_fails_at_the_start_ends_nothing(
    store: SharedStore, monkeypatch: pytest.MonkeyPatch, trouble: TracejuryError
) -> None:
    """What was left pending is read once it can be."""
    monkeypatch.setattr(worker, "BACK_OFF_SECONDS", 0.01)
    before = LlmBench(store)
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    after = LlmBench(store)
    troubles, read = [trouble], after.cases.pending

    def pending(limit: int) -> Sequence[LedgerRow]:
        if troubles:
            raise troubles.pop()
        return read(limit)

    monkeypatch.setattr(after.cases, "pending", pending)
    with after.running():
        after.settle()
    assert Outcome.PENDING not in outcomes(after).values()


def test_an_answer_that_is_none_leaves_the_judges_unscored(store: SharedStore) -> None:
    """A judge's failure is not a verdict: the ledger says why, and no score stands."""
    llm = LlmBench(store, lambda _prompt: "I would rather not say.")
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    failed = {judge for judge, outcome in outcomes(llm).items() if outcome is Outcome.FAILED}
    assert failed == set(NAMES) - {"plan-quality"}
    assert all(row.reason for row in llm.words().values() if row.judge in failed)
    assert all(v.score is None for v in llm.verdicts().values())
