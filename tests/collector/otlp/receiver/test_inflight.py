"""The bound on what is held at one time, and the memory for repeated failures."""

from __future__ import annotations

import pytest

from tracejury.collector.otlp.receiver.inflight import InFlight
from tracejury.collector.otlp.receiver.repeated_failures import RepeatedFailures
from tracejury.schemas.errors import OverloadedError


@pytest.mark.parametrize(("others", "refused"), [(1, False), (2, True)])
def test_requests_are_bounded(others: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """The request at the bound is taken, the next is refused."""
    inflight = InFlight(2, 100)
    inflight.requests = others
    if refused:
        with pytest.raises(OverloadedError), inflight.request():
            pass
    else:
        with inflight.request():
            assert inflight.requests == 2
    assert inflight.requests == others


@pytest.mark.parametrize(("size", "refused"), [(39, False), (40, False), (41, True)])
def test_bytes_are_bounded(size: int, refused: bool) -> None:  # noqa: FBT001 - a table
    """Below, at and above; what was refused is not counted."""
    inflight = InFlight(10, 100)
    with inflight.request(60):
        if refused:
            with pytest.raises(OverloadedError), inflight.request(size):
                pass
        else:
            with inflight.request(size):
                assert inflight.bytes == 60 + size
        assert (inflight.requests, inflight.bytes) == (1, 60)
    assert (inflight.requests, inflight.bytes) == (0, 0)


def test_repeated_failures_are_counted_by_body() -> None:
    """Equal bodies count together, and from the start again once forgotten."""
    failures = RepeatedFailures()
    assert [failures.add(b"a"), failures.add(b"b"), failures.add(b"a")] == [1, 1, 2]
    failures.clear(b"a")
    assert [failures.add(b"a"), failures.add(b"b")] == [1, 2]


def test_repeated_failures_forget_the_longest_unseen() -> None:
    """The memory is bounded."""
    failures = RepeatedFailures(most=2)
    failures.add(b"a")
    failures.add(b"b")
    failures.add(b"a")
    failures.add(b"c")
    assert [failures.add(b"a"), failures.add(b"b")] == [3, 1]
