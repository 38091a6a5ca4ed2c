"""Names that nothing stored has, and those that are spelt like them, over the real store."""

from __future__ import annotations

from listed_traces import Listed, Mark, store_all
from store_parts import a_judged_subject

from tracejury.collector.queries.known_names import MOST, unknown_names
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore

KNOWN = {
    "service": "shop", "version": "1", "session": "talk", "agent": "helper", "model": "gpt", "tool": "search",
    "judge": "mine", "category": "My Category", "taxonomy": "trail",
}  # fmt: skip


def test_what_is_stored_is_known(store: SharedStore) -> None:
    """Of every kind, whenever it arrived; and what this program has of its own, whether found or not."""
    store_all(store, [Listed(1, session="talk", marks=(Mark(judge="mine", category="My Category"),))])
    StoredLlmJudging(store).save([a_judged_subject("strict-judge")])
    assert unknown_names(Scope(store), {"score": "strict-judge>=0"}) == {}
    assert unknown_names(Scope(store), KNOWN) == {}
    assert unknown_names(Scope(store), {"category": "trail/My Category"}) == {}
    for kind, name in (
        ("judge", "schema-violation"), ("judge", "goal-fulfilment"), ("judge", "detectors"), ("judge", "strict-judge"),
        ("category", "Goal Deviation"), ("category", "trail/Goal Deviation"), ("trace", "x"), ("service", ""),
        ("judge", "pipa-state"), ("taxonomy", "pipa"), ("category", "pipa/inconsistent state"),
    ):  # fmt: skip
        assert unknown_names(Scope(store), {kind: name}) == {}


def test_the_nearest_known_names_come_first(store: SharedStore) -> None:
    """At most some, in any case of letters."""
    store_all(store, [Listed(n, service=f"service-{n}") for n in range(30)] + [Listed(99, service="checkout")])
    known = unknown_names(Scope(store), {"service": "CHEKCOUT"})["service"]
    assert (known[0], len(known)) == ("checkout", MOST)
    assert unknown_names(Scope(store), {"category": "Formating Errors"})["category"][0] == "Formatting Errors"
    assert unknown_names(Scope(store), {"judge": "goal-fullfilment"})["judge"][0] == "goal-fulfilment"
    assert unknown_names(Scope(store), {"score": "PA<=1,plan-adherance<=1"})["score"][0] == "plan-adherence"
    assert unknown_names(Scope(store), {"score": "PA<=1,TC=0"}) == {}
    assert unknown_names(Scope(store), {"tool": "serch", "agent": "planer"}) == {
        "tool": ["search"], "agent": ["planner", "helper"]
    }  # fmt: skip


def test_an_empty_store_knows_no_service(store: SharedStore) -> None:
    """And hostile names are only names."""
    for name in ("shop", "'; DROP TABLE traces; --", "x" * 1000, "{name:String}", "\x00", "\u202e"):
        assert unknown_names(Scope(store), {"service": name, "session": name}) == {"service": [], "session": []}


def test_names_of_another_tenant_are_unknown(store: SharedStore) -> None:
    """None is listed either."""
    store_all(store, [Listed(1, service="shop")])
    assert unknown_names(Scope(store, "other"), {"service": "shop"}) == {"service": []}
