"""The state of a pattern: whether it is new, more frequent, rarer, gone or back, beyond chance.

Many patterns are looked at, each day anew, so each claim is corrected for their number: on a day on which nothing
changed none of them is called changed with a chance of 95 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, lgamma, log, log1p
from typing import Final

from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.queries.patterns import PatternState

from .change_points import Counted
from .dispersion import dispersion

CHANGED: Final = 0.04
"""The chance with which any pattern is called rarer or more frequent where none is (Holm)."""

CERTAIN: Final = 0.01
"""The chance with which any is called gone or back where none is."""


@dataclass(frozen=True, slots=True)
class History:
    """A pattern's periods (days) in order, the `window` last of them looked at and those before for comparison."""

    periods: Sequence[Counted]
    window: int

    def divided(self, by: float) -> History:
        """The history with its counts divided."""
        return self if by == 1 else History([period / by for period in self.periods], self.window)

    @property
    def new(self) -> bool:
        """Whether it was not seen before the window."""
        return not self.before.hits

    @property
    def quiet(self) -> float:
        """Units that were judged after its last hit."""
        last = max((index for index, period in enumerate(self.periods) if period.hits > 0), default=-1)
        return sum(period.units for period in self.periods[last + 1 :])

    @property
    def now(self) -> Counted:
        """The counts of the window."""
        return Counted.of(self.periods[-self.window :])

    @property
    def before(self) -> Counted:
        """The counts before the window."""
        return Counted.of(self.periods[: -self.window])


@dataclass(frozen=True, slots=True)
class Judged:
    """The state of a pattern. `p_value`: that its rate changed, not corrected, 1 where nothing is to compare.

    `quiet`: units without it since it was last seen; `needed`: so many without it tell that it is gone, None where its
    rate before is not known. `dispersion`: by what its counts were divided, as it comes in bursts.
    """

    state: PatternState
    p_value: float
    quiet: float
    needed: int | None
    dispersion: float


def judge_states(histories: Sequence[History]) -> list[Judged]:
    """The states of all patterns that are looked at together, in their order."""
    count = max(len(histories), 1)
    spreads = [dispersion((one.periods[: -one.window], one.periods[-one.window :])) for one in histories]
    even = [one.divided(spread) for one, spread in zip(histories, spreads, strict=True)]
    p_values = [1.0 if one.new else difference_p(one.before, one.now) for one in even]
    changed = holm(p_values)
    return [_judged(*each, count) for each in zip(even, spreads, p_values, changed, strict=True)]


def needed_units(seen: Counted, chance: float) -> int | None:
    """After so many units without a hit it is gone: at the old rate, taken as low as it may be, all but impossible.

    `seen`: the counts until its last hit. (1 - low)^n <= chance, with the lower end of Wilson's interval of its share.
    """
    if seen.units <= 0 or seen.hits <= 0:
        return None
    low = wilson_of(min(seen.hits / seen.units, 1.0), seen.units)[0]
    if low <= 0:  # so few hits that no share can be told
        return None
    return 1 if low >= 1 else max(1, round(log(chance) / log1p(-low) + 0.5))


def difference_p(a: Counted, b: Counted) -> float:
    """Two-sided p-value of equal shares: twice the smaller tail of Fisher's exact test, 1 where either has no units.

    Fisher, "The design of experiments", 1935. Exact, since the claims are made at small chances and of small counts.
    """
    n, m = round(a.units), round(b.units)
    x, y = min(round(a.hits), n), min(round(b.hits), m)
    hits = x + y
    if not n or not m or not hits or hits == n + m:
        return 1.0
    least, most = max(0, hits - n), min(hits, m)
    whole = _choose(n + m, hits)
    lower = min(y - least, most - y) == y - least
    tail = range(y, least - 1, -1) if lower else range(y, most + 1)
    near = _sum_tail(n, m, hits, tail, whole)
    own = exp(_choose(m, y) + _choose(n, hits - y) - whole)
    return min(1.0, 2 * min(near, 1 - near + own))


def is_back(old: Counted, fixed: Counted) -> bool:
    """Whether what was resolved is there again: `fixed` are the counts since, `old` those before.

    A remedy may leave a tenth of the old rate, taken as high as it may have been; more than that beyond chance is no
    remedy. A single event among many units is never enough; among few it is, where the old rate was low.
    """
    if old.units <= 0 or fixed.hits <= 0:
        return False
    left = wilson_of(min(old.hits / old.units, 1.0), old.units)[1] / 10
    return _at_least(round(fixed.hits), max(round(fixed.units), 1), left) <= CERTAIN


def _judged(one: History, spread: float, p: float, changed: bool, count: int) -> Judged:  # noqa: FBT001 - one of a row
    last = max((index for index, period in enumerate(one.periods) if period.hits > 0), default=-1)
    seen = Counted.of(one.periods[: last + 1])
    needed = needed_units(seen, CERTAIN / count)
    state = PatternState.ONGOING
    if one.new and one.now.hits and one.before.units:
        state = PatternState.NEW
    elif not one.now.hits:
        if needed is not None and one.quiet >= needed:
            state = PatternState.GONE
    elif _returned(one, count):
        state = PatternState.BACK
    elif changed:
        was, now = one.before, one.now
        state = PatternState.MORE_FREQUENT if now.hits * was.units > was.hits * now.units else PatternState.RARER
    return Judged(state, p, one.quiet * spread, None if needed is None else ceil(needed * spread), spread)


def _returned(one: History, count: int) -> bool:
    """Whether it had been gone when it came in the window; the more often it came, the longer it must have been.

    It must have been away for long by its rate since it came, too: what became rarer keeps away for longer.
    """
    chance = CERTAIN / count / max(one.now.hits, 1.0)
    first, periods = len(one.periods) - one.window, one.periods
    seen = gap = Counted(0.0, 0.0)
    for index, period in enumerate(periods):
        if not period.hits:
            gap = Counted.of((gap, period))
            continue
        if index >= first and gap.units:
            since = Counted.of(periods[index:])
            needed = [needed_units(seen, chance), needed_units(since, chance)]
            if all(units is not None and gap.units >= units for units in needed):
                return True
        seen, gap = Counted.of((seen, gap, period)), Counted(0.0, 0.0)
    return False


def holm(p_values: Sequence[float]) -> list[bool]:
    """Which differ, with a chance of `CHANGED` that any does wrongly (Holm, 1979)."""
    found = [False] * len(p_values)
    for rank, index in enumerate(sorted(range(len(p_values)), key=lambda index: p_values[index])):
        if p_values[index] > CHANGED / (len(p_values) - rank):
            break
        found[index] = True
    return found


def _sum_tail(n: int, m: int, hits: int, tail: range, whole: float) -> float:
    total = 0.0
    for y in tail:
        part = exp(_choose(m, y) + _choose(n, hits - y) - whole)
        total += part
        if part < total * 1e-12:
            break
    return total


def _at_least(hits: int, units: int, share: float) -> float:
    """The chance of at least so many hits."""
    if share >= 1:
        return 1.0
    below = (exp(_choose(units, k) + k * log(share) + (units - k) * log1p(-share)) for k in range(min(hits, units + 1)))
    return max(0.0, 1 - sum(below)) if share > 0 else float(hits <= 0)


def _choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
