"""Whether a failed call was mended: the same agent made it again, later, and it worked.

After a call of no tool, or one whose arguments could not be read, any call of the run that works has mended it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from ..schemas.taxonomy import Severity
from .facts import CallFacts, RunFacts, TurnFacts
from .failure_text import FailureKind
from .names import Role

Worked = Mapping[tuple[str, str], int]
"""(Agent's name, tool's name), and (run id, "") for any tool, to the start of the last turn in which it worked."""

_UNNAMED: Final = frozenset({FailureKind.UNKNOWN_TOOL, FailureKind.MALFORMED})


def severity_of(worked: Worked, facts: RunFacts, turn: TurnFacts, call: CallFacts) -> Severity | None:
    """LOW for a failed call that was mended, None (the rule's severity) for one that was not."""
    anything = call.refusal in _UNNAMED
    key = (facts.run.id, "") if anything else (facts.run.name, call.call.name)
    return Severity.LOW if worked.get(key, -1) > _at(turn) else None


def last_worked(runs: Iterable[RunFacts]) -> Worked:
    """When each tool last worked in a trace."""
    found: dict[tuple[str, str], int] = {}
    for facts in runs:
        for turn in facts.turns:
            for call in turn.calls:
                if call.failure is None and call.refusal is None and call.ran and call.role is Role.ACCESS:
                    for key in ((facts.run.name, call.call.name), (facts.run.id, "")):
                        found[key] = max(found.get(key, -1), _at(turn))
    return found


def _at(turn: TurnFacts) -> int:
    return min((span.raw.start for span in turn.turn.spans), default=0)
