"""Length limits of a transcript, by kind of text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class TranscriptLimits:
    """Longest texts, in characters, by kind; what is longer is cut in the middle.

    `system`: system prompts, above all that are not hostile; `examples`: of one that keeps its worked examples; `task`:
    the first call's user message, `preface`: of it the words before the task;
    `prompt`: what asks for a plan, a survey or a closing answer; `message`: other new messages; `result`: tool
    results; `output`: what an LLM wrote (quotes come from there); `arguments`: of one call; `errand`: a sub-agent's
    task; `answer`: what a run gave back; `tool`: a tool's description; `line`: recorded text in a line of our own.
    """

    system: int = 24_000
    examples: int = 3_600
    task: int = 3_000
    preface: int = 1_000
    prompt: int = 2_400
    message: int = 1_800
    result: int = 2_600
    output: int = 8_000
    arguments: int = 3_000
    errand: int = 1_000
    answer: int = 2_500
    tool: int = 260
    line: int = 90


SESSION: Final = TranscriptLimits(message=4_000, result=4_000)
"""Of a session's record. Answers are compared with the results that they report (messages, where tools have no spans),
of which the middle counts as well."""

_WHOLE: Final = 1_000_000  # characters: more than a span's attribute may have
UNCUT: Final = TranscriptLimits(**{name: _WHOLE for name in TranscriptLimits.__dataclass_fields__ if name != "line"})
"""Every text in full, for a judge that asks to see what was cut; labels are the same as with other limits."""
