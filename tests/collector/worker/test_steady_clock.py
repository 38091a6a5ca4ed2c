"""The clock of arrivals and of what becomes due, while the system's clock is set."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.worker.steady_clock import SteadyClock

SECOND = 1_000_000_000
HOUR = 3600 * SECOND


class System:
    """The system's clocks. A step sets the one and leaves the other."""

    def __init__(self) -> None:
        self.wall, self.elapsed = 1_700_000_000 * SECOND, 5 * SECOND

    def pass_time(self, nanos: int) -> None:
        self.wall += nanos
        self.elapsed += nanos


@pytest.fixture
def system() -> System:
    return System()


def clock_of(system: System) -> SteadyClock:
    return SteadyClock(lambda: system.wall, lambda: system.elapsed)


def test_it_is_the_system_s_time(system: System) -> None:
    """As long as nobody sets that, and after it was set forward."""
    clock = clock_of(system)
    for step in (0, 1, SECOND, HOUR):
        system.pass_time(step)
        assert clock() == system.wall
    system.wall += 24 * HOUR
    assert clock() == system.wall


def test_a_step_back(system: System, caplog: pytest.LogCaptureFixture) -> None:
    """Time goes on at half its pace until the system's has caught up; it is said once."""
    clock = clock_of(system)
    before = clock()
    system.wall -= HOUR
    with caplog.at_level(logging.WARNING):
        assert clock() == before
        system.pass_time(10 * SECOND)
        assert clock() == before + 5 * SECOND
        system.pass_time(2 * HOUR)
        assert clock() == system.wall
    assert [record.message for record in caplog.records] == [
        "the system's clock was set back by 3600 s: arrival times follow slowly"
    ]


@given(st.lists(st.tuples(st.integers(0, HOUR), st.integers(-HOUR, HOUR))))
def test_it_never_goes_back(steps: list[tuple[int, int]]) -> None:
    """Whatever happens to the system's clock; at least half of the time that passes counts."""
    system = System()
    clock = clock_of(system)
    last = clock()
    for passed, step in steps:
        system.pass_time(passed)
        system.wall += step
        now = clock()
        assert now >= last + passed // 2
        assert now >= system.wall
        last = now
