"""Code that failed when it was run: blamed on the step that wrote it, in whichever run.

Failures with one cause are one finding, at the first of them: a retry of nearly the same code that fails again, and the
failure of an agent that was sent the failure and took the work over. Code that later runs as it is was mended by what
it needed; nearly the same code that runs later was the author's own repair.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.code_faults import CodeFault, last_words
from tracejury.judges.executions import Execution
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.names import text_of
from tracejury.judges.phrases import times
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.taxonomy import Severity


def _failed(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    for fault in ctx.failed_code.get(facts.run.id, ()):
        first = fault.failures[0]
        if first.author is not None and not fault.same:
            yield _hit(fault, first, first.author)


def _empty(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    """Code that ran and brought nothing, and that no later version mended."""
    for fault in ctx.empty_code.get(facts.run.id, ()):
        first = fault.failures[0]
        if first.author is not None and not fault.same:
            text = f"The code of this step ran and put out only {first.end.output.strip()[:_SAID]!r}."
            evidence = quote_code(first.author, first.code)
            yield Hit(first.author.span_id, evidence, text, tool_span_id=first.span_id, also_at=fault.also_at)


def _hit(fault: CodeFault, first: Execution, author: TurnFacts) -> Hit:
    status = "" if first.end.status is None else f" with exit status {first.end.status}"
    said = f": {what[:_SAID]}" if (what := last_words(first.end.output)) else ""
    again = f" Code for it failed {times(len(fault.failures))} in all." if len(fault.failures) > 1 else ""
    return Hit(
        author.span_id,
        quote_code(author, first.code),
        f"The code of this step failed{status} when it was run{said}.{again}",
        tool_span_id=first.span_id,
        also_at=fault.also_at,
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
        version=3,
        title="Code that failed when it was run",
    ),
    rule(
        "execution-empty",
        "Poor Information Retrieval",
        "TC EE",
        "LOW",
        _empty,
        confidence=0.4,
        version=2,
        title="Code that ran and brought nothing",
    ),
)
