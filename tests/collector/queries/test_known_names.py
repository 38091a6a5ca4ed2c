"""Names that nothing stored has, and those that are spelt like them, over the real store."""

from __future__ import annotations

from listed_traces import Listed, Mark, store_all
from measured_sessions import TASK_KEYS
from store_parts import a_judged_subject, a_span

from tracejury.collector.queries.known_names import MOST, unknown_names
from tracejury.collector.store.llm_judging import StoredLlmJudging
from tracejury.collector.store.scope import Scope
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.rows import SPAN_COLUMNS, span_columns

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


def test_tasks_are_what_spans_state(store: SharedStore) -> None:
    """Under any of the keys, on a span or in metadata; not those of another tenant."""
    said = ({"tracejury.task.id": "refund-7"}, {"metadata": '{"task_id": "refund-8"}'}, {"task_id": ""}, {"other": "x"})
    spans = [a_span(span_id=f"{n:016x}", attributes=one) for n, one in enumerate(said, start=1)]
    spans.append(a_span(tenant="other", attributes={"task_id": "theirs"}))
    store.insert("spans", SPAN_COLUMNS, span_columns(spans, 1))
    for name in ("refund-7", "refund-8"):
        assert unknown_names(Scope(store), {"task": name}, TASK_KEYS) == {}
    for name in ("x", "theirs"):
        assert unknown_names(Scope(store), {"task": name}, TASK_KEYS) == {"task": ["refund-7", "refund-8"]}


def test_an_empty_store_knows_no_service(store: SharedStore) -> None:
    """And hostile names are only names."""
    for name in ("shop", "'; DROP TABLE traces; --", "x" * 1000, "{name:String}", "\x00", "\u202e"):
        assert unknown_names(Scope(store), {"service": name, "session": name}) == {"service": [], "session": []}


def test_names_of_another_tenant_are_unknown(store: SharedStore) -> None:
    """None is listed either."""
    store_all(store, [Listed(1, service="shop")])
    assert unknown_names(Scope(store, "other"), {"service": "shop"}) == {"service": []}
