"""What a transcript has told already and what is needed to tell the rest."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

from ...schemas.normalized import Message, NormalizedSpan
from .seen import Seen

_RECENT: Final = 8  # results that a message is compared with as a whole
_LEAST_RESULT: Final = 24  # characters; shorter results are repeated rather than referred to
_AROUND: Final = 200  # characters that a message may say around a result that it hands on


@dataclass(slots=True)
class Memory:
    """State of one transcript in the making.

    `seen`: lines shown; `given`: texts of the header; `tools`: names of tools shown; `names`: call id to the tool that
    it asked for; `requested`: what the last reply asked for; `executes`: tool spans have been seen in this run.
    """

    seen: Seen = field(default_factory=Seen)
    given: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    names: dict[str, str] = field(default_factory=dict)
    requested: tuple[str, ...] = ()
    executes: bool = False
    stops: tuple[str, ...] = ()
    most: int | None = None
    _recent: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def tell(self, label: str, text: str, limit: int) -> str:
        """`text` as recorded lines, what was told before by reference; from now on it stands at `label`."""
        told = self.seen.block(text, limit)
        self.seen.learn(label, text)
        return told

    def returned(self, label: str, result: str) -> None:
        """Note a result or the text of a failure, which the next messages are likely to hand on."""
        if len(result) >= _LEAST_RESULT:
            self._recent.append((label, result))

    def handed_on(self, text: str) -> str:
        """The label of a recent result that `text` hands on with few words around it, "" where it is none."""
        for label, result in reversed(self._recent):
            if len(text) - _AROUND <= len(result) <= len(text) and result in text:
                return label
        return ""

    def holds(self, text: str) -> bool:
        """Whether all of `text` was told before, or it only wraps a recent result."""
        return bool(self.seen.whole(text)) or any(result in text for _, result in self._recent)

    def replayed(self, message: Message) -> bool:
        """Whether a message only repeats the calls that the run's last reply asked for."""
        if message.role not in ("assistant", "tool-call") or not self.requested:
            return False
        if message.tool_requests:
            return not message.text and tuple(r.name for r in message.tool_requests) == self.requested
        return message.role == "tool-call" and all(tool in message.text for tool in self.requested)

    def settings(self, llm: NormalizedSpan) -> tuple[bool, bool]:
        """Whether the call's token limit and its stop sequences differ from those of the call before."""
        changed = llm.max_tokens != self.most, llm.stop_sequences != self.stops
        self.most, self.stops = llm.max_tokens, llm.stop_sequences
        return changed
