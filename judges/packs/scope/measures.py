"""The formulas of SCOPE's measures: the shares of both kinds of rubrics, the label of a session, its situation."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import Final

from tracejury.judges.checks.formula import Formula, Ratio
from tracejury.judges.rubrics.rubric_set import Rubric, RubricSet
from tracejury.judges.rubrics.session_label import LabelFound, Weighing, found_label, weighted_sum
from tracejury.schemas.checks import ItemAnswer

LABEL_CHECK: Final = "scope-label"

Exchanges = Sequence[Sequence[ItemAnswer]]


def strengths(exchanges: Exchanges) -> dict[str, int]:
    """The strengths p by the names of the rubrics; 0 where none is proven."""
    answers = (answer for given in exchanges for answer in given)
    return {answer.item.partition(":")[0]: 0 if answer.best else int(answer.answer) for answer in answers}


def formulas(rubrics: RubricSet, weighing: Weighing) -> Mapping[str, Formula]:
    """P, N and G by a set of rubrics, by check."""
    good, bad = rubrics.of("good"), rubrics.of("bad")

    def share(exchanges: Exchanges) -> Ratio:
        """P: Σ w·p/10 / Σ w of the good rubrics."""
        return Ratio(*_sums(good, exchanges, weighing))

    def spared(exchanges: Exchanges) -> Ratio:
        """N: 1 - Σ w·p/10 / Σ w of the bad rubrics."""
        hit, most = _sums(bad, exchanges, weighing)
        return Ratio(most - hit, most)

    def label(exchanges: Exchanges) -> Ratio:
        """G: 1 for a good session, 0 for a bad one."""
        found = strengths(exchanges)
        if not found:
            return Ratio(0, 0)
        by_set = found_label(rubrics, found, weighing)
        proven = any(found.get(rubric.name) for rubric in bad)
        return Ratio(by_set.label == "good", 1, "; ".join(_told(rubrics, by_set, proven=proven)))

    return {"scope-good": share, "scope-bad": spared, LABEL_CHECK: label}


def _sums(rubrics: Sequence[Rubric], exchanges: Exchanges, weighing: Weighing) -> tuple[float, float]:
    """Σ w·p/10 and Σ w; both 0 where nothing was answered."""
    found = strengths(exchanges)
    most = fsum(weighing.weight(rubric) for rubric in rubrics) if found else 0.0
    return weighted_sum(tuple(rubrics), found, weighing), most


def _told(rubrics: RubricSet, found: LabelFound, *, proven: bool) -> Iterator[str]:
    yield f"{'sums' if rubrics.method == 'spur' else 'averages'}: good {found.good:.2f}, bad {found.bad:.2f}"
    if found.vetoed_by and found.good > found.bad:
        yield f"good by these, bad by the veto of {', '.join(found.vetoed_by)}"
    if not proven:
        yield "no bad rubric is proven"


def correct(exchanges: Exchanges) -> Ratio:
    """C: 1 where the situation is the correct one."""
    answers = [answer for given in exchanges for answer in given]
    return Ratio(sum(answer.best for answer in answers), len(answers))


def without_set(exchanges: Exchanges) -> Ratio:  # noqa: ARG001  the form of all formulas
    """Without a set of rubrics nothing is measured."""
    return Ratio(0, 0)


FORMULAS: Final[Mapping[str, Formula]] = {
    "scope-good": without_set,
    "scope-bad": without_set,
    LABEL_CHECK: without_set,
    "scope-situation": correct,
}
"""By check; `formulas` has those of a set."""
