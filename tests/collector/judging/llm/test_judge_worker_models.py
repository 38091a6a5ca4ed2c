"""LLM judging with models that fail, hold their answers, or read little, over the real store."""

from __future__ import annotations

from dataclasses import replace

from hens import Held, hens, outcomes
from judging_bench import TRACE
from llm_bench import LlmBench, agent, until

from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.scripted import answer
from tracejury.judges.llm.selection import Policy, Rule
from tracejury.schemas.errors import LlmError, OverBudgetError, PromptTooLongError, RetryableError
from tracejury.schemas.findings import FindingState
from tracejury.schemas.verdicts import Outcome


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


def test_at_a_cap_judging_stops_cleanly_and_catches_up_when_asked(store: SharedStore) -> None:
    """The ledger says what was skipped and why; detectors have gone on."""
    llm = LlmBench(store, client=Failing(OverBudgetError("the cap of 1 USD a day is reached", until=2**63)))
    with llm.running():
        llm.hear(*agent(turns=range(2)))
        assert set(outcomes(llm).values()) == {Outcome.OVER_BUDGET}
        assert {row.reason for row in llm.words().values()} == {"the cap of 1 USD a day is reached"}
        assert llm.worker.health.stopped(llm.clock()) == "the cap of 1 USD a day is reached"
        assert llm.detecting.watch.judgings
        llm.selector.request([("", TRACE)], by_hand=False)
        llm.detecting.judging.ask([("", TRACE)])
        llm.detecting.wait(6)
        llm.settle()
    assert outcomes(llm)["tool-calling"] is Outcome.DONE


def test_a_model_that_cannot_be_reached_is_tried_again_later(store: SharedStore) -> None:
    """The run stays pending meanwhile; time is what it takes."""
    llm = LlmBench(store, client=Failing(RetryableError("no answer", retry_after=5), RetryableError("no answer")))
    with llm.running():
        llm.detecting.commit(*agent(turns=range(2)))
        llm.detecting.wait(6)
        until(lambda: llm.watch.retries == 1 and not llm.queue.in_flight)
        assert set(outcomes(llm).values()) == {Outcome.PENDING}
        assert llm.worker.health.problem == "no answer"
        llm.later(16)
        until(lambda: llm.watch.retries == 2 and not llm.queue.in_flight)
        llm.later(31)
        llm.settle()
    assert outcomes(llm)["tool-calling"] is Outcome.DONE
    assert not llm.worker.health.problem


def test_an_unexpected_error_costs_one_run_only(store: SharedStore) -> None:
    """It is logged, the ledger names it, and the next run is judged."""
    other = "b" * 32
    llm = LlmBench(store, client=Failing(ZeroDivisionError("a fault of ours")), streaming=False)
    with llm.running():
        llm.hear(*agent(turns=range(2)))
        llm.hear(*agent(trace_id=other, turns=range(2)))
    assert set(outcomes(llm).values()) == {Outcome.FAILED}
    assert outcomes(llm, other)["tool-calling"] is Outcome.DONE


def test_what_is_sampled_out_is_in_the_ledger_and_no_call_is_made(store: SharedStore) -> None:
    """Every judge says why it has no score of the run."""
    llm = LlmBench(store, policy=Policy((Rule(rate=1e-12),), None, always_on_error=False))
    with llm.running():
        llm.hear(*agent(turns=range(7)))
    assert set(outcomes(llm).values()) == {Outcome.SAMPLED_OUT}
    assert llm.watch.stages == []


def test_at_most_one_window_of_a_run_is_in_flight(store: SharedStore) -> None:
    """The next one, and the closing pass, wait for it."""
    client = Held()
    llm = LlmBench(store, client=client)
    with llm.running():
        for turns in (range(5), range(5, 10), range(10, 15)):
            llm.detecting.commit(*agent(ended=False, turns=turns))
            llm.detecting.wait(1)
        llm.detecting.commit(*agent())
        llm.detecting.wait(6)
        until(lambda: client.now == 1)
        assert llm.queue.in_flight == 1
        client.free.set()
        llm.settle()
    assert client.most == 1
    assert outcomes(llm)["tool-calling"] is Outcome.DONE


def test_stopping_gives_up_calls_in_flight_and_leaves_them_pending(store: SharedStore) -> None:
    """A stop does not wait for a model; the next process asks again."""
    client = Held()
    llm = LlmBench(store, client=client)
    with llm.running():
        llm.detecting.commit(*agent(turns=range(2)))
        llm.detecting.wait(6)
        until(lambda: client.now == 1)
    assert set(outcomes(llm).values()) == {Outcome.PENDING}
    with (after := LlmBench(store)).running():
        after.settle()
    assert outcomes(after)["tool-calling"] is Outcome.DONE


def test_a_failed_model_says_why_in_the_ledger(store: SharedStore) -> None:
    """An error of the model that trying again does not mend."""
    llm = LlmBench(store, client=Failing(*(LlmError("the key is refused") for _ in range(9))))
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    reasons = {row.reason for row in llm.words().values() if row.outcome is Outcome.FAILED}
    assert reasons == {"the key is refused"}


def test_a_run_that_changes_while_it_is_judged_is_judged_again_and_the_old_answer_dropped(store: SharedStore) -> None:
    """What is stored is of the newest state."""
    client = Held()
    llm = LlmBench(store, client=client, streaming=False)
    with llm.running():
        llm.detecting.commit(*agent(turns=range(2)))
        llm.detecting.wait(6)
        until(lambda: client.now == 1)
        llm.detecting.commit(*agent(turns=[2], ended=False))
        llm.detecting.wait(6)
        until(lambda: len(llm.queue) == 1)
        client.free.set()
        llm.settle()
    assert len(llm.watch.stages) == 2
    assert len(llm.watch.subjects) == 1
    rows = [replace(row, judge="") for row in llm.words().values()]
    assert len({row.input_hash for row in rows}) == 1
    assert llm.stored.pending(10) == []


def test_the_first_finding_of_a_long_run_stands_while_it_goes_on(store: SharedStore) -> None:
    """A run of twenty turns, one after another: an error in the first turn is known before the fifteenth."""
    llm = LlmBench(store, hens)
    seen = 0
    with llm.running():
        for turn in range(20):
            llm.hear(*agent(ended=turn == 19, turns=[turn]), seconds=1)
            seen = seen or (turn + 1 if llm.findings() else 0)
        llm.detecting.wait(6)
        llm.settle()
    assert 0 < seen < 15
    assert [f.state for f in llm.findings()] == [FindingState.CURRENT]


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


def test_a_run_that_the_model_refuses_as_too_long_is_read_in_chapters(store: SharedStore) -> None:
    """What a model can read is not always known: smaller parts are tried, until one fits."""
    client = Narrow(26_000)
    llm = LlmBench(store, client=client, streaming=False)
    with llm.running():
        llm.hear(*agent(turns=range(30), padding=1500))
    assert len(client.read) > 1
    assert outcomes(llm)["tool-calling"] is Outcome.DONE


def test_a_model_that_reads_too_little_fails_and_the_ledger_says_so(store: SharedStore) -> None:
    """Parts have a least size: below it nothing can be judged."""
    llm = LlmBench(store, client=Narrow(100), streaming=False)
    with llm.running():
        llm.hear(*agent(turns=range(2)))
    assert outcomes(llm)["tool-calling"] is Outcome.FAILED
    assert {r.reason for r in llm.words().values() if r.outcome is Outcome.FAILED} == {
        "the prompt is too long for scripted"
    }
