"""State of a transcript: what it has shown already, and what the rest needs."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from tracejury.schemas.normalized import Message, NormalizedSpan

from .hidden import HiddenPassages
from .limits import TranscriptLimits
from .shown_lines import ShownLines

_RECENT: Final = 8  # results that a message is compared with as a whole
_LEAST_RESULT: Final = 24  # characters; shorter results are repeated rather than referred to
_READ: Final = 20_000  # characters of a message in which a replay is looked for
_LINES: Final = 40
_LISTED: Final = re.compile(r"^[ \t]{0,8}[-*] [*`]{0,2}([A-Za-z_]\w{0,79})[*`]{0,2}: ?(.*)$", re.MULTILINE)
_TELLING: Final = 12
_AROUND: Final = 200  # characters that a message may say around a result that it hands on


@dataclass(slots=True)
class Memory:
    """State of one transcript in the making.

    `shown`: lines shown; `hidden`: passages that were cut; `given`: texts of the header; `tools`: names of tools shown;
    `listed`: tools and agents that prompts list, by name; `names`: call id to the tool that it asked for; `executes`:
    tool spans have been seen in this run. A place is what a reference names: "result of S4".
    """

    limits: TranscriptLimits
    hidden: HiddenPassages = field(default_factory=HiddenPassages)
    shown: ShownLines = field(init=False)
    given: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)
    listed: dict[str, str] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    executes: bool = False
    stops: tuple[str, ...] = ()
    most: int | None = None
    _requested: tuple[str, ...] = ()
    _said: tuple[str, ...] = ()
    _recent: deque[tuple[str, str]] = field(default_factory=lambda: deque(maxlen=_RECENT))

    def __post_init__(self) -> None:
        self.shown = ShownLines(self.hidden)

    def prompted(self, text: str) -> None:
        """Note the tools and agents that a prompt lists (`- name: what it is for`)."""
        for name, purpose in _LISTED.findall(text[:_READ]):
            self.listed.setdefault(name, purpose)

    def returned(self, place: str, result: str) -> None:
        """Note a result or the text of a failure, which the next messages are likely to hand on."""
        result = result.strip()
        if len(result) >= _LEAST_RESULT:
            self._recent.append((place, result))

    def handed_on(self, text: str) -> str:
        """The place of a recent result that `text` hands on with few words around it, "" where it is none."""
        for place, result in reversed(self._recent):
            if len(text) - _AROUND <= len(result) <= len(text) and result in text:
                return place
        return ""

    def holds(self, text: str) -> bool:
        """Whether `text` was shown before, or only wraps a recent result."""
        return bool(self.handed_on(text)) or self.shown.contains(text)

    def wraps(self, failure: str) -> bool:
        """Whether the text of a failure was shown before, or wraps a recent one."""
        return self.shown.contains(failure) or any(result in failure for _, result in self._recent)

    def replied(self, text: str, requested: tuple[str, ...]) -> None:
        """Note the run's last reply: its text and the tools that it asked for."""
        self._requested = requested
        lines = (bare for line in text[-_READ:].split("\n") if len(bare := line.strip()) >= _TELLING)
        self._said = tuple(islice(lines, _LINES))

    def replays(self, message: Message) -> bool:
        """Whether a message only repeats what the run's last reply asked for, in the framework's notation."""
        if message.role not in ("assistant", "tool-call"):
            return False
        if message.tool_requests:
            return not message.text and tuple(r.name for r in message.tool_requests) == self._requested
        if message.role == "assistant":
            return False
        if self._requested:
            return all(tool in message.text for tool in self._requested)
        written = message.text[:_READ].replace("\\n", "\n").replace("\\'", "'").replace('\\"', '"')
        return any(line in written for line in self._said)

    def settings(self, llm: NormalizedSpan) -> tuple[bool, bool]:
        """Whether the call's token limit and its stop sequences differ from those of the call before."""
        changed = llm.max_tokens != self.most, llm.stop_sequences != self.stops
        self.most, self.stops = llm.max_tokens, llm.stop_sequences
        return changed
