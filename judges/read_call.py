"""How a call is read.

docs/detectors.md, "What they look for": "the purpose of each call (it accesses data, only computes, or hands over the
answer), how it failed"; "Code that was run" says when a result tells of a failed program.
"""

from __future__ import annotations

from dataclasses import replace

from tracejury.schemas.trajectory import AgentRun, ToolCall, Turn

from .commands import edits, end_of, failed, runs_code, unapplied
from .exit_status import Ended
from .facts import CallFacts
from .failed_steps import failed_steps
from .failure_text import FailureKind, StepFailure, classify, error_page, failure_kind, reported_failure
from .names import code_argument, role_of
from .refusals import declined, refusal_of


def read_call(call: ToolCall, turn: Turn, run: AgentRun) -> CallFacts:
    """One call of a turn of the run, read."""
    failure = None
    # What a sub-agent's answer tells of went wrong inside its run.
    end = end_of(call.name, call.arguments, call.result) if call.result and not call.sub_run_id else None
    if call.error is not None:
        failure = StepFailure(failure_kind(call.error, call.span), call.error)
    elif call.result:
        failure = _failure_of(call, call.result, end) or declined(call.name, call.result)
    told = failure
    if failure is None and call.result is None and call.executed is not True:
        told = step_failure(turn)  # the step in which the call was to be made
    refusal = refusal_of(call, told, turn, run)
    if refusal is FailureKind.POLICY and told is not failure:
        refusal = None
    if told is not None and refusal is not None:
        failure = replace(told, kind=refusal)
    return CallFacts(call, role_of(call.name), failure, refusal, end, run.tools)


def _failure_of(call: ToolCall, result: str, end: Ended | None) -> StepFailure | None:
    """The failure that a result tells of: how the program ended that the call ran, else what the result says."""
    if end is None and edits(call.name, call.arguments) and unapplied(result):
        return StepFailure(FailureKind.EXIT, result)
    if end is None:
        return reported_failure(result) or error_page(result)
    if not failed(code_argument(call.arguments), end):
        return None
    return StepFailure(
        FailureKind.EXIT if end.framed or runs_code(call.name, call.arguments) else classify(result), result
    )


def step_failure(turn: Turn) -> StepFailure | None:
    """The failure of the step around a turn's calls, None where no such step tells of one."""
    for span in failed_steps(turn):
        text = span.exceptions[-1].message if span.exceptions else span.raw.status_message
        if text:
            return StepFailure(failure_kind(text, span), text)
    return None
