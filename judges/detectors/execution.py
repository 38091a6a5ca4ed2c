"""Code that failed when it was run: blamed on the step that wrote it, in whichever run.

Failures with one cause are one finding, at the first of them: a retry of nearly the same code that fails again, and the
failure of an agent that was sent the failure and took the work over. Code that later runs as it is was mended by what
it needed; nearly the same code that runs later was the author's own repair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from operator import attrgetter
from typing import Final

from ...schemas.taxonomy import Severity
from ..base import Context
from ..executions import Execution
from ..facts import RunFacts, TurnFacts
from ..names import text_of
from ..phrases import times
from ..quoting import quote
from ..rule import Hit, rule


@dataclass(slots=True)
class CodeFault:
    """Failed executions with one cause, in order. `mended`: nearly the same code ran later; `same`: the very same."""

    failures: list[Execution] = field(default_factory=list)
    mended: bool = False
    same: bool = False


def code_faults(executions: Iterable[Execution], went_wrong: Callable[[Execution], bool]) -> list[CodeFault]:
    """The faults of a trace, by their first executions that went wrong."""
    faults: list[CodeFault] = []
    unmended: list[CodeFault] = []
    for execution in executions:
        if went_wrong(execution):
            cause = next((f for f in reversed(unmended[-_LOOK_BACK:]) if _follows(execution, f)), None)
            if cause is None:
                cause = CodeFault()
                faults.append(cause)
                unmended.append(cause)
            cause.failures.append(execution)
            continue
        for fault in unmended[-_LOOK_BACK:]:
            if any(alike_code(execution.code, e.code) for e in fault.failures[-_LOOK_BACK:]):
                fault.mended = True
                fault.same = any(execution.code.split() == e.code.split() for e in fault.failures)
                unmended.remove(fault)
    return faults


_LOOK_BACK: Final = 6


def _follows(execution: Execution, fault: CodeFault) -> bool:
    last = fault.failures[-1]
    return alike_code(execution.code, last.code) or (execution.run is not last.run and _was_sent(execution, last))


def _was_sent(execution: Execution, earlier: Execution) -> bool:
    """Whether the author of an execution was sent how an earlier one ended."""
    llm = execution.author.turn.llm if execution.author else None
    told = earlier.end.output.strip()[:_TOLD]
    return bool(told) and llm is not None and any(told in message.text for message in llm.input_messages)


_TOLD: Final = 200


def alike_code(one: str, other: str) -> bool:
    """Whether two pieces of code are versions of one another."""
    a, b = one.split()[:_WORDS], other.split()[:_WORDS]
    if not a or not b or 2 * min(len(a), len(b)) < ALIKE * (len(a) + len(b)):
        return a == b and bool(a)
    matcher = SequenceMatcher(None, a, b, autojunk=False)
    return matcher.quick_ratio() >= ALIKE and matcher.ratio() >= ALIKE


ALIKE: Final = 0.6
"""Likeness of two pieces of code (ratio of matching words) from which one is a version of the other."""

_WORDS: Final = 400


def _failed(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    for fault in code_faults(ctx.executions, attrgetter("failed")):
        first = fault.failures[0]
        if first.author is not None and first.run is facts and not fault.same:
            yield _hit(fault, first, first.author)


def _empty(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    """Code that ran and brought nothing, and that no later version mended."""
    for fault in code_faults(ctx.executions, attrgetter("empty")):
        first = fault.failures[0]
        if first.author is not None and first.run is facts and not fault.same:
            text = f"The code of this step ran and put out only {first.end.output.strip()[:_SAID]!r}."
            also = (e.author.span_id for e in fault.failures[1:] if e.author)
            also_at = tuple(dict.fromkeys(i for i in also if i != first.author.span_id))
            yield Hit(first.author.span_id, quote_code(first.author, first.code), text, first.span_id, also_at=also_at)


def _hit(fault: CodeFault, first: Execution, author: TurnFacts) -> Hit:
    status = "" if first.end.status is None else f" with exit status {first.end.status}"
    last = next((line.strip() for line in reversed(first.end.output.splitlines()) if line.strip()), "")
    said = f": {last[:_SAID]}" if last else ""
    again = f" Code for it failed {times(len(fault.failures))} in all." if len(fault.failures) > 1 else ""
    also = (e.author.span_id for e in fault.failures[1:] if e.author and e.author.span_id != author.span_id)
    return Hit(
        author.span_id,
        quote_code(author, first.code),
        f"The code of this step failed{status} when it was run{said}.{again}",
        first.span_id,
        also_at=tuple(dict.fromkeys(also)),
        severity=Severity.LOW if fault.mended else None,
    )


_SAID: Final = 120


def quote_code(author: TurnFacts, code: str) -> str:
    """A quote of code where its author wrote it."""
    line = next((line.strip() for line in code.splitlines() if line.strip()), "")
    asked = [text_of(r.arguments) for r in author.turn.tool_requests]
    for text in (author.turn.text, *asked):
        at = text.find(line) if line else -1
        if at >= 0:
            return quote(text, at)
    return quote(author.turn.text.strip())


RULES: Final = (
    rule(
        "execution-failed",
        "Formatting Errors",
        "TC EE",
        "MEDIUM",
        _failed,
        confidence=0.45,
        version=1,
        title="Code that failed when it was run",
    ),
    rule(
        "execution-empty",
        "Poor Information Retrieval",
        "TC EE",
        "LOW",
        _empty,
        confidence=0.4,
        version=1,
        title="Code that ran and brought nothing",
    ),
)
