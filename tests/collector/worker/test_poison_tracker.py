"""Items that fail each time among those that failed together with them."""

from __future__ import annotations

from tracejury.collector.worker.poison_tracker import PoisonTracker

TRIES = 5


def test_failures_of_all_count_against_none() -> None:
    """Nor where the store works for a moment in between."""
    poison = PoisonTracker(TRIES)
    for number in range(3 * TRIES):
        assert poison.blame(number) <= 1
    assert poison.is_general
    poison.succeeded()
    assert max(poison.blame(n) for n in [0, 1, 2] * TRIES) < TRIES
