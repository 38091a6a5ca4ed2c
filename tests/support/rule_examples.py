"""Made-up situations on both sides of each rule of the production criteria (`tests/judges/llm/rule_examples.yaml`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import yaml
from deliberations import rehearse
from panel_cases import case, panel
from pydantic import TypeAdapter
from small_traces import Did, Said, run, trace

from tracejury.judges.grouping import group
from tracejury.judges.llm.case import Deliberation
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.deliberation import deliberate
from tracejury.judges.llm.scripted import ScriptedClient, answer, finding
from tracejury.schemas.agent_errors import AgentError
from tracejury.schemas.normalized import Message, ToolDefinition
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.trajectory import Trace, TurnKind

FILE = Path(__file__).parents[1] / "judges" / "llm" / "rule_examples.yaml"


@dataclass(frozen=True)
class ExampleStep:
    """A turn: what it was told and wrote, and the call it made. `times`: how often a result or message stands there."""

    id: str
    text: str = ""
    kind: TurnKind = TurnKind.ACT
    sees: tuple[str, ...] = ()
    call: str = ""
    given: Mapping[str, Any] = field(default_factory=dict)
    result: str = ""
    error: str = ""
    stops: tuple[str, ...] = ()
    model_error: str = ""
    times: int = 1


@dataclass(frozen=True)
class Side:
    """A record, the answer of a judge that keeps the rules, and what comes of it.

    `shows`: words of the record that decide. `errors`: what readers see, as [primary span, judge, severity, spans that
    repeat it …]. `verdicts`: judge to score, None where there was nothing to judge. `dropped`: claims by why the gate
    lets none through.
    """

    steps: tuple[ExampleStep, ...]
    shows: tuple[str, ...]
    system: str = ""
    request: str = ""
    tools: Mapping[str, str] = field(default_factory=dict)
    role: str = "manager"
    answer: tuple[Mapping[str, Any], ...] = ()
    errors: tuple[tuple[str, ...], ...] = ()
    verdicts: Mapping[str, int | None] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def trace(self) -> Trace:
        """The record as a trace of one run."""
        made = run("r", *map(_said, self.steps), role=self.role, answer=self.steps[-1].text)
        turns = list(made.turns)
        for number, step in enumerate(self.steps):
            call = turns[number].llm
            assert call is not None
            turns[number] = replace(turns[number], llm=replace(call, stop_sequences=step.stops))
        first = turns[0].llm
        assert first is not None
        messages = (Message("system", self.system), Message("user", self.request))
        tools = tuple(ToolDefinition(name, text) for name, text in self.tools.items())
        told = replace(first, input_messages=tuple(m for m in messages if m.text), tools=tools)
        return trace(replace(made, turns=(replace(turns[0], llm=told), *turns[1:])))


@dataclass(frozen=True)
class RuleExample:
    """A rule by words of it, where it is said ("run", "plan" or both), and a record on either side of it."""

    rule: str
    says: tuple[str, ...]
    wrong: Side
    right: Side
    prompts: tuple[str, ...] = ("run",)


@dataclass(frozen=True)
class Outcome:
    """What came of a side: the record as it was put, and the deliberation."""

    record: str
    said: Deliberation
    whole: Trace

    @property
    def errors(self) -> list[tuple[str, ...]]:
        """The errors that readers see in the balanced profile, in the form of `Side.errors`."""
        shown = [f for f in self.said.findings if f.confidence >= PROFILES["balanced"]]
        return [_told(error) for error in group(shown, [one.id for one in self.whole.runs])]


def examples() -> list[RuleExample]:
    """All of the file."""
    return TypeAdapter(list[RuleExample]).validate_python(yaml.safe_load(FILE.read_text("utf-8")))


def played(side: Side, purpose: str) -> Outcome:
    """The side put to a judge that gives its answer to the prompt of that purpose and reports nothing to others."""

    def script(prompt: Prompt) -> str:
        if prompt.purpose != purpose:
            return answer(prompt)
        return answer(prompt, [finding(**claim) for claim in side.answer], dict(side.verdicts))

    whole, client = side.trace(), ScriptedClient(script)
    asked = case(whole, panel())
    said = rehearse(deliberate(asked, panel()), client)
    messages: Sequence[str] = [m.text for p in client.prompts if p.purpose == purpose for m in p.messages[1:]]
    return Outcome("\n".join(messages), said, whole)


def _said(step: ExampleStep) -> Said:
    did: list[Did] = []
    if step.call:
        did = [Did(step.call, dict(step.given), step.result * step.times, step.error or None, f"{step.id}-tool")]
    sees = [text * step.times for text in step.sees]
    return Said(step.id, step.text, did, sees, step.kind, llm_error=step.model_error)


def _told(error: AgentError) -> tuple[str, ...]:
    return (error.lead.span_id, error.lead.judge, str(error.lead.severity), *sorted(error.repeated_at))
