"""What measures say of two conversations beside which of them people prefer.

Both are an order with ties. Figures: the pairwise accuracy of Deutsch, Foster and Freitag ("Ties matter:
meta-evaluating modern metrics with pairwise accuracy and tie calibration", 2023) without calibration, in which a tie
agrees with a tie alone; and the share among pairs where neither ties, as Zheng et al. count agreement with people in
their setup without ties ("Judging LLM-as-a-judge with MT-Bench and Chatbot Arena", 2023). Intervals are Wilson's, as
though pairs were independent, also those that have a session in common.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from math import comb, isclose
from typing import Final

from tracejury.judges.measures.wilson import wilson
from tracejury.schemas.annotations import Better
from tracejury.schemas.queries.labels import OrderAgreement
from tracejury.schemas.rates import Estimate

from .aggregate import SessionScore, measure_of

TOLERANCE: Final = 1e-9
"""Values that differ by no more are the same: the rounding of a mean."""


def majority(answers: Iterable[Better]) -> Better | None:
    """The answer that more people gave than any other; None where two share that place, or nobody gave one."""
    ranked = Counter(answers).most_common(2)
    return None if not ranked or len({count for _, count in ranked}) < len(ranked) else ranked[0][0]


def agreement_of(pairs: Iterable[tuple[Better, float, float]]) -> OrderAgreement:
    """How values (of the first and the second, the larger one better) go with which of the two people prefer."""
    counts: Counter[str] = Counter()
    for better, first, second in pairs:
        tied = isclose(first, second, rel_tol=0.0, abs_tol=TOLERANCE)
        if better is Better.SAME:
            counts["both_tied" if tied else "people_tied"] += 1
        elif tied:
            counts["measure_tied"] += 1
        else:
            counts["concordant" if (first > second) == (better is Better.FIRST) else "discordant"] += 1
    decided = counts["concordant"] + counts["discordant"]
    agreed = counts["concordant"] + counts["both_tied"]
    return OrderAgreement(
        **counts, agreement=_share(agreed, counts.total()), decided=_share(counts["concordant"], decided)
    )


def between_people(answers: Iterable[Sequence[Better]]) -> Estimate | None:
    """How often two people say the same of a pair: the mean over pairs that several have judged; None without any."""
    shares = (
        sum(comb(count, 2) for count in Counter(of_pair).values()) / comb(len(of_pair), 2)
        for of_pair in answers
        if len(of_pair) > 1
    )
    return measure_of(SessionScore(share) for share in shares)


def _share(hits: int, trials: int) -> Estimate | None:
    interval = wilson(hits, trials)
    return Estimate(hits / trials, *interval) if interval else None
