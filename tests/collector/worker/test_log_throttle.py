"""Log lines that anyone who sends could provoke."""

from __future__ import annotations

from tracejury.collector.worker.log_throttle import LogThrottle

SECOND = 10**9


def test_a_kind_is_due_once_a_minute() -> None:
    """At the first call and when a minute has passed; kinds do not share."""
    times = [0, 1, 59 * SECOND, 60 * SECOND, 61 * SECOND]
    calls = iter([time for time in times for _ in "ab"])
    throttle = LogThrottle(lambda: next(calls))
    asked = [(throttle.due("a"), throttle.due("b")) for _ in times]
    assert asked == [(True, True), (False, False), (False, False), (True, True), (False, False)]
