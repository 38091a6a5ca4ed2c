"""Several runs of one question: more than half of them decide. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from tracejury.schemas.findings import Finding

from .check_types import Check
from .grounding import Grounded
from .tally import CheckTally

_MOST_REASONS: Final = 4000
"""Characters of the reasons of all runs that are kept."""


def majority(given: Sequence[int]) -> int:
    """The place on a scale, 0 best, that more than half of the answers reach; of an even number the worse middle."""
    return sorted(given)[len(given) // 2]


def decided(given: Sequence[int], left: int, worst: int) -> bool:
    """Whether no `left` further runs, of use or not, can change the majority."""
    return bool(given) and majority([*given, *[0] * left]) == majority([*given, *[worst] * left])


def least_runs(runs: int) -> int:
    """The runs of use without which a check is unscored, and that are asked before any can be left out."""
    return (runs + 1) // 2


def undecided(check: Check, tallies: Sequence[CheckTally]) -> bool:
    """Whether a further run may change what these runs say of the check."""
    valid = [tally for tally in tallies if not tally.failure]
    if check.items.lists or len(valid) < least_runs(check.runs):
        return True
    left, worst = check.runs - len(tallies), len(check.answers) - 1
    return not all(decided(_places(check, given), left, worst) for _, given in _by_item(valid))


def voted(tallies: Sequence[CheckTally]) -> CheckTally:
    """The runs of one check as one tally; a single run as it is.

    An item that the model lists counts if more than half of the runs list it, a report beside the items likewise.
    """
    first = tallies[0]
    check = first.asked.check
    if check.runs == 1 or not check.asks or first.unasked:
        return first
    valid = [tally for tally in tallies if not tally.failure]
    merged = CheckTally(first.asked, model=tallies[-1].model, beyond=max(tally.beyond for tally in tallies))
    if len(valid) < least_runs(check.runs):
        why = next(tally.failure for tally in tallies if tally.failure)
        merged.failure = f"{len(valid)} of {check.runs} runs gave an answer: {why}"
        return merged
    for key, given in _by_item(valid):
        if 2 * len(given) > len(valid):
            merged.given[key] = _one_of(check, given)
    reported = [{(f.category, f.span_id): f for f in tally.found} for tally in valid]
    often = Counter(key for found in reported for key in found)
    distinct: dict[tuple[str, str], Finding] = {k: f for found in reversed(reported) for k, f in found.items()}
    merged.found += [finding for key, finding in distinct.items() if 2 * often[key] > len(valid)]
    return merged


def _by_item(tallies: Sequence[CheckTally]) -> Iterable[tuple[int | str, list[Grounded]]]:
    keys = dict.fromkeys(key for tally in tallies for key in tally.given)
    return [(key, [tally.given[key] for tally in tallies if key in tally.given]) for key in keys]


def _places(check: Check, given: Iterable[Grounded]) -> list[int]:
    return [check.answers.index(one.answer.answer) for one in given]


def _one_of(check: Check, given: Sequence[Grounded]) -> Grounded:
    """The majority's answer, with the place of those that deny it where it is the best one."""
    word = check.answers[majority(_places(check, given))]
    won = _best_placed([one for one in given if one.answer.answer == word])
    below = [one for one in given if not one.answer.best]
    by_answer = sorted(given, key=lambda one: one.answer.best)
    told = dict.fromkeys(f"{one.answer.answer}: {one.answer.reason}" for one in by_answer)
    yes, reason = len(given) - len(below), "\n".join(told)[:_MOST_REASONS]
    answer = replace(won.answer, yes=yes, runs=len(given), reason=reason)
    if answer.best and below:
        denied = _best_placed(below).answer
        trace_id, span_id, quote = denied.trace_id, denied.span_id, denied.quote
        answer = replace(answer, denied_trace_id=trace_id, denied_span_id=span_id, denied_quote=quote)
    return won._replace(answer=answer)


def _best_placed(given: Sequence[Grounded]) -> Grounded:
    """The first at the step that most of them name with a quote that stands; without one the first."""
    often = Counter((one.answer.trace_id, one.answer.span_id) for one in given if one.named)
    return max(given, key=lambda one: often[one.answer.trace_id, one.answer.span_id] if one.named else 0)
