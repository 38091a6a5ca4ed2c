"""Which tools change something: as the card or the service says, else guessed by the verbs of their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tracejury.judges.names import reads, words_of

_VERBS: Final = frozenset({"block", "complete", "force", "release", "reschedule", "unassign"})
"""Verbs that write, beside those by which detectors tell."""


@dataclass(frozen=True, slots=True)
class Writes:
    """`said`: whether tools write, as steps say. `listed`: the tools that write, as card and service name them."""

    said: Mapping[str, bool]
    listed: frozenset[str] = frozenset()

    def __call__(self, tool: str) -> bool:
        """Whether a tool changes something."""
        return self.said.get(tool, tool in self.listed if self.listed else guess(tool))

    def guessed(self, tool: str) -> bool:
        """Whether only its name tells."""
        return not self.listed and tool not in self.said


def guess(tool: str) -> bool:
    """Whether a tool of that name writes, by its first verb; one without a known verb reads."""
    first = reads(tool)
    return first is False or (first is None and not _VERBS.isdisjoint(words_of(tool)))
