"""Verdicts on a session from those on its exchanges. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from tracejury.judges.checks.check_types import Check
from tracejury.judges.checks.formula import Formula, measured
from tracejury.judges.llm.case import Deliberation
from tracejury.schemas.checks import ItemAnswer
from tracejury.schemas.verdicts import Subject, Verdict


def session_verdict(
    check: Check,
    version: str,
    formula: Formula,
    subject: Subject,
    said: Sequence[Verdict],
    probability: float,
    missing: Mapping[str, int] | None = None,
) -> Verdict:
    """A measure of the session. `said`: the verdicts of its exchanges, in order; their items stay with them.

    `missing`: how many of what are not among them.
    """
    scored = [verdict for verdict in said if not verdict.unscored_reason]
    counted = measured(formula, [verdict.items for verdict in scored])
    unscored = len(said) - len(scored)
    value = counted.verified.value
    why = "no exchange could be scored" if unscored and not scored else ""
    items = sum(len(verdict.items) for verdict in scored)
    told = [f"{items} {check.items.value} of {len(scored)} exchanges"]
    counts = {"ungrounded": counted.ungrounded, "exchanges unscored": unscored, **(missing or {})}
    told += [f"{count} {what}" for what, count in counts.items() if count]
    return Verdict(
        judge=check.name,
        version=version,
        subject=subject,
        score=None,
        model=next((verdict.model for verdict in scored if verdict.model), ""),
        not_applicable=value is None and not why,
        unscored_reason=why,
        reasons="" if why else "; ".join(told),
        sampling_probability=probability,
        value=value,
        raw=counted.raw.value,
        numerator=counted.verified.numerator,
        denominator=counted.verified.denominator,
    )


def violated(said: Iterable[Verdict]) -> tuple[ItemAnswer, ...]:
    """The first answer below the best to each item of these verdicts, as far as its quote stands."""
    found: dict[str, ItemAnswer] = {}
    for answer in (answer for verdict in said for answer in verdict.items):
        if answer.grounded and not answer.best:
            found.setdefault(answer.item, answer)
    return tuple(found.values())


def with_earlier(said: Deliberation, check: Check, formula: Formula, earlier: Sequence[ItemAnswer]) -> Deliberation:
    """The answer with what was found before about items that were not asked about again."""
    return replace(
        said, verdicts=tuple(_with(v, formula, earlier) if v.judge == check.name else v for v in said.verdicts)
    )


def _with(verdict: Verdict, formula: Formula, earlier: Sequence[ItemAnswer]) -> Verdict:
    if verdict.unscored_reason or not earlier:
        return verdict
    items = (*earlier, *verdict.items)
    counted = measured(formula, [items])
    told = f"{len(earlier)} found before" + (f"; {verdict.reasons}" if verdict.items else "")
    return replace(
        verdict,
        items=items,
        value=counted.verified.value,
        raw=counted.raw.value,
        numerator=counted.verified.numerator,
        denominator=counted.verified.denominator,
        not_applicable=counted.verified.value is None,
        reasons=told,
    )


def joined(said: Sequence[Deliberation]) -> Deliberation:
    """Several answers about one subject as one."""
    dropped: Counter[str] = Counter()
    for one in said:
        dropped.update(one.dropped)
    asked = [one for one in said if one.models]
    return Deliberation(
        verdicts=tuple(verdict for one in said for verdict in one.verdicts),
        findings=tuple(finding for one in said for finding in one.findings),
        failures={judge: why for one in said for judge, why in one.failures.items()},
        dropped=dict(dropped),
        known=bool(asked) and all(one.known for one in asked),
        models=tuple(dict.fromkeys(model for one in said for model in one.models)),
    )
