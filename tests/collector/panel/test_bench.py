"""LLM judging from committed spans to stored verdicts, over the real store."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import replace

import pytest
from judging_bench import TRACE
from llm_court import NAMES, Court, agent, until

from tracejury.collector.panel import bench
from tracejury.collector.panel.docket import Docket
from tracejury.collector.store.client import Store
from tracejury.judges.panel.client import Prompt, Reply
from tracejury.judges.panel.scripted import ScriptedClient, answer, finding
from tracejury.judges.panel.selection import Policy, Rule
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import (
    LlmError,
    OverBudgetError,
    PromptTooLongError,
    RetryableError,
    StoreError,
    TracejuryError,
)
from tracejury.schemas.findings import FindingState
from tracejury.schemas.llm_rows import LedgerRow
from tracejury.schemas.verdicts import Outcome, SubjectKind

pytestmark = pytest.mark.store

MANAGER = "0a".rjust(16, "0")


def hens(prompt: Prompt) -> str:
    """Every call finds fault with the count in yard 0, where it is shown."""
    quote = "I count 1 hens in yard 0."
    return answer(prompt, [finding("S1", quote)] if quote in prompt.messages[1].text else [])


def outcomes(court: Court, trace_id: str = TRACE) -> dict[str, Outcome]:
    """By judge, of the manager's run."""
    return {judge: row.outcome for (subject, judge), row in court.words(trace_id).items() if subject == MANAGER}


def test_a_settled_run_is_judged_and_its_verdicts_and_findings_are_stored(store: Store) -> None:
    """One call for all judges of a finished run; the run has no plan, so that judge has nothing to judge."""
    court = Court(store, hens)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
    assert outcomes(court) == dict.fromkeys(NAMES, Outcome.DONE) | {"plan-quality": Outcome.NOT_APPLICABLE}
    (found,) = court.findings()
    assert (found.state, found.evidence, found.judge) == (
        FindingState.CURRENT,
        "I count 1 hens in yard 0.",
        "logical-consistency",
    )
    assert found.span_id == "0b0".rjust(16, "0")
    assert {v.score for v in court.verdicts().values()} == {2, None}
    assert isinstance(court.client, ScriptedClient)
    assert len(court.client.prompts) == 1


def test_a_live_run_has_provisional_findings_that_its_closing_pass_confirms_or_retracts(store: Store) -> None:
    """Windows say what they see; only the closing pass says what holds."""
    court = Court(store, hens)
    with court.sitting():
        court.detecting.commit(*agent(ended=False, turns=range(6)))
        court.detecting.wait(0.1)
        court.settle()
        (early,) = court.findings()
        assert early.state is FindingState.PROVISIONAL
        windows = {row.kind for row in court.words().values()}
        assert windows == {SubjectKind.TURN_WINDOW}
        court.detecting.commit(*agent())
        court.detecting.wait(6)
        court.settle()
    (late,) = court.findings()
    assert (late.id, late.state) == (early.id, FindingState.CURRENT)
    assert late.first_seen == early.first_seen
    closed = {r.outcome for (subject, _), r in court.words().items() if subject != MANAGER}
    assert closed == {Outcome.SUPERSEDED}


def test_a_provisional_finding_that_the_closing_pass_does_not_repeat_is_retracted(store: Store) -> None:
    """What a window took for an error may turn out to be none."""
    court = Court(store, lambda prompt: hens(prompt) if not court.watch.stages else answer(prompt))
    with court.sitting():
        court.detecting.commit(*agent(ended=False, turns=range(6)))
        court.detecting.wait(0.1)
        court.settle()
        assert [f.state for f in court.findings()] == [FindingState.PROVISIONAL]
        court.detecting.commit(*agent())
        court.detecting.wait(6)
        court.settle()
    assert [f.state for f in court.findings()] == [FindingState.RETRACTED]


def test_a_late_span_has_only_what_it_changes_judged_again(store: Store) -> None:
    """The other trace is left alone, and so is the same trace when nothing of the run has changed."""
    court = Court(store)
    other = "b" * 32
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)), *agent(trace_id=other, turns=range(2)))
        court.detecting.wait(6)
        court.settle()
        court.detecting.commit(*agent(turns=[2], ended=False))
        court.detecting.wait(6)
        court.settle()
        court.detecting.judging.ask([("", TRACE), ("", other)])
        court.detecting.wait(6)
        court.settle()
    assert len(court.watch.stages) == 3
    assert len(court.watch.subjects) == 3


def test_what_an_earlier_process_left_pending_is_judged_by_the_next(store: Store) -> None:
    """Nothing depends on memory: the pending rows of the store are the queue."""
    before = Court(store)
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    assert set(outcomes(before).values()) == {Outcome.PENDING}
    after = Court(store)
    with after.sitting():
        after.settle()
    assert Outcome.PENDING not in outcomes(after).values()
    assert len(after.watch.stages) == 1
    with (third := Court(store)).sitting():
        third.settle()
    assert third.watch.stages == [], "what is judged is not judged again"


def test_what_another_version_left_pending_is_judged_by_the_one_that_sits_now(store: Store) -> None:
    """A change of model or criteria in between leaves nothing behind."""
    before = Court(store, model="old")
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    after = Court(store, model="new")
    with after.sitting():
        after.settle()
    assert {row.version for row in after.words().values()} == {after.panel.version(n) for n in NAMES}
    assert after.stored.pending(10) == []


def test_more_runs_than_the_docket_holds_are_read_back_from_the_store(store: Store) -> None:
    """The docket is bounded; the store is the queue."""
    court = Court(store, docket=Docket(max_entries=2))
    traces = [f"{i:032x}" for i in range(1, 8)]
    for trace_id in traces:
        court.detecting.commit(*agent(trace_id=trace_id, turns=range(2)))
    court.detecting.wait(6)
    with court.sitting():
        court.settle()
    assert all(Outcome.PENDING not in outcomes(court, t).values() for t in traces)
    assert len(court.watch.stages) == 7


def test_what_waits_behind_the_runs_in_flight_is_read_back_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Many slow calls at a time do not hide the rest of what an earlier process left."""
    monkeypatch.setattr(bench, "RESUME_ROWS", 1)
    before = Court(store)
    traces = [f"{i:032x}" for i in range(1, 6)]
    for number, trace_id in enumerate(traces):
        before.detecting.commit(*agent(trace_id=trace_id, turns=range(2)))
        before.detecting.wait(6 + number)
    client = Held()
    with (after := Court(store, client=client)).sitting():
        until(lambda: client.now == len(traces))
        client.free.set()
        after.settle()
    assert all(Outcome.PENDING not in outcomes(after, t).values() for t in traces)


@pytest.mark.parametrize("trouble", [RetryableError("away", retry_after=0.01), StoreError("no such column")])
def test_a_store_that_fails_at_the_start_ends_nothing(
    store: Store, monkeypatch: pytest.MonkeyPatch, trouble: TracejuryError
) -> None:
    """What was left pending is read once it can be."""
    monkeypatch.setattr(bench, "BACK_OFF_SECONDS", 0.01)
    before = Court(store)
    before.detecting.commit(*agent(turns=range(2)))
    before.detecting.wait(6)
    after = Court(store)
    troubles, read = [trouble], after.cases.pending

    def pending(limit: int) -> Sequence[LedgerRow]:
        if troubles:
            raise troubles.pop()
        return read(limit)

    monkeypatch.setattr(after.cases, "pending", pending)
    with after.sitting():
        after.settle()
    assert Outcome.PENDING not in outcomes(after).values()


def test_an_answer_that_is_none_leaves_the_judges_unscored(store: Store) -> None:
    """A judge's failure is not a verdict: the ledger says why, and no score stands."""
    court = Court(store, lambda _prompt: "I would rather not say.")
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
    failed = {judge for judge, outcome in outcomes(court).items() if outcome is Outcome.FAILED}
    assert failed == set(NAMES) - {"plan-quality"}
    assert all(row.reason for row in court.words().values() if row.judge in failed)
    assert all(v.score is None for v in court.verdicts().values())


class Failing:
    """Raises what it is given, call by call, then answers."""

    model = "scripted"

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0

    async def complete(self, prompt: Prompt) -> Reply:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        return Reply(answer(prompt), self.model)


def test_at_a_cap_judging_stops_cleanly_and_catches_up_when_asked(store: Store) -> None:
    """The ledger says what was skipped and why; detectors have gone on."""
    court = Court(store, client=Failing(OverBudgetError("the cap of 1 USD a day is reached")))
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
        assert set(outcomes(court).values()) == {Outcome.OVER_BUDGET}
        assert {row.reason for row in court.words().values()} == {"the cap of 1 USD a day is reached"}
        assert court.detecting.watch.judgings
        court.clerk.expect([("", TRACE)], by_hand=False)
        court.detecting.judging.ask([("", TRACE)])
        court.detecting.wait(6)
        court.settle()
    assert outcomes(court)["tool-calling"] is Outcome.DONE


def test_a_model_that_cannot_be_reached_is_tried_again_later(store: Store) -> None:
    """The run stays pending meanwhile; time is what it takes."""
    court = Court(store, client=Failing(RetryableError("no answer", retry_after=5), RetryableError("no answer")))
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        until(lambda: court.watch.retries == 1 and not court.docket.in_flight)
        assert set(outcomes(court).values()) == {Outcome.PENDING}
        assert court.bench.complaint.now == "no answer"
        court.detecting.now += 16 * SECOND
        until(lambda: court.watch.retries == 2 and not court.docket.in_flight)
        court.detecting.now += 31 * SECOND
        court.settle()
    assert outcomes(court)["tool-calling"] is Outcome.DONE
    assert not court.bench.complaint.now


def test_an_unexpected_error_costs_one_run_only(store: Store) -> None:
    """It is logged, the ledger names it, and the next run is judged."""
    other = "b" * 32
    court = Court(store, client=Failing(ZeroDivisionError("a fault of ours")), streaming=False)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
        court.detecting.commit(*agent(trace_id=other, turns=range(2)))
        court.detecting.wait(6)
        court.settle()
    assert set(outcomes(court).values()) == {Outcome.FAILED}
    assert outcomes(court, other)["tool-calling"] is Outcome.DONE


def test_what_is_sampled_out_is_in_the_ledger_and_no_call_is_made(store: Store) -> None:
    """Every judge says why it has no score of the run."""
    court = Court(store, policy=Policy((Rule(rate=1e-12),), None, always_on_error=False))
    with court.sitting():
        court.detecting.commit(*agent(turns=range(7)))
        court.detecting.wait(6)
        court.settle()
    assert set(outcomes(court).values()) == {Outcome.SAMPLED_OUT}
    assert court.watch.stages == []


class Held:
    """Holds every call until it is let go; counts those at once."""

    model = "scripted"

    def __init__(self) -> None:
        self.free = threading.Event()
        self.now = self.most = 0

    async def complete(self, prompt: Prompt) -> Reply:
        self.now += 1
        self.most = max(self.most, self.now)
        while not self.free.is_set():  # noqa: ASYNC110  another thread lets it go
            await asyncio.sleep(0.005)
        self.now -= 1
        return Reply(answer(prompt), self.model)


def test_at_most_one_window_of_a_run_is_in_flight(store: Store) -> None:
    """The next one, and the closing pass, wait for it."""
    client = Held()
    court = Court(store, client=client)
    with court.sitting():
        for turns in (range(5), range(5, 10), range(10, 15)):
            court.detecting.commit(*agent(ended=False, turns=turns))
            court.detecting.wait(1)
        court.detecting.commit(*agent())
        court.detecting.wait(6)
        until(lambda: client.now == 1)
        assert court.docket.in_flight == 1
        client.free.set()
        court.settle()
    assert client.most == 1
    assert outcomes(court)["tool-calling"] is Outcome.DONE


def test_stopping_gives_up_calls_in_flight_and_leaves_them_pending(store: Store) -> None:
    """A stop does not wait for a model; the next process asks again."""
    client = Held()
    court = Court(store, client=client)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        until(lambda: client.now == 1)
    assert set(outcomes(court).values()) == {Outcome.PENDING}
    with (after := Court(store)).sitting():
        after.settle()
    assert outcomes(after)["tool-calling"] is Outcome.DONE


def test_a_failed_model_says_why_in_the_ledger(store: Store) -> None:
    """An error of the model that trying again does not mend."""
    court = Court(store, client=Failing(*(LlmError("the key is refused") for _ in range(9))))
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
    reasons = {row.reason for row in court.words().values() if row.outcome is Outcome.FAILED}
    assert reasons == {"the key is refused"}


def test_a_run_that_changes_while_it_is_judged_is_judged_again_and_the_old_answer_dropped(store: Store) -> None:
    """What is stored is of the newest state."""
    client = Held()
    court = Court(store, client=client, streaming=False)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        until(lambda: client.now == 1)
        court.detecting.commit(*agent(turns=[2], ended=False))
        court.detecting.wait(6)
        until(lambda: len(court.docket) == 1)
        client.free.set()
        court.settle()
    assert len(court.watch.stages) == 2
    assert len(court.watch.subjects) == 1
    rows = [replace(row, judge="") for row in court.words().values()]
    assert len({row.input_hash for row in rows}) == 1
    assert court.stored.pending(10) == []


def test_the_first_finding_of_a_long_run_stands_while_it_goes_on(store: Store) -> None:
    """A run of forty turns, one after another: an error in the first turn is known before the fifteenth."""
    court = Court(store, hens)
    seen = 0
    with court.sitting():
        for turn in range(40):
            court.detecting.commit(*agent(ended=turn == 39, turns=[turn]))
            court.detecting.wait(1)
            court.settle()
            seen = seen or (turn + 1 if court.findings() else 0)
        court.detecting.wait(6)
        court.settle()
    assert 0 < seen < 15
    assert [f.state for f in court.findings()] == [FindingState.CURRENT]


class Narrow:
    """A model that reads only so many characters, and then answers."""

    model = "scripted"

    def __init__(self, most: int) -> None:
        self.most = most
        self.read: list[int] = []

    async def complete(self, prompt: Prompt) -> Reply:
        if prompt.characters > self.most:
            raise PromptTooLongError("the prompt is too long for scripted")
        self.read.append(prompt.characters)
        return Reply(answer(prompt, summary="so far so good"), self.model)


def test_a_run_that_the_model_refuses_as_too_long_is_read_in_chapters(store: Store) -> None:
    """What a model can read is not always known: smaller parts are tried, until one fits."""
    client = Narrow(26_000)
    court = Court(store, client=client, streaming=False)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(30), padding=1500))
        court.detecting.wait(6)
        court.settle()
    assert len(client.read) > 1
    assert outcomes(court)["tool-calling"] is Outcome.DONE


def test_a_model_that_reads_too_little_fails_and_the_ledger_says_so(store: Store) -> None:
    """Parts have a least size: below it nothing can be judged."""
    court = Court(store, client=Narrow(100), streaming=False)
    with court.sitting():
        court.detecting.commit(*agent(turns=range(2)))
        court.detecting.wait(6)
        court.settle()
    assert outcomes(court)["tool-calling"] is Outcome.FAILED
    assert {r.reason for r in court.words().values() if r.outcome is Outcome.FAILED} == {
        "the prompt is too long for scripted"
    }
