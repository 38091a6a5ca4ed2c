"""Plans against what was run: tools that differ, are missing, have just failed or do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts, TurnFacts
from tracejury.judges.names import Role
from tracejury.judges.quoting import quote, quote_call
from tracejury.judges.rule import Hit, rule
from tracejury.judges.wording import LOOK_UP, holds_any
from tracejury.schemas.trajectory import TurnKind


def segments(facts: RunFacts) -> Iterator[tuple[TurnFacts, list[TurnFacts]]]:
    """(plan, the acting turns that it governs) of a run: those up to the next plan."""
    plan: TurnFacts | None = None
    acts: list[TurnFacts] = []
    for turn in facts.turns:
        if turn.turn.kind is TurnKind.PLAN:
            if plan is not None:
                yield plan, acts
            plan, acts = turn, []
        elif turn.acting:
            acts.append(turn)
    if plan is not None:
        yield plan, acts


def called(turn: TurnFacts) -> list[str]:
    """Names of the tools and agents that a turn ran."""
    names = [c.call.name for c in turn.calls if c.role is Role.ACCESS and c.ran is not False]
    subs = [run.name for run in turn.started if run.id in turn.turn.sub_run_ids]
    return list(dict.fromkeys([*names, *subs]))


def _first_tool_differs(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for plan, acts in facts.once(segments)[:1]:
        first = next((t for t in acts if t.attempted), None)
        planned = facts.named_tools(plan.low) if first is not None else ()
        if not planned or first is None:
            continue
        ran = called(first)
        if ran and planned[0] not in ran:
            text = f"The plan starts with {planned[0]}, but {ran[0]} was run first."
            call = next((c.call for c in first.calls if c.call.name == ran[0]), None)
            evidence = quote_call(first.turn, call) if call else quote(first.text.lstrip())
            yield Hit(first.span_id, evidence, text)


def _never_called(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for plan, acts in facts.once(segments):
        last = acts[-1] if acts else None
        if last is None or not last.answers or last.attempted:
            continue
        ran = {name for turn in acts for name in called(turn)}
        planned = facts.named_tools(_unconditional(plan.low)) if ran else ()
        missing = [name for name in planned if name not in ran]
        if missing:
            text = f"Answers although {missing[0]}, which the plan names, was never called."
            yield Hit(last.span_id, quote(last.text.lstrip()), text)


def _unconditional(plan: str) -> str:
    """The lines of a plan that leave no choice."""
    return "\n".join(line for line in plan.splitlines() if not any(word in line for word in _CONDITIONAL))


_CONDITIONAL: Final = (" if ", "if ", " or ", "(or", "e.g.", "such as", "optional", "necessary", "needed", "may ")


def _names_no_tool(facts: RunFacts, _: Context) -> Iterator[Hit]:
    for plan, _acts in facts.once(segments):
        wants = facts.tools and plan.span_id and holds_any(plan.low, LOOK_UP)
        if wants and not facts.named_tools(plan.low):
            tools = ", ".join(facts.tools[:4])
            text = f"Plans look-ups without saying which of the available tools ({tools}) should do them."
            yield Hit(plan.span_id, quote(plan.text.lstrip()), text)


def _interface_not_given(facts: RunFacts, _: Context) -> Iterator[Hit]:
    """A plan that builds on a programming interface while no tool of the run speaks of one."""
    for plan, _acts in facts.once(segments) if facts.tools else ():
        at = next((at for n in (" api)", " api ", " api,", " api.") if (at := plan.low.find(n)) >= 0), -1)
        if at >= 0 and not _describes_interface(facts):
            yield Hit(plan.span_id, quote(plan.text, at), "Builds on an interface that none of its tools offers.")


def _describes_interface(facts: RunFacts) -> bool:
    return any(" api" in f" {t.name} {t.description}".lower().replace("_", " ") for t in facts.run.tools)


RULES: Final = (
    rule(
        "first-tool-differs",
        "Goal Deviation",
        "PA TS",
        "MEDIUM",
        _first_tool_differs,
        version=3,
        title="First tool differs from the plan",
        scope="run",
    ),
    rule(
        "planned-tool-never-called",
        "Goal Deviation",
        "PA TS",
        "LOW",
        _never_called,
        of_absence=True,
        version=3,
        title="Planned tool never called",
        scope="run",
    ),
    rule(
        "plan-names-no-tool", "Task Orchestration", "PQ", "LOW", _names_no_tool, title="Plan names no tool", scope="run"
    ),
    rule(
        "plan-needs-missing-interface",
        "Tool Definition Issues",
        "PQ TS",
        "LOW",
        _interface_not_given,
        title="Plan needs an ability that is not given",
        scope="run",
    ),
)
