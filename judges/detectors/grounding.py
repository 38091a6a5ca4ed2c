"""Turns whose content nothing supports: the state machine *access attempted, succeeded or failed, content produced*.

An ungrounded turn acts without running any tool, after the last attempt to access data, while no access has
succeeded although the plan or the survey of facts asks for look-ups. What was observed belongs to the conversation: a
result in the run's own input is a success, unless the run's own look-ups all failed and it states a number that stands
in nothing it was sent. Reading differs from writing: a refused change is no failed look-up, and what follows it speaks
of the change. A failed call of a tool whose name has no verb (`freight_price`) is a look-up where a number follows that
nothing holds. A turn without text produces nothing that could lack support.

Several rules name different faults of the same turn. Source of the families: TRAIL's error types and "What is your
agent's GPA?" (dimensions).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.claims import needs_no_support, states_unseen_number
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.names import Role, reads
from tracejury.judges.quoting import quote
from tracejury.judges.read_runs import opens_with_plan
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import ASSUMPTION, RECALL, SIMULATION, VERIFICATION, first_of

from .intent import announces_without_calling


def ungrounded(facts: RunFacts) -> Iterator[tuple[TurnFacts, bool]]:
    """Ungrounded turns, each with whether an access had failed before; at most one after each attempt."""
    attempted = succeeded = unsure = False
    armed = True
    acts = facts.acts
    for turn in acts:
        if turn.attempted:
            unsure = not turn.looked_up and _may_read(turn)
            armed = turn.looked_up
            attempted = attempted or turn.looked_up
            succeeded = succeeded or turn.succeeded
            continue
        if unsure and not succeeded and states_unseen_number(facts, turn):
            attempted = armed = True  # it goes on as if that call had been a look-up that brought a number
        # What a run says last is its answer, however it is worded.
        announces = turn is not acts[-1] and announces_without_calling(facts, turn)
        if succeeded or not armed or announces or not turn.text.strip():
            continue
        plans = turn is not acts[-1] and not turn.answers and opens_with_plan(turn.low)
        known = facts.informed and not (attempted and states_unseen_number(facts, turn))
        wanted = attempted or facts.wants_data[turn.position]
        if wanted and not known and not plans and not needs_no_support(facts, turn):
            armed = False
            yield turn, attempted


def _may_read(turn: TurnFacts) -> bool:
    """Whether a turn's calls failed, all of tools whose names have no verb: such may be named after their data."""
    tried = [call for call in turn.calls if call.role is Role.ACCESS]
    return bool(tried) and all(call.failure is not None and reads(call.call.name) is None for call in tried)


def _opening(turn: TurnFacts) -> str:
    return quote(turn.text.lstrip(), 0)


def _deviates(facts: RunFacts, _: Context) -> Iterator[Hit]:
    text = "No look-up has brought any data so far, so nothing observed supports what this turn says."
    return (Hit(turn.span_id, _opening(turn), text) for turn, _failed in facts.once(ungrounded))


def _no_call(facts: RunFacts, _: Context) -> Iterator[Hit]:
    tools = ", ".join(facts.tools[:4])
    text = f"The plan asks for a look-up, yet none of the available tools ({tools}) has been called by this turn."
    return (Hit(turn.span_id, _opening(turn), text) for turn, failed in facts.once(ungrounded) if not failed and tools)


def _only_failed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    text = "Every look-up so far has failed; this turn goes on as if one had succeeded."
    return (Hit(turn.span_id, _opening(turn), text) for turn, failed in facts.once(ungrounded) if failed)


def _worded(facts: RunFacts, _: Context, *, needles: tuple[str, ...], what: str) -> Iterator[Hit]:
    text = f"{what} in place of observed data: no look-up has succeeded so far."
    for turn, _failed in facts.once(ungrounded):
        at = first_of(turn.low, needles)
        if at >= 0:
            yield Hit(turn.span_id, quote(turn.text, at), text)


def _claims_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turn, _failed in facts.once(ungrounded):
        for name in facts.named_tools(turn.low)[:1]:
            text = f"Relies on {name}, which has returned nothing so far in this run."
            yield Hit(turn.span_id, quote(turn.text, turn.low.find(name.lower())), text)


def _plan_without_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    text = "Follows a plan that names none of the available tools, and answers without having called one."
    for turn, failed in facts.once(ungrounded):
        plan = facts.plan_before(turn.position)
        if not failed and plan is not None and facts.tools and not facts.named_tools(plan.low):
            yield Hit(turn.span_id, _opening(turn), text)


_WORDED: Final = (
    ("assumption", ASSUMPTION, "Assumed or estimated values", "Assumed values instead of data"),
    ("simulation", SIMULATION, "Simulated data", "Simulated data instead of observed"),
    ("recall", RECALL, "Recalled knowledge", "Recalled knowledge instead of a look-up"),
    ("claimed-verification", VERIFICATION, "A verification is claimed", "Verification claimed that did not happen"),
)

RULES: Final = (
    rule(
        "ungrounded-turn",
        "Goal Deviation",
        "PA TS LC",
        "HIGH",
        _deviates,
        of_absence=True,
        version=6,
        title="Claim made without a look-up",
    ),
    rule(
        "ungrounded-no-call",
        "Tool Selection Errors",
        "TS PA",
        "HIGH",
        _no_call,
        of_absence=True,
        version=6,
        title="Answered without calling a tool",
    ),
    rule(
        "ungrounded-after-failure",
        "Tool Output Misinterpretation",
        "LC TC",
        "HIGH",
        _only_failed,
        of_absence=True,
        version=6,
        title="Answer invented after a failed look-up",
    ),
    rule(
        "ungrounded-tool-claim",
        "Tool-related",
        "LC TC",
        "HIGH",
        _claims_tool,
        of_absence=True,
        version=6,
        title="Tool use claimed that no call made",
    ),
    rule(
        "ungrounded-plan",
        "Task Orchestration",
        "PQ PA TS",
        "MEDIUM",
        _plan_without_tool,
        of_absence=True,
        version=7,
        title="Plan without the tool that it needs",
    ),
    *(
        rule(
            f"ungrounded-{name}",
            "Language-only",
            "LC TS",
            "HIGH",
            partial(_worded, needles=n, what=w),
            of_absence=True,
            version=6,
            title=t,
        )
        for name, n, w, t in _WORDED
    ),
)
