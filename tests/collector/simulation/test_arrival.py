"""Whether spans of played sessions arrived."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

from tracejury.collector.simulation.arrival import NOT_ARRIVED, WITHOUT_AGENT, with_arrival
from tracejury.collector.simulation.player import PlayedSession
from tracejury.collector.simulation.simulated_session import SimulatedSession
from tracejury.judges.packs.cards.user_turns import Behaviour


class Stored:
    """A collector that answers with numbers of spans, of the traces of a session, look by look.

    Its clock goes on by `takes` seconds a look, and by what is waited for.
    """

    def __init__(self, looks: dict[str, Sequence[Sequence[int]]], takes: float = 0) -> None:
        self.now, self.looks, self._takes = 0.0, 0, takes
        self._looks: dict[str, Iterator[Sequence[int]]] = {name: iter(found) for name, found in looks.items()}
        self._last: dict[str, Sequence[int]] = {}

    def traces(self, filters: dict[str, str], limit: int) -> Any:
        name = filters["session"]
        self.now += self._takes
        self.looks += 1
        found = self._last[name] = next(self._looks[name], self._last.get(name, ()))
        return [SimpleNamespace(spans=spans) for spans in found[:limit]], False

    def wait(self, seconds: float) -> None:
        self.now += seconds

    def checked(self, given: Sequence[PlayedSession]) -> list[str]:
        """Why each session failed."""
        found = with_arrival(self, given, wait=self.wait, clock=lambda: self.now)  # type: ignore[arg-type]
        return [one.failure for one in found]


def played(name: str, answered: int = 2, failure: str = "") -> PlayedSession:
    return PlayedSession(SimulatedSession("t", Behaviour.IDEAL, 1, ("A", "B"), name), answered, failure)


def test_sessions_without_spans_of_the_agent_fail() -> None:
    """More spans than exchanges are the agent's, also where traces were joined; what failed before is not asked for."""
    stored = Stored(
        {"late": [(), (1, 1), (2, 4)], "joined": [(3,)], "bare": [(1,), (2,)], "lost": [()], "half": [(1,)]}
    )
    names = ("late", "joined", "bare", "lost", "half")
    given = [*map(played, names), played("down", 0, "HTTP 503")]
    assert stored.checked(given) == ["", "", WITHOUT_AGENT, NOT_ARRIVED, NOT_ARRIVED, "HTTP 503"]
    assert stored.now == 10


def test_a_slow_collector_is_given_no_more_time() -> None:
    """Each session is looked at once; after 10 s none is looked at again."""
    names = [f"s{number}" for number in range(4)]
    stored = Stored({name: [(1,)] for name in names}, takes=1.2)
    assert stored.checked([*map(played, names)]) == [NOT_ARRIVED] * 4
    assert 10 <= stored.now <= 10 + 1.2 + 0.5
    slower = Stored({name: [(1,), (5,)] for name in names}, takes=60)
    assert slower.checked([*map(played, names)]) == [NOT_ARRIVED] * 4
    assert slower.looks == 4


def test_nothing_is_waited_for_once_all_have_arrived() -> None:
    """One look."""
    stored = Stored({"a": [(5,)]})
    assert stored.checked([played("a")]) == [""]
    assert (stored.looks, stored.now) == (1, 0)
