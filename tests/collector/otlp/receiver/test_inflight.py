"""The bound on what is held at one time, and the memory for repeated failures."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from otlp_parts import RecordingSink

from tracejury.collector.otlp.receiver.inflight import InFlight
from tracejury.collector.otlp.receiver.intake import Intake, RepeatedFailures
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


class Reader:
    """A request that is being read; `gone` once it gave way."""

    def __init__(self, stack: ExitStack, inflight: InFlight, client: str) -> None:
        self.gone = False
        self.held = stack.enter_context(inflight.reading(client, self._give_way))

    def _give_way(self) -> None:
        self.gone = True


def test_heads_alone_hold_nothing() -> None:
    """A request counts from its first byte, and as complete from its last."""
    inflight = InFlight(2, 100)
    with inflight.reading("a", lambda: None) as held:
        assert (inflight.requests, inflight.bytes) == (0, 0)
        held.grow(7)
        assert (inflight.requests, inflight.bytes) == (0, 7)
        held.complete()
        assert (inflight.requests, inflight.bytes) == (1, 7)
    assert (inflight.requests, inflight.bytes) == (0, 0)


@pytest.mark.parametrize(
    ("sizes", "gone"),
    [
        ([("a", 30), ("a", 20)], []),
        ([("a", 30), ("a", 21)], [0]),
        ([("a", 30), ("b", 21)], []),
        ([("a", 100)], []),
        ([("a", 1), ("a", 1), ("a", 1)], [0]),
        ([("b", 40), ("a", 40), ("c", 30)], [0]),
        ([("b", 1), ("a", 50), ("c", 50)], [0]),
    ],
    ids=["within", "bytes", "two clients", "alone", "requests", "no room", "no room, a small one"],
)
def test_the_oldest_reader_gives_way(sizes: list[tuple[str, int]], gone: list[int]) -> None:
    """Within a client that exceeds half of the requests (4) or bytes (100), else where there is no room at all."""
    inflight = InFlight(4, 100)
    with ExitStack() as stack:
        readers = [Reader(stack, inflight, client) for client, _ in sizes]
        for reader, (_, size) in zip(readers, sizes, strict=True):
            reader.held.grow(size)
        assert [number for number, reader in enumerate(readers) if reader.gone] == gone
        assert inflight.bytes == sum(size for number, (_, size) in enumerate(sizes) if number not in gone)
        for number in gone:
            with pytest.raises(OverloadedError, match="for the longest time"):
                readers[number].held.complete()
    assert (inflight.requests, inflight.bytes) == (0, 0)


def test_what_ended_counts_no_more_for_its_client() -> None:
    """However it ended: refused, complete, or given up."""
    inflight = InFlight(9, 100)
    with inflight.request(90), inflight.reading("a", lambda: None) as refused:
        refused.grow(10)
        with pytest.raises(OverloadedError):
            refused.grow(1)
    with inflight.reading("a", lambda: None) as complete, ExitStack() as stack:
        complete.grow(50)
        complete.complete()
        readers = [Reader(stack, inflight, "a") for _ in range(2)]
        for reader in readers:
            reader.held.grow(25)
        assert not any(reader.gone for reader in readers)


def test_an_old_reader_pushes_out_no_newer_one() -> None:
    """It is refused itself."""
    inflight = InFlight(4, 100)
    with ExitStack() as stack:
        old, new = (Reader(stack, inflight, "a") for _ in range(2))
        old.held.grow(1)
        new.held.grow(49)
        with pytest.raises(OverloadedError):
            old.held.grow(1)
        assert not new.gone


def test_complete_requests_keep_their_place() -> None:
    """What is complete pushes out readers, and is pushed out by none."""
    inflight = InFlight(4, 100)
    with ExitStack() as stack:
        reader = Reader(stack, inflight, "a")
        reader.held.grow(50)
        with inflight.request(60):
            assert reader.gone
            with pytest.raises(OverloadedError):
                Reader(stack, inflight, "b").held.grow(50)
            assert inflight.bytes == 60


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


def test_clients_press_while_their_requests_are_decoded() -> None:
    """What nobody waits for steps back from the third on, before the store knows of any of them."""
    intake = Intake(RecordingSink())
    with ExitStack() as held:
        pressed = []
        for _ in range(3):
            held.enter_context(intake.inflight.request(1))
            pressed.append(intake.pressed())
    assert pressed == [False, False, True]
    assert not intake.pressed()
