"""What happens to sessions on the way: late traces, deletion, a spent budget, a restart, nothing to read."""

from __future__ import annotations

from dataclasses import replace

from pack_bench import Called, FairChecker, Fault, PackBench, exchange

from tracejury.collector.judging.llm.packs.stored_sessions import SessionKey
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import Line, ScriptedClient
from tracejury.schemas.errors import OverBudgetError
from tracejury.schemas.queries.deletion import DeleteQuery
from tracejury.schemas.verdicts import Outcome, SubjectKind

STOCK = Called("list_stock", '{"city": "Oslo"}', "7 lamps, 3 chairs", thought="I list what there is in Oslo.")
FIRST = exchange("a", "What do you sell?", [STOCK], "7 lamps.")
SECOND = exchange("b", "And chairs?", [STOCK], "3 chairs.", at=100)
WRONG = FairChecker(faults=(Fault("pipa-state", "list_stock", "list_stock"),))


class Spender:
    """Answers so many prompts; then the budget is spent until `lifted`."""

    def __init__(self, prompts: int) -> None:
        self.left, self.lifted, self.checker = prompts, False, FairChecker()

    def __call__(self, prompt: Prompt) -> Line:
        """The reply, or a refusal."""
        self.left -= 1
        if self.left < 0 and not self.lifted:
            return OverBudgetError("the cap of 1 USD a day is reached", until=2**63)
        return self.checker(prompt)


def test_a_trace_that_comes_late_takes_its_place_and_the_exchange_after_it_is_not_asked_again(
    store: SharedStore,
) -> None:
    """It was judged by what was known then; the session counts both."""
    bench = PackBench(store)
    with bench.running():
        bench.say(SECOND)
        bench.say(FIRST)
        bench.close()
    labels = [prompt.messages[-1].text.count("Answer for exchange E1 ") for prompt in bench.checker.prompts]
    assert labels == [1, 1]
    assert bench.session()["pipa-state"].denominator == 4


def test_interleaved_traces_are_exchanges_of_their_own(store: SharedStore) -> None:
    """In order of their begin."""
    bench = PackBench(store)
    bench.hold_session(FIRST, exchange("b", "And chairs?", [STOCK], "3 chairs.", at=0))
    assert bench.session()["pipa-tools"].denominator == 2


def test_of_a_trace_that_is_deleted_before_the_close_nothing_is_measured(store: SharedStore) -> None:
    """What is left of the session is."""
    bench = PackBench(store, WRONG)
    with bench.running():
        bench.say(FIRST, SECOND)
        deletion = Deletion(store, bench.detecting.judging, (), bench.clock)
        assert deletion.delete(DeleteQuery(trace_id="b" * 32)).traces == 1
        bench.close()
    assert bench.session()["pipa-state"].denominator == 2
    assert {finding.trace_id for finding in bench.findings("a", "b")} == {"a" * 32}


def test_a_closed_session_is_judged_again_by_what_a_deletion_leaves(store: SharedStore) -> None:
    """Nothing that quotes the deleted trace is left meanwhile."""
    bench = PackBench(store, WRONG)

    def reopen(service: str, session_id: str, tenant: str) -> None:
        bench.packs.closing.close(SessionKey(tenant, service, session_id))

    with bench.running():
        bench.say(FIRST, SECOND)
        bench.close()
        assert bench.session()["pipa-state"].denominator == 4
        deletion = Deletion(store, bench.detecting.judging, (), bench.clock, reopen=reopen)
        assert deletion.delete(DeleteQuery(trace_id="a" * 32)).traces == 1
        assert bench.session() == {}
        bench.close()
    assert bench.session()["pipa-state"].denominator == 2


def test_a_budget_that_is_spent_in_mid_session_leaves_the_rest_unscored_until_it_is_caught_up(
    store: SharedStore,
) -> None:
    """The reason stands in the ledger; what was judged stays."""
    spender = Spender(1)
    bench = PackBench(store, client=ScriptedClient(spender))
    with bench.running():
        bench.say(FIRST, SECOND)
        bench.close()
        left = {row.subject_id for row in bench.rows("a", "b") if row.outcome is Outcome.OVER_BUDGET}
        assert len(left) == 1
        assert bench.session()["pipa-state"].denominator == 2
        spender.lifted = True
        keys = [("", name * 32) for name in "ab"]
        bench.packs.selector.request(keys, by_hand=False)
        bench.detecting.judging.ask(keys)
        bench.detecting.wait(1)
        bench.settle()
        bench.close()
    assert bench.session()["pipa-state"].denominator == 4
    assert not [row for row in bench.rows("a", "b") if row.outcome is Outcome.OVER_BUDGET]


def test_a_session_that_was_open_when_the_process_ended_closes_in_the_next_one(store: SharedStore) -> None:
    """Its exchanges are not judged again."""
    first = PackBench(store)
    with first.running():
        first.say(FIRST)
    second = PackBench(store)
    second.detecting.now = first.detecting.now
    with second.running():
        second.close()
    assert second.checker.prompts == []
    assert second.session()["pipa-state"].value == 1


def test_where_no_content_was_captured_nothing_is_asked_and_nothing_applies(store: SharedStore) -> None:
    """Names and times are no evidence."""
    kept = ("openinference.span.kind", "agent.name", "tool.name", "session.id", "llm.model_name")
    bare = [
        replace(span, attributes={key: value for key, value in span.attributes.items() if key in kept})
        for span in FIRST
    ]
    bench = PackBench(store, config={"pack_settings": {"pipa": {"services": {"*": {"policies": ["Be kind."]}}}}})
    bench.hold_session(bare)
    assert bench.checker.prompts == []
    applicable = {name for name, verdict in bench.session().items() if not verdict.not_applicable}
    assert applicable <= {"pipa-tools"}


def test_what_is_found_in_an_open_trace_is_provisional_until_it_settles(store: SharedStore) -> None:
    """The same answer counts then, without another question."""
    asked = exchange("a", "What do you sell?", [STOCK], "7 lamps.")
    bench = PackBench(store, WRONG)
    bench.hold_session(asked)
    (found,) = bench.findings("a")
    assert found.state.value == "current"
    assert {row.kind for row in bench.rows("a")} == {SubjectKind.EXCHANGE, SubjectKind.SESSION}
