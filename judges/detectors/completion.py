"""Runs that end too early, at a limit, or on a failure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.claims import answer_text, gives_up_honestly
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.failure_text import OUTAGES, FailureKind
from tracejury.judges.names import reads
from tracejury.judges.phrases import count
from tracejury.judges.quoting import quote, quote_call
from tracejury.judges.rule import Hit, rule
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.trajectory import TurnKind

FEW_ACTS: Final = 2
"""Acting turns, the answering one included, that are few ..."""

MANY_STEPS: Final = 5
"""... for a plan of at least so many steps."""

_STEP: Final = re.compile(r"^\s{0,8}(?:step\s{1,3})?\d{1,2}[.):]", re.IGNORECASE | re.MULTILINE)
_PLAN_READ: Final = 6000


def plan_steps(text: str) -> int:
    """Numbered steps of a plan's text."""
    return len(_STEP.findall(text[:_PLAN_READ]))


def _answering(facts: RunFacts) -> TurnFacts | None:
    """The turn that answers; None without one, or where it reports an outage that keeps it from going on."""
    acts = facts.acts
    if not acts or not facts.settled or (acts[-1].attempted and not acts[-1].answers):
        return None
    out = any(t.failure is not None and t.failure.kind in OUTAGES for t in acts[-2:-1])
    return None if out and gives_up_honestly(facts, acts[-1]) else acts[-1]


def answer_quote(turn: TurnFacts) -> str:
    """A quote of the answer that a turn hands over, where the model wrote it out, else of what it wrote."""
    answer = quote(answer_text(turn).strip())
    if answer in turn.text and 0 < len(answer) < _BARE:
        return quote(turn.text, turn.text.rfind(answer))
    asked = any(r.arguments for r in turn.turn.tool_requests)
    return answer if answer and (asked or answer in turn.text) else quote(turn.text.strip())


_BARE: Final = 20
"""Characters below which an answer alone tells a reader little."""


def _answers_plan(facts: RunFacts) -> Iterator[tuple[TurnFacts, TurnFacts, list[TurnFacts], int]]:
    """A sub-agent's answering turn, the plan in force, the acting turns since, and the plan's number of steps."""
    last = _answering(facts) if facts.run.role == "sub-agent" else None
    plan = facts.plan_before(last.position) if last else None
    if last is not None and plan is not None:
        yield last, plan, [t for t in facts.acts if t.position > plan.position], plan_steps(plan.text)


def _early(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for last, _plan, acts, steps in facts.once(_answers_plan):
        if any(t.attempted for t in acts) and len(acts) <= FEW_ACTS and steps >= MANY_STEPS:
            text = f"Answers after {count(len(acts) - 1, 'acting turn')}, although its plan has {steps} steps."
            yield Hit(last.span_id, answer_quote(last), text)


def _mid_plan(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A sub-agent answers soon after planning anew, most of that plan undone."""
    for last, plan, acts, steps in facts.once(_answers_plan):
        if plan.position >= _FIRST_PLAN and steps >= MANY_STEPS and len(acts) - 1 <= steps // 2:
            text = f"Answers after {count(len(acts) - 1, 'acting turn')}, although its latest plan has {steps} steps."
            yield Hit(last.span_id, answer_quote(last), text)


_FIRST_PLAN: Final = 3


def _step_limit(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A closing call words the answer after the last step, or the last step is a call after which nothing is said."""
    limit = facts.run.max_steps
    if limit is None or not facts.settled or len(facts.acts) < limit:
        return
    severity = Severity.MEDIUM if facts.run.parent_id else Severity.HIGH
    text = f"Used all of its {count(limit, 'step')} before it had an answer."
    closing = _closing(facts, limit)
    if closing is not None:
        yield Hit(closing.span_id, quote(closing.text.strip()), text, severity=severity)
    elif len(facts.acts) == limit and not facts.run.answer:
        last = facts.acts[-1]
        if last.calls and not last.answers and not _hands_over(last):
            yield Hit(last.span_id, quote_call(last.turn, last.calls[-1].call), text, severity=severity)


def _hands_over(turn: TurnFacts) -> bool:
    """Whether an agent that the turn started speaks on: what it answered did not come back as the call's result."""
    told = [call.call.result or "" for call in turn.calls]
    answers = [run.answer for run in turn.started if run.id in turn.turn.sub_run_ids]
    return any(not answer or not any(answer in result for result in told) for answer in answers)


def _closing(facts: RunFacts, limit: int) -> TurnFacts | None:
    """The call after all steps that only words an answer: asked to, or given none of the tools that the steps had."""
    armed = any(turn.turn.llm is not None and turn.turn.llm.tools for turn in facts.acts[:limit])
    used = 0
    for turn in facts.turns:
        bare = armed and turn.acting and turn is facts.acts[-1] and not (_tools(turn) or turn.calls or turn.code)
        if used >= limit and turn.turn.llm is not None and (turn.turn.kind is TurnKind.ANSWER or bare):
            return turn
        used += turn.acting
    return None


def _tools(turn: TurnFacts) -> bool:
    return turn.turn.llm is not None and bool(turn.turn.llm.tools)


def _output_limit(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn in facts.turns:
        if is_cut(turn):
            text = "The output reached its limit of length and was cut off."
            yield Hit(turn.span_id, quote(turn.text.strip()[-_TAIL:]), text, tool_span_id=turn.span_id)


def is_cut(turn: TurnFacts) -> bool:
    """Whether the model's output reached the limit of tokens, as the reason why it stopped or its usage tells."""
    llm = turn.turn.llm
    if llm is None:
        return False
    full = llm.max_tokens is not None and llm.output_tokens is not None and llm.output_tokens >= llm.max_tokens
    return full or any(_CUT.search(reason.lower()) for reason in llm.finish_reasons)


_CUT: Final = re.compile(r"(?:^|[._])(?:(?:model_)?length|max_(?:output_|completion_)?tokens|max_length|incomplete)$")
"""A finish reason that tells of the limit, in each API's words; Google's enumerations have a name before it."""

_TAIL: Final = 160


def _after_failure(facts: RunFacts, _: Context) -> Iterator[Hit]:
    acts = facts.acts
    if len(acts) >= _TWO and acts[-1].answers and not acts[-1].attempted:
        before = acts[-2]
        # A reply that could not be read was no attempt at data: what follows says it again.
        if before.failure is not None and before.failure.kind is FailureKind.PARSE:
            return
        # A refused change brings no data that the answer could lack.
        if before.failed_call is not None and reads(before.failed_call.name) is False:
            return
        if (before.failure is not None or before.gave_up) and not gives_up_honestly(facts, acts[-1]):
            text = "Answers right after a failed step, without having obtained what that step was for."
            yield Hit(acts[-1].span_id, answer_quote(acts[-1]), text)


_TWO: Final = 2

RULES: Final = (
    rule(
        "early-finish",
        "Goal Deviation",
        "PA",
        "MEDIUM",
        _early,
        of_absence=True,
        version=3,
        title="Answer before the plan was carried out",
        scope="run",
    ),
    rule(
        "unfinished-plan",
        "Goal Deviation",
        "PA",
        "LOW",
        _mid_plan,
        of_absence=True,
        version=3,
        title="Plan left unfinished",
        scope="run",
    ),
    rule(
        "step-limit",
        "Task Orchestration",
        "EE GF",
        "HIGH",
        _step_limit,
        version=4,
        of_absence=True,
        title="Ended at the step limit",
        scope="trace",
    ),
    rule(
        "output-limit",
        "Resource Exhaustion",
        "EE",
        "MEDIUM",
        _output_limit,
        version=4,
        title="Output cut at the token limit",
        scope="turn",
    ),
    rule(
        "answer-after-failure",
        "Tool Output Misinterpretation",
        "LC",
        "MEDIUM",
        _after_failure,
        version=3,
        of_absence=True,
        of_failure=True,
        title="Answer given right after a failure",
    ),
)
