"""The lock around steps."""

from __future__ import annotations

import threading

from tracejury.collector.worker.step_lock import StepLock


def test_threads_step_in_the_order_in_which_they_asked() -> None:
    """One that steps again at once comes after one that waits."""
    lock, order = StepLock(), list[str]()

    def step(name: str) -> None:
        with lock:
            order.append(name)

    with lock:
        others = []
        for name in ("first", "second"):
            others.append(threading.Thread(target=step, args=(name,)))
            others[-1].start()
            while lock.waiting < len(others):
                threading.Event().wait(0.001)
    step("again")
    for other in others:
        other.join()
    assert order == ["first", "second", "again"]


def test_others_step_while_the_lock_is_left() -> None:
    lock, stepped = StepLock(), threading.Event()

    def step() -> None:
        with lock:
            stepped.set()

    with lock:
        other = threading.Thread(target=step)
        other.start()
        assert not stepped.wait(0.05)
        with lock.left():
            assert stepped.wait(10)
        assert lock.waiting == 0
    other.join()
