"""Failing again and again: runs of failures of one tool. Two are LOW where the agent has mended them since."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import SURVEYS, RunFacts, TurnFacts
from tracejury.judges.failure_text import FailureKind
from tracejury.judges.names import code_argument
from tracejury.judges.phrases import ordinal, times
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.taxonomy import Severity

from .failures import made_hit, read_hit, severity_in, tool_evidence

RUN_OF_FAILURES: Final = 2
"""Failures of one tool in a row that make a run of failures."""


def failure_runs(facts: RunFacts) -> Iterator[list[TurnFacts]]:
    """Maximal runs of at least RUN_OF_FAILURES acting turns in which the same tool fails each time."""
    current: list[TurnFacts] = []
    for turn in [*facts.acts, None]:
        tool = turn.failed_call.name if turn is not None and turn.failed_call and not _cancelled(turn) else None
        if current and (turn is None or tool is None or _action(turn) != _action(current[-1])):
            if len(current) >= RUN_OF_FAILURES:
                yield current
            current = []
        if turn is not None and tool is not None:
            current.append(turn)


def _cancelled(turn: TurnFacts) -> bool:
    return turn.failure is not None and turn.failure.kind is FailureKind.CANCELLED


def _action(turn: TurnFacts) -> tuple[str, str]:
    """The tool that failed; of one that runs code, with the code: each command is an action of its own."""
    call = turn.failed_call
    runs = call is not None and turn.failure is not None and turn.failure.kind is FailureKind.EXIT
    return _tool(turn), code_argument(call.arguments) if runs and call is not None else ""


def _tool(turn: TurnFacts) -> str:
    return turn.failed_call.name if turn.failed_call else ""


def _severity(facts: RunFacts, ctx: Context, turns: list[TurnFacts]) -> Severity | None:
    """LOW for a call that failed once more and was mended then, None (the rule's severity) for all others."""
    return severity_in(facts, ctx, turns[-1]) if len(turns) == RUN_OF_FAILURES else None


def _repeated(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    """A hit at the call that made it a run of failures: its place stays while the run goes on."""
    for turns in facts.once(failure_runs):
        at = turns[RUN_OF_FAILURES - 1]
        hit = made_hit(facts, at, f"{_tool(at)} fails {times(len(turns))} in a row.")
        yield replace(hit, severity=_severity(facts, ctx, turns))


def _repeated_read(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    for turns in facts.once(failure_runs):
        text = f"By now {_tool(turns[-1])} has failed {times(len(turns))} in a row."
        for hit in read_hit(facts, turns[-1], text):
            yield replace(hit, severity=_severity(facts, ctx, turns))


def _surveyed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A survey of facts or a plan that first reads the end of a run of failures."""
    for turns in facts.once(failure_runs):
        last = turns[-1]
        reader = facts.turns[last.read.position] if last.read else None
        if last.read is not None and reader is not None and reader.turn.kind in SURVEYS and reader.span_id:
            text = f"Takes stock after {_tool(last)} has failed {times(len(turns))} in a row."
            yield Hit(reader.span_id, quote(last.read.text, last.read.offset), text, linked=(last.span_id,))


def _repeated_at_tool(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    """Wrong arguments: one hit for the run, at its second call. Any other failure: each call from the second on."""
    for turns in facts.once(failure_runs):
        for number, turn in enumerate(turns[1:], start=2):
            call = turn.failed_call
            wrong_arguments = turn.failure is not None and turn.failure.kind is FailureKind.SCHEMA
            if call is not None and call.span is not None and (number == RUN_OF_FAILURES or not wrong_arguments):
                evidence = tool_evidence(call.span, call, call.error or call.result or "")
                text = f"This is the {ordinal(number)} failed call of {call.name} in a row."
                severity = _severity(facts, ctx, turns)
                yield Hit(call.span.span_id, evidence, text, tool_span_id=call.span.span_id, severity=severity)


RULES: Final = (
    rule(
        "repeated-failure",
        "Resource Abuse",
        "EE TC",
        "MEDIUM",
        _repeated,
        version=2,
        of_failure=True,
        title="Failing tool called again and again",
        scope="run",
    ),
    rule(
        "repeated-failure-read",
        "Resource Abuse",
        "EE TC",
        "MEDIUM",
        _repeated_read,
        version=4,
        of_failure=True,
        title="Failing tool called again and again",
        scope="run",
    ),
    rule(
        "repeated-failure-surveyed",
        "Formatting Errors",
        "EE TC",
        "LOW",
        _surveyed,
        of_failure=True,
        title="Failing tool called again and again",
        scope="run",
    ),
    rule(
        "repeated-failure-at-tool",
        "Resource Abuse",
        "EE TC",
        "MEDIUM",
        _repeated_at_tool,
        version=2,
        of_failure=True,
        title="Failing tool called again and again",
        scope="run",
    ),
)
