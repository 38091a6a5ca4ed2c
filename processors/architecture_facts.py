"""Facts on a service's architecture that one agent run shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum
from itertools import islice, pairwise
from typing import Final

from tracejury.schemas.trajectory import AgentRun, Trace, Turn, TurnKind

from .wording import ANSWER_TOOLS


class Facet(StrEnum):
    """The subject of a fact."""

    ROLE = "role"
    DELEGATES = "delegates"
    TOOL = "tool"
    ACTS = "acts"
    START = "start"
    GAP = "gap"
    STEPS = "steps"
    STOP_PLAN = "stop of plans"
    STOP_ACT = "stop"
    FORMAT = "format"
    END = "end"


Fact = tuple[Facet, str]
"""A facet and one value of it as this run shows it."""

_LONGEST: Final = 120
_READ: Final = 12_000  # characters of a prompt in which a format is looked for
_FORMAT: Final = re.compile(
    r"^[^\n]{0,80}\b(?:final[ _]answer|answers?|respon(?:d|ses?)|reply|output)\b[^\n]{0,60}"
    r"\b(?:format|contain|json|only|template|schema)\b[^\n]{0,100}$",
    re.IGNORECASE | re.MULTILINE,
)
_MOST_FORMATS: Final = 4
_PARTS: Final = 3


def facts_of(trace: Trace, run: AgentRun) -> Iterator[Fact]:
    """The facts that `run` shows; one may come several times (each gap between plans is one)."""
    yield Facet.ROLE, run.role
    delegates = {r.name for r in trace.runs if r.parent_id == run.id and r.name} | set(run.managed_agents)
    for name in delegates:
        yield Facet.DELEGATES, name[:_LONGEST]
    for name in _tools(run) - delegates:
        yield Facet.TOOL, name[:_LONGEST]
    turns = [t for t in run.turns if t.llm is not None and t.kind is not TurnKind.INNER]
    yield from _cadence(turns)
    if run.max_steps is not None:
        yield Facet.STEPS, str(run.max_steps)[:20]
    for facet, plans in ((Facet.STOP_PLAN, True), (Facet.STOP_ACT, False)):
        kinds = (TurnKind.PLAN,) if plans else (TurnKind.ACT,)
        stops = {s for t in turns if t.kind in kinds and t.llm for s in t.llm.stop_sequences}
        for stop in stops:
            yield facet, stop[:_LONGEST]
    yield from _formats(run)
    if end := _end(run):
        yield Facet.END, end


def _tools(run: AgentRun) -> set[str]:
    """Tools that the run was given or that ran in it; names that a model only made up are none."""
    given = {t.name for t in run.tools} | (set(run.span.tool_names) if run.span else set())
    return given | {c.name for t in run.turns for c in t.tool_calls if c.span is not None and c.name}


def _cadence(turns: list[Turn]) -> Iterator[Fact]:
    first = next((i for i, t in enumerate(turns) if t.kind is TurnKind.ACT), len(turns))
    if before := [t.kind.value for t in turns[:first]][:6]:
        yield Facet.START, ", ".join(dict.fromkeys(before))
    plans = [i for i, t in enumerate(turns) if t.kind is TurnKind.PLAN]
    for one, other in pairwise(plans):
        acting = sum(t.kind is TurnKind.ACT for t in turns[one:other])
        if acting:
            yield Facet.GAP, str(acting)
    acting_turns = [t for t in turns if t.kind is TurnKind.ACT]
    by_request = any(t.tool_requests for t in acting_turns)
    if not by_request and any(t.tool_calls for t in acting_turns):
        yield Facet.ACTS, "code"


def _formats(run: AgentRun) -> Iterator[Fact]:
    """Lines of the instructions that state the form of an answer."""
    found = dict.fromkeys(
        _with_parts(text, match)
        for text in (run.system_prompt[:_READ], run.goal[:_READ])
        for match in _FORMAT.finditer(text)
    )
    for line in list(found)[:_MOST_FORMATS]:
        yield Facet.FORMAT, line[: 2 * _LONGEST]


def _with_parts(text: str, match: re.Match[str]) -> str:
    """The line, with the few that follow where it announces them."""
    line = " ".join(match[0].split())
    if not line.endswith(":"):
        return line
    parts = (" ".join(part.split()) for part in text[match.end() + 1 : match.end() + 400].split("\n"))
    return " / ".join([line, *islice((part for part in parts if part), _PARTS)])


def _end(run: AgentRun) -> str:
    """The way in which a finished run gave its answer: by a tool of that purpose, or in its last reply."""
    if run.status == "unfinished" or not run.turns:
        return ""
    last = next((t for t in reversed(run.turns) if t.kind is not TurnKind.INNER), run.turns[-1])
    named = next((c.name for c in last.tool_calls if c.name.lower() in ANSWER_TOOLS), "")
    if named:
        return f"calling {named}"
    return "" if last.tool_calls else "a last reply without calls"
