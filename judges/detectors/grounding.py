"""Turns whose content nothing supports: the state machine *access attempted, succeeded or failed, content produced*.

An ungrounded turn acts without running any tool, after the last attempt to access data, while no access has
succeeded although the plan or the survey of facts asks for look-ups. Several rules name different faults of the
same turn. Source of the families: TRAIL's error types and "What is your agent's GPA?" (dimensions).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

from ...schemas.taxonomy import Dimension, Severity
from ..base import Context
from ..claims import needs_no_support
from ..facts import RunFacts, TurnFacts, opens_with_plan
from ..quoting import quote
from ..rule import Hit, RunRule
from ..wording import ASSUMPTION, RECALL, SIMULATION, VERIFICATION, first_of
from .intent import announces_without_calling


def ungrounded(facts: RunFacts) -> Iterator[tuple[TurnFacts, bool]]:
    """Ungrounded turns, each with whether an access had failed before; at most one after each attempt."""
    attempted = succeeded = False
    armed = True
    acts = facts.acts
    for turn in acts:
        if turn.attempted:
            attempted = armed = True
            succeeded = succeeded or turn.succeeded
            continue
        # What a run says last is its answer, however it is worded.
        announces = turn is not acts[-1] and announces_without_calling(facts, turn)
        if succeeded or not armed or announces:
            continue
        plans = turn is not acts[-1] and not turn.answers and opens_with_plan(turn.low)
        if (attempted or facts.wants_data[turn.position]) and not plans and not needs_no_support(facts, turn):
            armed = False
            yield turn, attempted


def _opening(turn: TurnFacts) -> str:
    return quote(turn.said.lstrip(), 0)


def _deviates(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, _failed in ungrounded(facts):
        yield Hit(
            turn.span_id,
            _opening(turn),
            "No look-up has brought any data so far, so nothing observed supports what this turn says.",
        )


def _no_call(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, failed in ungrounded(facts):
        if not failed and facts.tools:
            tools = ", ".join(facts.tools[:4])
            yield Hit(
                turn.span_id,
                _opening(turn),
                f"The plan asks for a look-up, yet none of the available tools ({tools}) has been called by this turn.",
            )


def _only_failed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, failed in ungrounded(facts):
        if failed:
            yield Hit(
                turn.span_id,
                _opening(turn),
                "Every look-up so far has failed; this turn goes on as if one had succeeded.",
            )


def _worded(facts: RunFacts, _: Context, *, needles: tuple[str, ...], what: str) -> Iterator[Hit]:
    for turn, _failed in ungrounded(facts):
        at = first_of(turn.low, needles)
        if at >= 0:
            yield Hit(
                turn.span_id, _at(turn, at), f"{what} in place of observed data: no look-up has succeeded so far."
            )


def _claims_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, _failed in ungrounded(facts):
        named = facts.named_tools(turn.low)
        if named:
            at = turn.low.find(named[0].lower())
            yield Hit(
                turn.span_id, _at(turn, at), f"Relies on {named[0]}, which has returned nothing so far in this run."
            )


def _plan_without_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, failed in ungrounded(facts):
        plan = facts.plan_before(turn.position)
        if not failed and plan is not None and facts.tools and not facts.named_tools(plan.low):
            yield Hit(
                turn.span_id,
                _opening(turn),
                "Follows a plan that names none of the available tools, and answers without having called one.",
                also_at=(plan.span_id,),
            )


def _at(turn: TurnFacts, offset: int) -> str:
    """A quote around an offset of the lower-cased text; lower-casing may shift offsets, so it is looked up again."""
    text = turn.said
    return quote(text, min(offset, len(text) - 1))


_WORDED: Final = (
    ("assumption", ASSUMPTION, "Assumed or estimated values"),
    ("simulation", SIMULATION, "Simulated data"),
    ("recall", RECALL, "Recalled knowledge"),
    ("claimed-verification", VERIFICATION, "A verification is claimed"),
)


def _wording_rules() -> Iterable[RunRule]:
    for name, needles, what in _WORDED:
        yield RunRule(
            name=f"ungrounded-{name}",
            category="Language-only",
            dimensions=(Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_SELECTION),
            severity=Severity.HIGH,
            find=partial(_worded, needles=needles, what=what),
            of_absence=True,
        )


RULES: Final = (
    RunRule(
        name="ungrounded-turn",
        category="Goal Deviation",
        dimensions=(Dimension.PLAN_ADHERENCE, Dimension.TOOL_SELECTION, Dimension.LOGICAL_CONSISTENCY),
        severity=Severity.HIGH,
        find=_deviates,
        of_absence=True,
    ),
    RunRule(
        name="ungrounded-no-call",
        category="Tool Selection Errors",
        dimensions=(Dimension.TOOL_SELECTION, Dimension.PLAN_ADHERENCE),
        severity=Severity.HIGH,
        find=_no_call,
        of_absence=True,
    ),
    RunRule(
        name="ungrounded-after-failure",
        category="Tool Output Misinterpretation",
        dimensions=(Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_CALLING),
        severity=Severity.HIGH,
        find=_only_failed,
        of_absence=True,
    ),
    RunRule(
        name="ungrounded-tool-claim",
        category="Tool-related",
        dimensions=(Dimension.LOGICAL_CONSISTENCY, Dimension.TOOL_CALLING),
        severity=Severity.HIGH,
        find=_claims_tool,
        of_absence=True,
    ),
    RunRule(
        name="ungrounded-plan",
        category="Task Orchestration",
        dimensions=(Dimension.PLAN_QUALITY, Dimension.PLAN_ADHERENCE, Dimension.TOOL_SELECTION),
        severity=Severity.MEDIUM,
        find=_plan_without_tool,
        of_absence=True,
    ),
    *_wording_rules(),
)
