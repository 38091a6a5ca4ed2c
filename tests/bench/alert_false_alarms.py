"""How often a rule about a rate fires though it allows that share: `python tests/bench/alert_false_alarms.py`.

Runs arrive at random, and each has an error by chance alone. The rule looks each minute at the last hour, with our
code; a day is false where it fires at least once. A day's rule knows nothing of the day before.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from functools import cache
from typing import Final

import numpy as np

from tracejury.collector.alerting.config import RateRule
from tracejury.collector.alerting.evaluate import Side
from tracejury.collector.alerting.figures.rate import side_of
from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.rates import Estimate, Rate

HOUR: Final = 60
MINUTES: Final = 24 * HOUR
ALLOWED: Final = 0.02


def false_days(rule: RateRule, share: float, runs_an_hour: float, days: int, random: np.random.Generator) -> float:
    """The part of `days` with a look at which the rule fires."""

    @cache
    def fires(runs: int, hits: int) -> bool:
        if not runs:
            return False
        part = hits / runs
        estimate = Estimate(part, *wilson_of(part, runs))
        rate = Rate(runs, hits, hits, float(runs), sampled=False, share=estimate, mean=None)
        return side_of(rule, rate) is Side.ABOVE

    found = 0
    for _ in range(days):
        runs = random.poisson(runs_an_hour / HOUR, MINUTES + HOUR)
        hits = random.binomial(runs, share)
        last = [np.convolve(each, np.ones(HOUR, int), "valid")[1:] for each in (runs, hits)]
        found += any(fires(int(n), int(k)) for n, k in zip(*last, strict=True))
    return found / days


def main(given: Sequence[str]) -> None:
    """Print a line for each certainty and share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--days", type=int, default=1000)
    days = parser.parse_args(given).days
    random = np.random.default_rng(7)
    sys.stdout.write(f"days with a false alarm, of {days}; the rule allows {ALLOWED:.0%} over an hour, least 30 runs\n")
    sys.stdout.write("certainty  share   60 runs/h   600 runs/h\n")
    for certainty in (0.95, 0.99, 0.999, 0.9999):
        rule = RateRule(above=ALLOWED, certainty=certainty)
        for share in (ALLOWED, 0.75 * ALLOWED, 0.5 * ALLOWED):
            parts = [false_days(rule, share, runs, days, random) for runs in (60.0, 600.0)]
            sys.stdout.write(f"{certainty:9}  {share:5.3f}   {parts[0]:9.1%}   {parts[1]:10.1%}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
