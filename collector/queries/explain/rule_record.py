"""The record of a built-in detector, and how its confidence follows from it, for people to recompute."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import fmean
from typing import Final

from tracejury.judges.records import NEXT_AGENT, UNPROVEN, family, is_supported, records
from tracejury.judges.registry import priors
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.text.counting import counted

_PROFILE: Final = f"{DEFAULT_PROFILE} ({threshold(DEFAULT_PROFILE):g})"


def record_lines(rule: str) -> Iterator[str]:
    """Its share of right errors by data set, then the confidence as their mean (records.py)."""
    record = records().get(family(rule), {})
    for data_set, one in record.items():
        found = f"right in {one.right} of {counted(one.claims, 'error')}, over {counted(one.agents, 'agent')}"
        yield f"{data_set}: {found}; expected share ({one.right} + 1) / ({one.claims} + 2) = {one.expected:.3f}"
    yield f"the next agent, of which nothing is known: expected share (0 + 1) / (0 + 2) = {NEXT_AGENT.expected:.3f}"
    shares = [*(one.expected for one in record.values()), NEXT_AGENT.expected]
    mean = fmean(shares)
    shown = " + ".join(f"{share:.3f}" for share in shares)
    formula = f"({shown}) / {len(shares)} = {mean:.3f}"
    if is_supported(record):
        yield f"confidence, the mean of the shares: {formula}"
    else:
        mean *= UNPROVEN
        why = "fewer than two data sets support it" if record else "no data set has a case of it"
        yield f"mean of the shares: {formula}"
        yield f"unproven, since {why}: confidence {UNPROVEN:.4f} times that mean = {mean:.3f}, below {_PROFILE}"
    if (most := priors()[rule].mean) < round(mean, 4):
        yield f"a candidate, which stays below {_PROFILE} whatever its record: confidence at most {most:.3f}"
