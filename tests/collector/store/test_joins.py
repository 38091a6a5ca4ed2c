"""Which traces may be one: the same answer from whichever of them one asks."""

from __future__ import annotations

import pytest

from tracejury.collector.store.client import Store
from tracejury.collector.store.joins import MOST, StoredJoins


def trace(number: int) -> str:
    """An id."""
    return f"{number:032x}"


@pytest.mark.parametrize("length", [2, 9, 24])
def test_a_chain_is_found_whole_from_each_of_its_traces(store: Store, length: int) -> None:
    """Each trace shares a key with the next only. Found in part from one end, the run would be counted twice."""
    joins = StoredJoins(store)
    joins.keep({trace(n): {f"message:{n}", f"message:{n + 1}"} for n in range(length)}, 1)
    chain = frozenset(trace(n) for n in range(length))
    assert joins.partners(sorted(chain)) == dict.fromkeys(chain, chain)


def test_a_chain_of_links_is_found_whole(store: Store) -> None:
    """Each trace names the one before it; the first names none, and has no keys of its own."""
    joins = StoredJoins(store)
    joins.keep({trace(n): {f"trace:{trace(n - 1)}"} for n in range(1, 21)}, 1)
    chain = frozenset(trace(n) for n in range(21))
    assert joins.partners(sorted(chain)) == dict.fromkeys(chain, chain)


def test_a_key_of_too_many_traces_leads_nowhere(store: Store) -> None:
    """What more than `MOST` traces share is no run: each stays alone."""
    joins = StoredJoins(store)
    joins.keep({trace(n): {"message:batch"} for n in range(MOST + 1)}, 1)
    assert joins.partners([trace(0), trace(MOST)]) == {}
