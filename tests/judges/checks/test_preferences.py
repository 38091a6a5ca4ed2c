"""Agreement of values with preferences: by hand, and where it must not depend on how a pair is named."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.checks.preferences import agreement_of, between_people, majority
from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.annotations import Better

F, S, N = Better.FIRST, Better.SECOND, Better.SAME
SWAPPED = {F: S, S: F, N: N}
answers = st.sampled_from(list(Better))
pairs = st.lists(st.tuples(answers, st.integers(0, 3), st.integers(0, 3)), max_size=30)


@pytest.mark.parametrize(
    ("given", "said"),
    [("F", F), ("FFS", F), ("FS", None), ("FSN", None), ("FFSN", F), ("FFSS", None), ("NNF", N), ("", None)],
)
def test_the_answer_of_most_people(given: str, said: Better | None) -> None:
    assert majority({"F": F, "S": S, "N": N}[one] for one in given) is said


def test_the_figures_by_hand() -> None:
    """Three for, one against, a tie of each kind: 4 of 7 agree, 3 of 4 without ties. Rounding is no difference."""
    found = agreement_of(
        [(F, 0.9, 0.1), (S, 0.0, 1.0), (F, 3, 2), (S, 1.0, 0.5), (F, 0.1 + 0.2, 0.3), (N, 1, 0), (N, 0.5, 0.5)]
    )
    counts = (found.concordant, found.discordant, found.measure_tied, found.people_tied, found.both_tied)
    assert counts == (3, 1, 1, 1, 1)
    assert found.agreement is not None
    assert found.decided is not None
    assert (found.agreement.value, found.agreement.low, found.agreement.high) == (4 / 7, *(wilson(4, 7) or ()))
    assert (found.decided.value, found.decided.low, found.decided.high) == (3 / 4, *(wilson(3, 4) or ()))
    empty = agreement_of([])
    assert (empty.pairs, empty.agreement, empty.decided) == (0, None, None)
    assert agreement_of([(F, 1, 1)]).decided is None


@given(pairs, st.lists(st.booleans(), min_size=30, max_size=30), st.randoms())
def test_neither_the_order_of_a_pair_nor_that_of_pairs_matters(
    drawn: list[tuple[Better, int, int]], swaps: list[bool], random: object
) -> None:
    """Every pair counts once; a measure that says the opposite turns concordant pairs into discordant ones."""
    found = agreement_of(drawn)
    assert found.pairs == len(drawn)
    swapped = [(SWAPPED[b], y, x) if swap else (b, x, y) for (b, x, y), swap in zip(drawn, swaps, strict=False)]
    random.shuffle(swapped)  # type: ignore[attr-defined]
    assert agreement_of(swapped) == found
    opposite = agreement_of((b, -x, -y) for b, x, y in drawn)
    assert (opposite.concordant, opposite.discordant) == (found.discordant, found.concordant)
    assert (opposite.measure_tied, opposite.people_tied) == (found.measure_tied, found.people_tied)


def test_two_people_on_a_pair() -> None:
    """One in three pairs of people agrees on the first, all on the second; who is alone tells nothing."""
    found = between_people([[F, F, S], [N, N], [F]])
    assert found is not None
    assert found.value == pytest.approx((1 / 3 + 1) / 2)
    assert 0 <= found.low < found.value < found.high <= 1
    assert between_people([[F], []]) is None
