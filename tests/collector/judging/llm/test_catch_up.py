"""Catching up what a cap left out: over the real store and queue, with a clock of ours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from llm_bench import LlmBench, agent

from tracejury.collector.judging.llm import catch_up
from tracejury.collector.judging.llm.catch_up import CatchUp
from tracejury.collector.store.shared_store import SharedStore
from tracejury.collector.store.trace_deleter import TraceDeleter
from tracejury.judges.llm.budget import DAY, HOUR, Budget, Caps
from tracejury.judges.llm.client import Prompt, Reply
from tracejury.judges.llm.scripted import answer
from tracejury.processors.assemble import SECOND
from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.llm_rows import Spend
from tracejury.schemas.spans import STATUS_ERROR
from tracejury.schemas.verdicts import Outcome

IDS = [f"{number:032x}" for number in range(1, 6)]


class Capped:
    """Answers only while `free`; remembers the traces it answered about, in order."""

    model = "scripted"

    def __init__(self) -> None:
        self.free = False
        self.answered: list[str] = []

    async def complete(self, prompt: Prompt) -> Reply:
        if not self.free:
            raise OverBudgetError("the cap of 1 USD an hour is reached", until=1)
        self.answered.append(prompt.trace_id)
        return Reply(answer(prompt), self.model)


class Rig:
    """Judging whose model is capped, and what catches up."""

    def __init__(self, store: SharedStore, caps: Caps | None = None) -> None:
        self.client = Capped()
        self.llm = LlmBench(store, client=self.client, streaming=False)
        self.spent: list[Spend] = []
        self.caps = caps or Caps()
        self.versions = {j.name: self.llm.panel.version(j.name) for j in self.llm.panel.judges}
        self.catch_up = CatchUp(self.llm.cases, self.llm.queue, self.versions, self.budget)

    def budget(self, now: int) -> Budget:  # noqa: ARG002  the protocol's
        budget = Budget(self.caps)
        budget.load(self.spent)
        return budget

    def arrive(self, *trace_ids: str, failed: Sequence[str] = ()) -> None:
        """Runs arrive one after another, and are left over budget."""
        for trace_id in trace_ids:
            spans = agent(trace_id=trace_id, turns=range(2))
            if trace_id in failed:
                spans[-1] = replace(spans[-1], status_code=STATUS_ERROR)
            self.llm.detecting.commit(*spans)
            self.llm.detecting.wait(6)
        self.llm.settle()

    def later(self, nanos: int) -> None:
        """The clock goes on; then one look, once what an earlier process left is read back."""
        self.llm.detecting.now += nanos
        self.llm.settle()
        self.catch_up.tick(self.llm.clock())
        self.llm.settle()

    def outcomes(self, trace_id: str) -> set[Outcome]:
        return {row.outcome for row in self.llm.words(trace_id).values()}


def test_what_a_cap_left_out_is_judged_when_the_budget_returns(store: SharedStore) -> None:
    """Not in the hour in which it was refused; then once, and the number that wait is known."""
    rig = Rig(store)
    with rig.llm.running():
        rig.arrive(IDS[0], IDS[1])
        assert rig.outcomes(IDS[0]) == {Outcome.OVER_BUDGET}
        rig.client.free = True
        rig.later(SECOND)
        assert (rig.catch_up.waiting, rig.client.answered) == (2, [])
        rig.later(HOUR)
        assert set(rig.client.answered) == {IDS[0], IDS[1]}
        assert Outcome.DONE in rig.outcomes(IDS[0])
        assert Outcome.OVER_BUDGET not in rig.outcomes(IDS[0])
        rig.later(HOUR)
        assert (rig.catch_up.waiting, len(rig.client.answered)) == (0, 2)


def test_the_newest_go_first_and_of_these_the_riskiest(store: SharedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """One at a time here: of the three newest that are left the one that failed, else the newest."""
    monkeypatch.setattr(catch_up, "BATCH", 1)
    monkeypatch.setattr(catch_up, "LOOKED_AT", 3)
    rig = Rig(store)
    with rig.llm.running():
        rig.arrive(*IDS, failed=[IDS[0], IDS[2]])
        rig.client.free = True
        rig.llm.detecting.now += HOUR
        for _ in IDS:
            rig.later(1)
    assert rig.client.answered == [IDS[2], IDS[4], IDS[0], IDS[3], IDS[1]]


def test_fresh_runs_keep_their_share_of_a_cap(store: SharedStore) -> None:
    """At noon half of a day's cap may be spent before nothing more is caught up; the next evening there is room."""
    rig = Rig(store, Caps(usd_per_day=1.0))
    with rig.llm.running():
        rig.arrive(IDS[0])
        rig.client.free = True
        noon = (rig.llm.clock() // DAY + 1) * DAY + DAY // 2
        rig.spent = [Spend(hour=noon // HOUR * HOUR, service="farm", usd=0.6, tokens=1)]
        rig.later(noon - rig.llm.clock())
        assert (rig.catch_up.waiting, rig.client.answered) == (1, [])
        rig.later(DAY // 4)
        assert rig.client.answered == [IDS[0]]


def test_a_restart_forgets_nothing_and_another_version_takes_over(store: SharedStore) -> None:
    """The ledger is all there is: an entry of a former version is superseded."""
    first = Rig(store)
    with first.llm.running():
        first.arrive(IDS[0])
    second = Rig(store)
    second.llm.detecting.now = first.llm.clock() + HOUR
    second.versions["tool-calling"] = "anotherversion"
    second.client.free = True
    with second.llm.running():
        second.later(0)
    assert second.client.answered == [IDS[0]]
    assert Outcome.OVER_BUDGET not in second.outcomes(IDS[0])


def test_still_at_a_cap_they_wait_for_the_next_hour(store: SharedStore) -> None:
    """However often one looks."""
    rig = Rig(store)
    with rig.llm.running():
        rig.arrive(IDS[0])
        rig.later(HOUR)
        refused = {row.judged_at for row in rig.llm.words(IDS[0]).values()}
        for _ in range(3):
            rig.later(1)
        assert {row.judged_at for row in rig.llm.words(IDS[0]).values()} == refused
        assert rig.outcomes(IDS[0]) == {Outcome.OVER_BUDGET}


def test_deleted_and_changed_traces_and_old_ones_are_not_caught_up(store: SharedStore) -> None:
    """What changed since is judged as it is now, by its own entry."""
    rig = Rig(store)
    with rig.llm.running():
        rig.arrive(IDS[0], IDS[1])
        TraceDeleter(store).delete([IDS[0]], rig.llm.clock())
        rig.client.free = True
        rig.llm.detecting.commit(*agent(1, IDS[1], turns=range(1)), *agent(trace_id=IDS[1], turns=[2]))
        rig.llm.detecting.wait(6)
        rig.llm.settle()
        answered = len(rig.client.answered)
        rig.later(HOUR)
        assert (rig.catch_up.waiting, len(rig.client.answered)) == (0, answered)
    old = Rig(store)
    with old.llm.running():
        old.arrive(IDS[2])
        old.client.free = True
        old.later(catch_up.OLDEST + HOUR)
        assert (old.catch_up.waiting, old.client.answered) == (0, [])
