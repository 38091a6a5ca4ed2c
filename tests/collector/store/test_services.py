"""Which services sent something, from the store."""

from __future__ import annotations

from store_parts import a_judged_trace

from tracejury.collector.store.judging import StoredJudging
from tracejury.collector.store.reading import StoredReading
from tracejury.collector.store.shared_store import SharedStore


def test_services_by_their_latest_arrival(store: SharedStore) -> None:
    """Each once, also one without a name; `since` holds at its very nanosecond, `limit` cuts."""
    arrivals = [("shop", 1_000), ("else", 3_000), ("shop", 5_000), ("", 4_000), ("it's", 2_000)]
    StoredJudging(store).save(
        [
            a_judged_trace(trace_id=f"{n:032x}", service=service, received_through=at, received=at)
            for n, (service, at) in enumerate(arrivals)
        ]
    )
    reading = StoredReading(store)
    assert reading.find_services(0, 10) == ["shop", "", "else", "it's"]
    assert reading.find_services(3_000, 10) == ["shop", "", "else"]
    assert reading.find_services(3_001, 10) == ["shop", ""]
    assert reading.find_services(0, 2) == ["shop", ""]
    assert StoredReading(store, "other").find_services(0, 10) == []
