"""Runs that ended without finishing: by an exception, a limit, a time-out, a cancellation, or an empty answer.

What ended is known by structure (judges/endings.py), and the message only names the kind. HIGH where the answer is
missing through it; MEDIUM where a run above went on, so that it cost a step; LOW where it was cancelled: whoever did
that wanted no answer, and it is no mistake of the agent.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.endings import Ending, EndKind
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.failure_text import FailureKind
from tracejury.judges.quoting import quote
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import AgentRun, TurnKind

from .completion import is_cut
from .failures import step_that_ended

_KINDS: Final[tuple[tuple[str, EndKind, str, str, str], ...]] = (
    # rule, kind, category, how, title
    ("run-limit", EndKind.LIMIT, "Resource Exhaustion", "at a limit", "Run ended at a limit"),
    ("run-timeout", EndKind.TIMEOUT, "Timeout Issues", "because it took too long", "Run timed out"),
    ("run-cancelled", EndKind.CANCELLED, "Task Orchestration", "because it was cancelled", "Run cancelled"),
    ("run-crashed", EndKind.CRASH, "Service Errors", "by an exception that nothing handled", "Run crashed"),
)


def _ended(facts: RunFacts, ctx: Context, *, kind: EndKind, how: str) -> Iterator[Hit]:
    ending = ctx.endings.get(facts.run.id)
    if ending is None or ending.relayed or ending.kind is not kind or _only_tools(facts.run):
        return
    cause = ending.cause_id or step_that_ended(facts, ctx) or _broke_off(facts, ending)
    yield Hit(
        ending.span.span_id,
        quote(ending.message),
        f"The run ended {how}{', without an answer' if not facts.run.answer else ''}.",
        tool_span_id=cause,
        confidence=_BESIDE if cause else None,
        severity=_severity(ending),
        turn=ending.turn.index if ending.turn is not None else None,
    )


def _only_tools(run: AgentRun) -> bool:
    """Whether nothing but tools was called, by nobody who is known (a server of tools): such a call ends no run."""
    return run.inferred and all(turn.llm is None for turn in run.turns)


def _severity(ending: Ending) -> Severity:
    if ending.kind is EndKind.CANCELLED:
        return Severity.LOW
    return Severity.HIGH if ending.fatal else Severity.MEDIUM


def _broke_off(facts: RunFacts, ending: Ending) -> str:
    """Where the run broke off, "" where nobody knows.

    Span of a reply that was cut at the limit of tokens; or of a call of no tool, or with arguments that are no JSON.
    """
    last = next((turn for turn in facts.turns if turn.turn is ending.turn), None)
    if last is None or ending.kind is EndKind.TIMEOUT:
        return ""
    if ending.kind is EndKind.LIMIT:
        return last.span_id if is_cut(last) else ""
    call = next((c for c in last.calls if c.refusal in (FailureKind.UNKNOWN_TOOL, FailureKind.MALFORMED)), None)
    return "" if call is None else call.call.span.span_id if call.call.span else last.span_id


_BESIDE: Final = 0.4
"""Confidence where a call is known that took the run with it: the finding at the step that made that call leads."""


def _empty(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    """The model's last reply holds neither text nor a call, in a run whose other content was recorded."""
    last = next((turn for turn in reversed(facts.turns) if turn.turn.kind is not TurnKind.INNER), None)
    if last is None or last.turn.llm is None or _gave(facts.run, last) or facts.run.id in ctx.endings:
        return
    llm = last.turn.llm
    said = any(m.text or m.tool_requests or m.reasoning for m in llm.output_messages)
    said = said or bool(llm.output_text and not llm.output_messages)
    if said or last.calls or last.turn.sub_run_ids or llm.is_error or not (llm.output_messages or llm.finish_reasons):
        return
    # Where nothing that a model wrote was recorded, an empty reply is a gap of the record; an empty message is none.
    wrote = bool(llm.output_messages) or any(t.text or t.turn.tool_requests for t in facts.turns)
    if wrote and any(m.text for m in (*llm.input_messages, *last.turn.new_messages)):
        severity = Severity.MEDIUM if facts.run.parent_id else Severity.HIGH
        yield Hit(last.span_id, "", "The run ended with an empty reply, so there is no answer.", severity=severity)


def _gave(run: AgentRun, last: TurnFacts) -> bool:
    """Whether the run gave an answer besides its last reply; some give all their messages, the last the answer."""
    given = run.span.output_messages if run.span is not None else ()
    return bool(given[-1].text) if given else run.answer not in ("", last.turn.text)


RULES: Final = (
    *(
        rule(
            name, category, "EE GF", "HIGH", partial(_ended, kind=kind, how=how), confidence=0.6, version=5, title=title
        )
        for name, kind, category, how, title in _KINDS
    ),
    rule(
        "empty-answer",
        "Goal Deviation",
        "GF",
        "HIGH",
        _empty,
        confidence=0.5,
        version=3,
        of_absence=True,
        title="Empty answer",
    ),
)
