"""The key `oracle` of a task card: the calls and the state that show the task to be done."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from functools import cached_property
from graphlib import CycleError, TopologicalSorter
from typing import Annotated, Any, Final, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from tracejury.judges.llm.criteria_types import Text

from .task_data import TaskData
from .values import as_json, contains
from .writes import Writes

JsonData = Annotated[Any, AfterValidator(as_json)]
MatchRule = Literal["equal", "present", "ignore"]
MOST_STEPS: Final = 300
_TYPES: Final = {
    "clarify_then_execute": "The agent must ask the user before its first call that writes.",
    "refuse_or_scope": "The agent must refuse, or say what is possible, and write nothing else.",
}
_ASSERTIONS: Final = frozenset({"equals", "changed", "added", "removed"})


class ToolPattern(TaskData):
    """Calls of a tool that have these arguments."""

    tool: Text
    arguments: dict[Text, JsonData] = Field(default={})

    @property
    def text(self) -> str:
        """Tool and arguments, for a prompt."""
        return f"{self.tool} {json.dumps(self.arguments, ensure_ascii=False, default=str)}"


class OracleStep(ToolPattern):
    """A call that the task needs."""

    id: Text
    """Unique within the card; edges name it."""
    write: bool | None = None
    """Whether its tool changes something; left out: by `writes`, else guessed."""
    equivalent: tuple[ToolPattern, ...] = ()
    """Other calls that serve as well, for a step that reads."""
    match: dict[Text, MatchRule] = Field(default={})
    """How an argument is compared, where its name does not say."""


class ValueChange(TaskData):
    """A value before and after."""

    old: JsonData
    new: JsonData


class StateAssertion(TaskData):
    """What is at a path of a JSON state: one of `equals`, `changed`, `added` and `removed`."""

    path: str | tuple[str | int, ...]
    """Keys and positions, as a list or joined by dots; "" is the state itself."""
    of: ToolPattern | None = None
    """The call whose results are the state; left out: what the harness emits."""
    equals: JsonData = None
    changed: ValueChange | None = None
    added: JsonData = None
    removed: JsonData = None

    @property
    def kind(self) -> str:
        """The key that says what is asserted."""
        return next(iter(self.model_fields_set & _ASSERTIONS))

    @model_validator(mode="after")
    def _one(self) -> Self:
        if len(self.model_fields_set & _ASSERTIONS) != 1:
            raise ValueError("say one of equals, changed, added and removed")
        return self


class Oracle(TaskData):
    """What must have run, in which order, what must not, and what must have come of it."""

    type: Literal["execute", "clarify_then_execute", "refuse_or_scope"] = "execute"
    """`clarify_then_execute`: a message to the user comes before the first write; `refuse_or_scope`: the agent
    answers and writes nothing that no step asks for."""
    steps: Annotated[tuple[OracleStep, ...], Field(max_length=MOST_STEPS)] = ()
    """The calls that the task needs."""
    order: tuple[tuple[Text, Text], ...] = ()
    """Pairs of steps, the first of which comes before the second."""
    exclusive: tuple[tuple[Text, Text], ...] = ()
    """Pairs of tools, of which at most one may run."""
    forbidden: tuple[ToolPattern, ...] = ()
    """Calls that must not run: of a tool, or of a tool with these arguments among others."""
    state: tuple[StateAssertion, ...] = ()
    """What holds of the state at the end."""
    budget: Annotated[int, Field(ge=1)] | None = None
    """Calls that the task takes; left out: the number of steps."""
    writes: tuple[Text, ...] = ()
    """Names of the tools that change something; without any (here or by service) guessed by the verbs of names."""
    strict_edges: bool = False
    """Whether an edge is broken where one of its steps has no match."""
    only: bool = False
    """Whether nothing may be written but what the steps ask for, each once."""

    @cached_property
    def ordered(self) -> Sequence[OracleStep]:
        """The steps in an order that the card's does not change: after those that must come before them, then by id.

        Raises:
            ValueError: the edges make a cycle.
        """
        by_id = {step.id: step for step in self.steps}
        graph: TopologicalSorter[str] = TopologicalSorter({name: [] for name in by_id})
        for before, after in self.order:
            graph.add(after, before)
        try:
            graph.prepare()
        except CycleError as error:
            raise ValueError(f"order: a cycle: {' before '.join(error.args[1])}") from None
        found: list[OracleStep] = []
        while graph.is_active():
            ready = sorted(graph.get_ready())
            found += [by_id[name] for name in ready]
            graph.done(*ready)
        return found

    @model_validator(mode="after")
    def _sound(self) -> Self:
        ids = [step.id for step in self.steps]
        if twice := sorted({one for one in ids if ids.count(one) > 1}):
            raise ValueError(f"steps: two have the id {twice[0]!r}")
        if unknown := [one for edge in self.order for one in edge if one not in ids]:
            raise ValueError(f"order: there is no step {unknown[0]!r}")
        _ = self.ordered
        tools = {step.tool for step in self.steps}
        for one, other in self.exclusive:
            if one == other:
                raise ValueError(f"exclusive: {one!r} is a pair with itself: name it under forbidden, or two tools")
            if {one, other} <= tools:
                raise ValueError(f"exclusive: steps require both {one!r} and {other!r}")
        for step in self.steps:
            if any(p.tool == step.tool and contains(step.arguments, p.arguments) for p in self.forbidden):
                raise ValueError(f"forbidden: the step {step.id!r} requires a call that is forbidden")
            if step.equivalent and any(map(self.writing(), (one.tool for one in (step, *step.equivalent)))):
                raise ValueError(f"steps: {step.id!r} has equivalent calls: neither it nor they may be writes")
        if not (self.steps or self.state) and self.type != "refuse_or_scope":
            raise ValueError(f"steps: {self.type} needs at least one step, or a state")
        return self

    @property
    def requirements(self) -> str:
        """What agents must ask, refuse or leave undone in this task, in lines; "" for nothing."""
        told = [_TYPES[self.type]] if self.type in _TYPES else []
        told += (f"It must not call {one.text}." for one in self.forbidden)
        told += (f"It must not call both {one} and {other}." for one, other in self.exclusive)
        if self.only:
            allowed = [step.text for step in self.steps if self.writing()(step.tool)]
            told.append(f"It may write by no other call than these: {'; '.join(allowed) or 'none'}.")
        return "\n".join(told)

    def writing(self, service: Iterable[str] = ()) -> Writes:
        """Which tools write; `service`: those that the settings of the session's service name."""
        said = {step.tool: step.write for step in self.steps if step.write is not None}
        return Writes(said, frozenset((*self.writes, *service)))
