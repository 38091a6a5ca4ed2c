"""Doing again what has just failed or brought nothing new."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Final

from ...schemas.normalized import Json
from ...schemas.taxonomy import Dimension, Severity
from ...schemas.trajectory import TurnKind
from ..base import Context
from ..evidence import quote, quote_call
from ..facts import CallFacts, Role, RunFacts, TurnFacts
from ..rule import Hit, RunRule
from ..text import FailureKind
from .failures import SURVEYS, made_hit, read_hit

RUN_OF_FAILURES: Final = 2
"""Failures of one tool in a row that make a run of failures."""

CHURNED: Final = 2
"""Similar free-text queries under one plan that count as churning."""

ALIKE: Final = 0.3
"""Share of words that two queries have in common (Jaccard) from which they are alike."""

SAME_PLAN: Final = 0.9
"""Similarity of two plans' texts (ratio of matching blocks) from which the new one is the old one."""

_PLAN_READ: Final = 4000


def failure_runs(facts: RunFacts) -> Iterator[list[TurnFacts]]:
    """Maximal runs of at least RUN_OF_FAILURES acting turns in which the same tool fails each time."""
    current: list[TurnFacts] = []
    for turn in [*facts.acts, None]:
        tool = turn.failed_call.name if turn is not None and turn.failed_call else None
        if current and (turn is None or tool is None or tool != _tool(current[-1])):
            if len(current) >= RUN_OF_FAILURES:
                yield current
            current = []
        if turn is not None and tool is not None:
            current.append(turn)


def _tool(turn: TurnFacts) -> str:
    return turn.failed_call.name if turn.failed_call else ""


def _repeated(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turns in failure_runs(facts):
        for turn in turns[-1:]:
            text = f"{_tool(turn)} fails for the {len(turns)}th time in a row."
            yield made_hit(facts, turn, text)


def _repeated_read(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for turns in failure_runs(facts):
        hit = read_hit(facts, turns[-1], f"{_tool(turns[-1])} has failed {len(turns)} times in a row.")
        if hit is not None:
            yield hit


def _surveyed(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A survey of facts or a plan that first reads the end of a run of failures."""
    for turns in failure_runs(facts):
        last = turns[-1]
        reader = facts.turns[last.read.position] if last.read else None
        if last.read is not None and reader is not None and reader.turn.kind in SURVEYS and reader.span_id:
            text = f"Takes stock after {_tool(last)} has failed {len(turns)} times in a row."
            yield Hit(reader.span_id, quote(last.read.text, last.read.offset), text, linked=(last.span_id,))


def _repeated_at_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """Wrong arguments: the last of the run stands for all. Any other failure: each call from the second on."""
    for turns in failure_runs(facts):
        for times, turn in enumerate(turns[1:], start=2):
            call = turn.failed_call
            wrong_arguments = turn.failure is not None and turn.failure.kind is FailureKind.SCHEMA
            if call is not None and call.span is not None and (turn is turns[-1] or not wrong_arguments):
                evidence = quote((call.error or call.result or "").strip()) or call.span.raw.name
                text = f"{call.name} fails for the {times}th time in a row."
                yield Hit(call.span.span_id, evidence, text, call.span.span_id)


def free_text(arguments: Json) -> str:
    """The one long free text among a call's arguments ("" where there is none): a query, not an address or a path."""
    values = list(arguments.values()) if isinstance(arguments, Mapping) else [arguments]
    texts = [v for v in values if isinstance(v, str) and v.count(" ") >= _LEAST_SPACES and "://" not in v]
    return max(texts, key=len, default="")


_LEAST_SPACES: Final = 2


def alike(one: str, other: str) -> bool:
    """Whether two queries share at least ALIKE of their words."""
    a, b = set(one.lower().split()), set(other.lower().split())
    return bool(a and b) and len(a & b) / len(a | b) >= ALIKE


def _churn_runs(facts: RunFacts) -> Iterator[list[tuple[TurnFacts, CallFacts]]]:
    """Queries of one tool under one plan, each like an earlier one of them."""
    for plan_acts in _by_plan(facts):
        groups: dict[str, list[tuple[TurnFacts, CallFacts]]] = {}
        for turn in plan_acts:
            for call in turn.calls:
                if call.role is not Role.ACCESS or call.call.executed is False or not _query(call):
                    continue
                group = groups.setdefault(call.call.name, [])
                if not group or any(alike(_query(call), _query(c)) for _, c in group[-_LOOK_BACK:]):
                    group.append((turn, call))
        yield from (g for g in groups.values() if len(g) >= CHURNED)


_LOOK_BACK: Final = 4


def _by_plan(facts: RunFacts) -> Iterator[list[TurnFacts]]:
    acts: list[TurnFacts] = []
    for turn in facts.turns:
        if turn.turn.kind is TurnKind.PLAN:
            yield acts
            acts = []
        elif turn.acting:
            acts.append(turn)
    yield acts


def _query(call: CallFacts) -> str:
    return free_text(call.call.arguments)


def _churn(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for run in _churn_runs(facts):
        turn, call = run[-1]
        text = f"{call.call.name} is asked nearly the same {len(run)} times."
        yield Hit(turn.span_id, quote_call(turn.turn, call.call), text)


def _churn_at_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for run in _churn_runs(facts):
        _turn, call = run[-1]
        if call.call.span is not None:
            text = f"{call.call.name} is asked nearly the same {len(run)} times."
            yield Hit(call.call.span.span_id, call.call.span.raw.name, text, call.call.span.span_id)


def _same_plan(facts: RunFacts, _: Context) -> Iterator[Hit]:
    plans = [t for t in facts.turns if t.turn.kind is TurnKind.PLAN and t.low]
    for old, new in pairwise(plans):
        a, b = old.low[:_PLAN_READ], new.low[:_PLAN_READ]
        if _nearly_same(a, b):
            yield Hit(new.span_id, quote(new.turn.text.lstrip()), "The new plan is the old one again.", also_at=())


def _nearly_same(a: str, b: str) -> bool:
    if min(len(a), len(b)) < SAME_PLAN * max(len(a), len(b)):
        return False
    matcher = SequenceMatcher(None, a.split(), b.split(), autojunk=False)
    return matcher.quick_ratio() >= SAME_PLAN and matcher.ratio() >= SAME_PLAN


_EE = (Dimension.EXECUTION_EFFICIENCY, Dimension.TOOL_CALLING)

RULES: Final = (
    RunRule(
        name="repeated-failure",
        category="Resource Abuse",
        dimensions=_EE,
        severity=Severity.MEDIUM,
        find=_repeated,
    ),
    RunRule(
        name="repeated-failure-read",
        category="Resource Abuse",
        dimensions=_EE,
        severity=Severity.MEDIUM,
        find=_repeated_read,
    ),
    RunRule(
        name="repeated-failure-surveyed",
        category="Formatting Errors",
        dimensions=_EE,
        severity=Severity.LOW,
        find=_surveyed,
    ),
    RunRule(
        name="repeated-failure-at-tool",
        category="Resource Abuse",
        dimensions=_EE,
        severity=Severity.MEDIUM,
        find=_repeated_at_tool,
    ),
    RunRule(
        name="query-churn",
        category="Resource Abuse",
        dimensions=(Dimension.EXECUTION_EFFICIENCY,),
        severity=Severity.LOW,
        find=_churn,
    ),
    RunRule(
        name="query-churn-at-tool",
        category="Resource Abuse",
        dimensions=(Dimension.EXECUTION_EFFICIENCY,),
        severity=Severity.LOW,
        find=_churn_at_tool,
    ),
    RunRule(
        name="same-plan-again",
        category="Context Handling Failures",
        dimensions=(Dimension.PLAN_QUALITY, Dimension.EXECUTION_EFFICIENCY),
        severity=Severity.MEDIUM,
        find=_same_plan,
    ),
)
