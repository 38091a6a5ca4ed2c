"""A bounded queue that holds each key once."""

from __future__ import annotations

import threading

from tracejury.collector.worker.keyed_queue import KeyedQueue
from tracejury.collector.worker.wake_event import WakeEvent


def test_items_come_in_the_order_of_their_keys_and_once() -> None:
    """A renewed item keeps its place, with its newer value."""
    queue: KeyedQueue[str, int] = KeyedQueue(10)
    for key, value in (("a", 1), ("b", 2), ("a", 3)):
        assert queue.put(key, value)
    assert [(item.key, item.value) for item in queue.take(0)] == [("a", 3), ("b", 2)]
    assert queue.take(0) == []


def test_an_item_waits_for_its_time_and_is_due_at_the_earlier_one() -> None:
    queue: KeyedQueue[str, None] = KeyedQueue(10)
    queue.put_keys(["a"], 50)
    queue.put_keys(["b"], 30)
    assert (queue.take(29), queue.next_due()) == ([], 30)
    queue.put_keys(["a"], 10)
    assert [item.key for item in queue.take(29)] == ["a"]


def test_one_item_of_a_key_is_in_flight() -> None:
    """What comes meanwhile waits, and is what is left of the two when the first is put back."""
    queue: KeyedQueue[str, int] = KeyedQueue(10)
    queue.put("a", 1)
    taken = queue.take(0)
    queue.put("a", 2)
    assert (queue.take(0), queue.next_due(), "a" in queue) == ([], None, True)
    queue.put_back(taken)
    (again,) = queue.take(0)
    assert again.value == 2
    queue.done([again])
    assert (len(queue), queue.in_flight, "a" in queue) == (0, 0, False)


def test_an_item_is_somewhere_until_it_is_done() -> None:
    """Waiting, in flight, or waiting again: the queue is never empty for a moment between two."""
    queue: KeyedQueue[str, int] = KeyedQueue(10)
    assert queue.is_empty
    queue.put("a", 1)
    moving, seen = threading.Event(), set()

    def watch() -> None:
        while not moving.is_set():
            seen.add(queue.is_empty)

    watcher = threading.Thread(target=watch)
    watcher.start()
    for _ in range(20_000):
        queue.put_back(queue.take(0))
    moving.set()
    watcher.join()
    assert True not in seen
    queue.done(queue.take(0))
    assert queue.is_empty


def test_entries_and_weight_are_bounded() -> None:
    """Items in flight count, and an item that is renewed or put back always has room."""
    queue: KeyedQueue[str, str] = KeyedQueue(3, max_weight=5, weigh=len)
    assert queue.put("a", "xx")
    assert queue.put("b", "xxx")
    assert not queue.put("c", "x")
    assert queue.overflowed
    taken = queue.take(0)
    assert not queue.put("c", "x")
    queue.put_back(taken)
    assert (queue.put("a", "x"), queue.weight) == (True, 4)
    queue.done(queue.take(0))
    assert (queue.weight, queue.put("c", "x")) == (0, True)


def test_what_is_dropped_waits_no_longer() -> None:
    queue: KeyedQueue[int, None] = KeyedQueue(10)
    queue.put_keys(range(4))
    assert [item.key for item in queue.drop(lambda item: item.key % 2 == 0)] == [0, 2]
    assert [item.key for item in queue.take(0, limit=1)] == [1]


def test_what_is_dropped_in_flight_does_not_wait_again() -> None:
    queue: KeyedQueue[int, None] = KeyedQueue(10)
    queue.put_keys(range(2))
    taken = queue.take(0)
    assert queue.drop(lambda item: item.key == 0) == []
    assert [item.dropped for item in taken] == [True, False]
    queue.put_back(taken)
    assert [item.key for item in queue.take(0)] == [1]


def test_a_late_end_of_what_was_put_back_does_not_end_what_was_taken_since() -> None:
    queue: KeyedQueue[int, None] = KeyedQueue(10)
    queue.put_keys([0])
    first = queue.take(0)
    queue.put_back(first)
    again = queue.take(0)
    queue.done(first)
    assert queue.in_flight == 1
    queue.done(again)
    assert queue.in_flight == 0


def test_a_closed_queue_takes_nothing() -> None:
    queue: KeyedQueue[int, None] = KeyedQueue(10)
    queue.put_keys(range(4))
    taken = queue.take(0, limit=1)
    queue.close()
    queue.put_back(taken)
    assert (queue.put(9, None), len(queue), queue.in_flight) == (False, 0, 0)


def test_news_wakes_and_no_wake_up_is_missed() -> None:
    """One that came before the wait ends it at once."""
    wake = WakeEvent()
    queue: KeyedQueue[int, None] = KeyedQueue(10, wake=wake)
    seen = wake.count
    queue.put(1, None)
    wake.wait(seen)
    assert wake.count > seen
