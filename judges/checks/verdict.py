"""The verdict of a check: the value that its formula gives to answers, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.verdicts import Subject, Verdict

from .check_types import Check
from .formula import Formula, measured


def verdict_of(
    check: Check,
    version: str,
    formula: Formula,
    subject: Subject,
    entries: Sequence[Sequence[ItemAnswer]],
    *,
    items: tuple[ItemAnswer, ...] = (),
    failure: str = "",
    told: Sequence[str] = (),
    counts: Mapping[str, int] | None = None,
    model: str = "",
    probability: float = 1.0,
) -> Verdict:
    """The verdict from the answers, an entry an exchange, or of the subject itself as the only one.

    `items`: those that are stored with it; `failure`: why it is unscored. `told` and `counts` (how many of what) make
    up its reasons.
    """
    counted = measured(formula, () if failure else entries, best=check.unproven == "best")
    verified = counted.verified
    numbers = {"ungrounded": counted.ungrounded, **(counts or {})}
    said = [*told, *filter(None, [verified.told]), *(f"{count} {what}" for what, count in numbers.items() if count)]
    return Verdict(
        judge=check.name,
        version=version,
        subject=subject,
        score=None,
        model=model,
        not_applicable=not failure and verified.value is None,
        unscored_reason=failure,
        reasons="" if failure else "; ".join(said),
        sampling_probability=probability,
        value=verified.value,
        raw=counted.raw.value,
        numerator=verified.numerator,
        denominator=verified.denominator,
        items=() if failure else items,
    )
