"""What later calls tell of a failed one: it was mended, repeated at once, or another agent made the same mistake.

docs/detectors.md, "What they look for": "a file that several runs miss is one error". Whoever only repeats a mistake
makes no second one, and a call that works later has mended it: the finding is LOW.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Final

from .facts import CallFacts, RunFacts, TurnFacts, failed_calls
from .failure_text import FailureKind, gives_up
from .names import Role
from .quoting import json_text, values_of

Worked = Mapping[tuple[str, str], int]
"""(Agent's name, tool's name), and (run id, "") for any tool, to the start of the last turn in which it worked."""


def last_worked(runs: Iterable[RunFacts]) -> Worked:
    """When each tool last worked in a trace."""
    found: dict[tuple[str, str], int] = {}
    for facts in runs:
        for key, at in facts.once(_worked):
            found[key] = max(found.get(key, -1), at)
    return found


def start_of(turn: TurnFacts) -> int:
    """When the first span of a turn began (unix nanos)."""
    return min((span.raw.start for span in turn.turn.spans), default=0)


def _worked(facts: RunFacts) -> Iterable[tuple[tuple[str, str], int]]:
    found: dict[str, int] = {}
    for turn, call in facts.calls:
        if _works(call):
            found[call.call.name] = max(found.get(call.call.name, -1), start_of(turn))
    by_tool = [((facts.run.name, tool), at) for tool, at in found.items()]
    return [*by_tool, ((facts.run.id, ""), max(found.values()))] if found else ()


def worked_again(turn: TurnFacts, failed: CallFacts) -> bool:
    """Whether a call that ran and failed worked when its framework made it again, in its turn and for one request."""
    call = failed.call
    for other in turn.calls if call.span is not None else ():
        again = other.call
        if again is call or (again.name, again.arguments) != (call.name, call.arguments) or not _works(other):
            continue
        if again.call_id == call.call_id or not (again.call_id and call.call_id):
            return True
    return False


def done_otherwise(facts: RunFacts, turn: TurnFacts, failed: CallFacts) -> bool:
    """Whether a call of a turn failed, another about the same worked later, and the run served its user.

    It did where it ended with an answer that does not give up, after all that failed. About the same: they share a word
    of four letters or a number of their arguments.
    """
    if not facts.settled or not facts.run.answer.strip() or gives_up(facts.run.answer):
        return False
    last = dict(facts.once(_last_worked_on))
    if last.get("", -1) <= max((at.position for at, _ in facts.once(_went_wrong)), default=-1):
        return False
    return any(last.get(word, -1) > turn.position for word in _words(failed))


def _last_worked_on(facts: RunFacts) -> Iterable[tuple[str, int]]:
    """Each word of what worked, and "" for all, with the position of the last turn in which it did."""
    return {word: turn.position for turn, call in facts.calls if _works(call) for word in ("", *_words(call))}.items()


def _went_wrong(facts: RunFacts) -> Iterator[tuple[TurnFacts, CallFacts]]:
    return ((turn, call) for turn, call in facts.calls if call.failure or call.refusal)


def _works(call: CallFacts) -> bool:
    return not call.failure and not call.refusal and bool(call.ran) and call.role is Role.ACCESS


def _words(call: CallFacts) -> set[str]:
    """The words and numbers of a call's arguments, of three characters or more."""
    return set(_WORD.findall(json_text([*values_of(call.call.arguments)])[:_READ].lower())) - _VALUES


_WORD: Final = re.compile(r"\b(?:\w{4,}|\d{2,})\b")
_VALUES: Final = frozenset({"true", "false", "null"})
_READ: Final = 2000


def missed_again(runs: Iterable[RunFacts]) -> Mapping[str, str]:
    """Span of a call that did not find a file, to that of the next one, in another run, that did not find it either."""
    missed: dict[str, list[tuple[int, str, str]]] = defaultdict(list)
    for facts in runs:
        for turn, call in facts.once(failed_calls):
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


def retries(facts: RunFacts) -> Iterator[tuple[str, str]]:
    """Span of a turn with a failed call, and that of the next turn where the very same call fails in the same way."""
    return ((one.span_id, next_one.span_id) for one, next_one in pairwise(facts.acts) if _is_retry(one, next_one))


def _is_retry(turn: TurnFacts, following: TurnFacts) -> bool:
    one, other = turn.failed_call, following.failed_call
    if one is None or other is None or turn.failure is None or following.failure is None:
        return False
    same = (one.name, one.arguments) == (other.name, other.arguments)
    return same and turn.failure.kind is following.failure.kind
