"""How a turn is read: its failure, and whether data access was attempted and succeeded in it.

docs/detectors.md, "What they look for": "*access to data attempted → succeeded or failed → content produced*". A
refused change is no failed look-up, and giving the word back to the agent above is no look-up either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tracejury.schemas.text.code_blocks import code_of
from tracejury.schemas.trajectory import AgentRun, Turn, TurnKind

from .commands import reaches_out
from .facts import CallFacts, RunSurroundings, TurnFacts
from .failure_text import FailureKind, gives_up
from .names import Role, hands_back, reads, text_of
from .read_call import read_call, step_failure
from .text import lowered
from .wording import holds_any


def read_turn(
    turn: Turn,
    position: int,
    run: AgentRun,
    surroundings: RunSurroundings,
    tools: Sequence[str],
    enders: tuple[str, ...],
) -> TurnFacts:
    """One turn of the run, read, but not where its failure was read.

    `tools`: see `RunFacts`; `enders`: how code writes a call that hands over the answer.
    """
    calls = tuple(read_call(call, turn, run) for call in turn.tool_calls)
    worst = next((c for c in calls if c.failure and not c.failure.page and c.role is not Role.FINAL), None)
    failure = worst.failure if worst else step_failure(turn)
    text = _text(turn, calls)
    code = code_of(text) if turn.wrappers or turn.observation else ""
    # A step raised nothing where the model's reply holds neither code nor a call: it could not be read.
    replied = turn.llm is not None and not turn.llm.is_error
    acted = code or turn.tool_calls or turn.tool_requests or turn.sub_run_ids
    if failure is not None and failure.kind is FailureKind.OTHER and replied and not acted:
        failure = replace(failure, kind=FailureKind.PARSE)
    ids = started_ids(turn)
    subs = [surroundings.started[i] for i in ids if i in surroundings.started] if ids else []
    refusals = [line for sub in subs if (line := gives_up(sub.answer))]
    # A delegation is judged by what the agent answered, below.
    tried = [c for c in calls if c.role is Role.ACCESS and c.ran is not False and not c.call.sub_run_id]
    accesses = [c for c in tried if not hands_back(c.call.name, c.call.arguments, surroundings.above)]
    worked = any(c.failure is None and (c.call.result is not None or failure is None) for c in accesses)
    low = lowered(text)
    answers = any(c.role is Role.FINAL for c in calls) or holds_any(low, enders)
    # What code reads in the step that answers, nobody has looked at before answering.
    stopped = failure is not None and failure.kind is not FailureKind.PARSE
    # In a run without tools to access data with, code is how it does.
    ran = bool(code) and (not tools or (reaches_out(code) and not answers))
    return TurnFacts(
        turn=turn,
        position=position,
        text=text,
        low=low,
        calls=calls,
        failure=failure,
        failed_call=worst.call if worst else None,
        gave_up=refusals[0] if refusals else "",
        attempted=bool(accesses or subs) or ran or stopped,
        looked_up=bool(subs) or ran or (stopped and not worst) or any(reads(c.call.name) for c in accesses),
        succeeded=worked or len(subs) > len(refusals) or (ran and failure is None),
        answers=answers,
        acting=turn.kind is TurnKind.ACT and turn.llm is not None,
        started=tuple(sorted(subs)),
        code=code,
    )


def started_ids(turn: Turn) -> tuple[str, ...]:
    """Ids of the runs that a turn started, by calls that are shown as such or in another way."""
    called = [c.sub_run_id for c in turn.tool_calls if c.sub_run_id]
    return tuple(dict.fromkeys([*turn.sub_run_ids, *called])) if called else turn.sub_run_ids


def _text(turn: Turn, calls: tuple[CallFacts, ...]) -> str:
    """The text of a turn; of a call without message text, which is recorded as JSON, the answer it hands over."""
    messages = turn.llm.output_messages if turn.llm else ()
    if any(m.text for m in messages):
        return turn.text
    return next((text for c in calls if c.role is Role.FINAL and (text := text_of(c.call.arguments))), turn.text)
