"""Traces that are deleted while the model is asked about them: nothing of them is stored afterwards."""

from __future__ import annotations

import threading
from collections.abc import Collection

import pytest
from pack_bench import CHAT, SERVICE, Called, FairChecker, Fault, PackBench, exchange

from tracejury.collector.judging.llm.packs.stored_sessions import SessionKey
from tracejury.collector.judging.model.cache import CachedClient
from tracejury.collector.store.deletion import Deletion
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.shared_store import SharedStore
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.processors.assemble import TraceKey
from tracejury.schemas.queries.deletion import DeleteQuery

SECRET = Called("look_up_order", '{"order": "4711"}', "order 4711: a lamp", thought="I look at order 4711.")
STOCK = Called("list_stock", '{"city": "Oslo"}', "7 lamps", thought="I list what there is in Oslo.")
FIRST = exchange("a", "What did I buy?", [SECRET], "A lamp.")
SECOND = exchange("b", "And what is in stock?", [STOCK], "7 lamps.", at=100)
POLICY = "Never look up orders."
CHECKER = FairChecker(
    faults=(
        Fault("pipa-state", "4711", "4711"),
        Fault("pipa-state", "list_stock", "4711", label="E1.S1"),
        Fault("pipa-policy", "orders", "4711", label="E1.S1"),
    )
)


class Held:
    """Quotes the order as CHECKER does where it is shown; a prompt when `holds` is set is answered once let go."""

    def __init__(self) -> None:
        self.holds = False
        self.asked, self.let_go = threading.Event(), threading.Event()

    def __call__(self, prompt: Prompt) -> str:
        """The reply."""
        if self.holds:
            self.holds = False
            self.asked.set()
            assert self.let_go.wait(30)
        shown = any("4711" in message.text for message in prompt.messages)
        return (CHECKER if shown else FairChecker())(prompt)


class Scene:
    """A collector that judges by PIPA with an answer cache, and deletes as the application does."""

    def __init__(self, store: SharedStore) -> None:
        self.store, self.model = store, Held()
        client = CachedClient(ScriptedClient(self.model), StoredLlmJudging(store), {})
        terms = {"policies": [POLICY]}
        self.bench = PackBench(store, client=client, config={"pack_settings": {"pipa": {"services": {SERVICE: terms}}}})
        packs, queue, recent = self.bench.packs, self.bench.queue, self.bench.cases.recent

        def drop(keys: Collection[TraceKey]) -> None:
            packs.closing.forget_traces({trace_id for _, trace_id in keys})
            recent.forget(keys)
            queue.drop(lambda item: item.key[0] in keys)

        def reopen(service: str, session: str, tenant: str) -> None:
            packs.closing.close(SessionKey(tenant, service, session))

        self.deletion = Deletion(store, self.bench.detecting.judging, [drop], self.bench.clock, reopen=reopen)

    def delete_while_asked(self, name: str) -> None:
        """Delete a trace while the model is asked, then let it answer."""
        assert self.model.asked.wait(30)
        assert self.deletion.delete(DeleteQuery(trace_id=name * 32)).traces == 1
        self.model.let_go.set()
        self.bench.settle()

    def quoted(self) -> set[str]:
        """The tables that hold a word of the first trace."""
        columns = {
            "verdicts": "concat(toString(`Items.Quote`), toString(`Items.Item`), Reasons)",
            "findings": "concat(Evidence, Explanation)",
            "answers": "Text",
        }
        return {
            table
            for table, column in columns.items()
            if self.store.rows(f"SELECT 1 FROM {table} FINAL WHERE position({column}, '4711') > 0 LIMIT 1", {})
        }


@pytest.fixture
def scene(store: SharedStore) -> Scene:
    """An empty store."""
    return Scene(store)


def test_what_is_said_of_an_exchange_goes_with_its_trace(scene: Scene) -> None:
    """The answer comes when the trace is gone."""
    with scene.bench.running():
        scene.model.holds = True
        scene.bench.detecting.commit(*FIRST)
        scene.bench.detecting.wait(20)
        scene.bench.detecting.wait(20)
        scene.delete_while_asked("a")
        scene.bench.close()
    assert scene.quoted() == set()
    assert scene.bench.session() == {}


def test_an_exchange_that_was_judged_by_an_earlier_trace_is_judged_again_without_it(scene: Scene) -> None:
    """What it said of that trace is stored nowhere."""
    with scene.bench.running():
        scene.bench.say(FIRST)
        assert scene.quoted() == {"verdicts", "findings", "answers"}
        scene.model.holds = True
        scene.bench.detecting.commit(*SECOND)
        scene.bench.detecting.wait(20)
        scene.bench.detecting.wait(20)
        scene.delete_while_asked("a")
        assert scene.quoted() == set()
        scene.bench.close()
    assert scene.quoted() == set()
    assert scene.bench.session()["pipa-state"].reasons == "2 states of 1 exchanges"


def test_a_session_is_judged_again_by_what_is_left(scene: Scene) -> None:
    """Its policies were asked about with the deleted trace."""
    count = Called("count", '{"city": "Oslo"}', "7 lamps", thought="I count what there is in Oslo.")
    with scene.bench.running():
        scene.bench.say(FIRST, exchange("b", "How many are there?", [count], "7 lamps.", at=100))
        scene.model.holds = True
        scene.bench.packs.closing.close(SessionKey("", SERVICE, CHAT))
        scene.bench.packs.closing.tick(scene.bench.clock())
        scene.delete_while_asked("a")
        assert scene.quoted() == set()
        scene.bench.close()
    assert scene.quoted() == set()
    assert scene.bench.session()["pipa-tools"].reasons == "1 calls of 1 exchanges"
