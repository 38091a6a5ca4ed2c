"""The same missing file in several runs: an agent that hands it on makes the mistake once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from itertools import pairwise

from .facts import RunFacts, TurnFacts, failed_calls
from .failure_text import FailureKind
from .quoting import values_of

MissedAgain = Mapping[str, str]
"""Span of a call that did not find a file, to that of the next one, in another run, that did not find it either."""


def missed_again(runs: Iterable[RunFacts]) -> MissedAgain:
    """Of all runs of a trace."""
    missed: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for facts in runs:
        for turn, call in facts.in_turns(failed_calls):
            if call.call is turn.failed_call and turn.turn.llm is not None and (path := _missing(turn)):
                missed[path].append((turn.turn.llm.raw.start, turn.span_id, facts.run.id))
    rows = (pairwise(sorted(row)) for row in missed.values())
    return {one: other for row in rows for (_, one, run), (_, other, next_run) in row if run != next_run}


def _missing(turn: TurnFacts) -> str:
    """The file that a turn's failed call did not find, "" where it names none."""
    if turn.failed_call is None or turn.failure is None or turn.failure.kind is not FailureKind.FILE:
        return ""
    texts = (v for v in values_of(turn.failed_call.arguments) if isinstance(v, str))
    return next((text for text in texts if text and " " not in text), "")
