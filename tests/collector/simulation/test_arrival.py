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
    """A collector that answers with numbers of spans, of the traces of a session, look by look."""

    def __init__(self, looks: dict[str, Sequence[Sequence[int]]]) -> None:
        self._looks: dict[str, Iterator[Sequence[int]]] = {name: iter(found) for name, found in looks.items()}
        self._last: dict[str, Sequence[int]] = {}

    def traces(self, filters: dict[str, str], limit: int) -> Any:
        name = filters["session"]
        found = self._last[name] = next(self._looks[name], self._last.get(name, ()))
        return [SimpleNamespace(spans=spans) for spans in found[:limit]], False


def played(name: str, answered: int = 2, failure: str = "") -> PlayedSession:
    return PlayedSession(SimulatedSession("t", Behaviour.IDEAL, 1, ("A", "B"), name), answered, failure)


def test_sessions_without_spans_of_the_agent_fail() -> None:
    """More spans than exchanges are the agent's, also where traces were joined; what failed before is not asked for."""
    stored = Stored(
        {"late": [(), (1, 1), (2, 4)], "joined": [(3,)], "bare": [(1,), (2,)], "lost": [()], "half": [(1,)]}
    )
    names = ("late", "joined", "bare", "lost", "half")
    given = [*map(played, names), played("down", 0, "HTTP 503")]
    waits: list[float] = []
    found = with_arrival(stored, given, wait=waits.append)  # type: ignore[arg-type]
    assert [one.failure for one in found] == ["", "", WITHOUT_AGENT, NOT_ARRIVED, NOT_ARRIVED, "HTTP 503"]
    assert sum(waits) == 10


def test_nothing_is_waited_for_once_all_have_arrived() -> None:
    """One look."""
    waits: list[float] = []
    assert with_arrival(Stored({"a": [(5,)]}), [played("a")], wait=waits.append) == [played("a")]  # type: ignore[arg-type]
    assert waits == []
