"""Executions that went wrong, by their causes.

A retry of nearly the same code that goes wrong again has the cause of the first. So has other code that goes wrong in
the same way, of another agent that was sent how the first one ended and took the work over. Nearly the same code that
runs well later has mended it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final

from .executions import Execution


@dataclass(slots=True)
class CodeFault:
    """Executions that went wrong for one cause, in order.

    `words`: of the code of each. `mended`: nearly the same code ran well later; `same`: the very same did.
    """

    failures: list[Execution] = field(default_factory=list)
    words: list[Counter[str]] = field(default_factory=list)
    mended: bool = False
    same: bool = False

    @property
    def also_at(self) -> tuple[str, ...]:
        """The LLM spans of the authors of all but the first, without the first one's."""
        spans = [e.author.span_id for e in self.failures if e.author]
        return tuple(dict.fromkeys(i for i in spans[1:] if i != spans[0]))


def code_faults(executions: Iterable[Execution], went_wrong: Callable[[Execution], bool]) -> tuple[CodeFault, ...]:
    """The faults of a trace, by their first executions that went wrong."""
    faults: list[CodeFault] = []
    unmended: list[CodeFault] = []
    for execution in executions:
        words = Counter(execution.code.split()[:_WORDS])
        recent = unmended[-_LOOK_BACK:]
        if went_wrong(execution):
            cause = next((f for f in reversed(recent) if _follows(execution, words, f)), None)
            if cause is None:
                cause = CodeFault()
                faults.append(cause)
                unmended.append(cause)
            cause.failures.append(execution)
            cause.words.append(words)
            continue
        for fault in recent:
            if any(_alike(words, other) for other in fault.words[-_LOOK_BACK:]):
                fault.mended = True
                fault.same = any(execution.code.split() == e.code.split() for e in fault.failures[-_LOOK_BACK:])
                unmended.remove(fault)
    return tuple(faults)


_LOOK_BACK: Final = 6
_WORDS: Final = 400


def _follows(execution: Execution, words: Counter[str], fault: CodeFault) -> bool:
    last = fault.failures[-1]
    if _alike(words, fault.words[-1]):
        return True
    return execution.run is not last.run and _way(execution) == _way(last) and _was_sent(execution, last)


def last_words(output: str) -> str:
    """The last line that begins as an exception's does, else the last line: prints may stand behind a traceback."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return next((line for line in reversed(lines) if _EXCEPTION.match(line)), lines[-1] if lines else "")


_EXCEPTION: Final = re.compile(r"[\w.$]{0,80}(?:Error|Exception)\b")


def _way(execution: Execution) -> str:
    """How it went wrong: the exception's name, "" where the last words name none."""
    named = _EXCEPTION.match(last_words(execution.end.output))
    return named.group() if named else ""


def _was_sent(execution: Execution, earlier: Execution) -> bool:
    """Whether the author of an execution was sent how an earlier one ended."""
    llm = execution.author.turn.llm if execution.author else None
    told = earlier.end.output.strip()[:_TOLD]
    return bool(told) and llm is not None and any(told in message.text for message in llm.input_messages)


_TOLD: Final = 200

ALIKE: Final = 0.7
"""Share of words that two pieces of code have in common from which one is a version of the other."""


def _alike(one: Counter[str], other: Counter[str]) -> bool:
    size = one.total() + other.total()
    return size > 0 and 2 * (one & other).total() >= ALIKE * size
