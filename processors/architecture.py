"""A service's architecture, derived from its trajectories: delegations, tools, plans and limits.

What "What is your agent's GPA?" gives its judges as a hand-written custom instruction.
"""

from __future__ import annotations

import heapq
import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from tracejury.schemas.trajectory import Trace

from .architecture_facts import Facet, Fact, facts_of
from .transcript.lines import inline

MOST_AGENTS: Final = 24
MOST_VALUES: Final = 48
"""Values of one facet of one agent that are kept."""

_LISTED: Final = 20  # values that the text names
_RARE: Final = 0.1  # share of an agent's runs below which what they show is not told
_USUAL: Final = 0.6  # share from which a number is told as the rule
_LONGEST: Final = 6_000  # characters of the text


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """One agent's runs: their number, and how often they show each fact."""

    runs: int = 0
    facts: Mapping[Fact, int] = field(default_factory=dict)

    def plus(self, other: AgentProfile) -> AgentProfile:
        """Both together, the first values of each facet in the order of the alphabet."""
        return AgentProfile(self.runs + other.runs, _bounded(Counter(self.facts) + Counter(other.facts)))


@dataclass(frozen=True, slots=True)
class DerivedArchitecture:
    """The architecture that any number of traces show, in bounded space.

    `agents` by name; `outside`: traces with LLM calls outside any agent. Of too many agents or values the first by
    alphabet are kept, so that neither the order of traces nor how they were put together changes the outcome.
    """

    traces: int = 0
    outside: int = 0
    agents: Mapping[str, AgentProfile] = field(default_factory=dict)

    def add(self, trace: Trace) -> DerivedArchitecture:
        """This and one more trace."""
        found: dict[str, AgentProfile] = {}
        for run in trace.agents:
            shows = AgentProfile(1, _bounded(Counter(facts_of(trace, run))))
            name = run.name[:120]
            found[name] = found[name].plus(shows) if name in found else shows
        outside = bool(trace.agents and trace.outside)
        return self.merge(DerivedArchitecture(1, int(outside), found))

    def merge(self, other: DerivedArchitecture) -> DerivedArchitecture:
        """Both together; neither order nor grouping matters."""
        agents = dict(self.agents)
        for name, agent in other.agents.items():
            agents[name] = agents[name].plus(agent) if name in agents else agent
        kept = heapq.nsmallest(MOST_AGENTS, agents)
        return DerivedArchitecture(
            self.traces + other.traces, self.outside + other.outside, {n: agents[n] for n in kept}
        )

    @property
    def text(self) -> str:
        """One line an agent, managers first; "" where no agent was seen. Names are shown, on one line, and cut."""
        told = sorted((f"{_role(agent)}", name, _line(name, agent)) for name, agent in self.agents.items())
        lines = [line for _, _, line in told]
        if lines and self.outside > _USUAL * self.traces:
            lines.append("After the agents, an LLM call outside any agent words the final answer.")
        text = ""
        for line in lines:
            if len(text) + len(line) > _LONGEST:
                break
            text += f"{line}\n"
        return text


def _bounded(counts: Counter[Fact]) -> dict[Fact, int]:
    """The first values of each facet: one that is kept at the end was never dropped, so its count is right."""
    by_facet: defaultdict[Facet, list[str]] = defaultdict(list)
    for facet, value in counts:
        by_facet[facet].append(value)
    return {
        (facet, value): counts[facet, value]
        for facet, values in by_facet.items()
        for value in heapq.nsmallest(MOST_VALUES, values)
    }


def _role(agent: AgentProfile) -> str:
    roles = _values(agent, Facet.ROLE)
    return " and ".join(roles)


def _values(agent: AgentProfile, facet: Facet) -> list[str]:
    """Values of a facet that are not rare, by alphabet."""
    return sorted(v for (f, v), n in agent.facts.items() if f is facet and n >= _RARE * agent.runs)


def _line(name: str, agent: AgentProfile) -> str:
    told = [f"{_name(name) if name else 'An unnamed agent'} ({_role(agent)})"]
    if delegates := _listed(_values(agent, Facet.DELEGATES)):
        told.append(f"delegates to {delegates}")
    if _values(agent, Facet.ACTS):
        told.append("acts by code that it writes")
    if tools := _listed(_values(agent, Facet.TOOL)):
        told.append(f"tools: {tools}")
    if start := _usual(agent, Facet.START, agent.runs):
        told.append(f"begins with {start}")
    told += _replans(agent)
    for facet, of in ((Facet.STOP_PLAN, "plan calls"), (Facet.STOP_ACT, "acting calls")):
        if stops := _listed(_values(agent, facet)):
            told.append(f"stop sequences of {of}: {stops}")
    if limits := sorted(int(v) for v in _values(agent, Facet.STEPS) if v.isdigit()):
        told.append(f"at most {limits[0]} steps" if len(limits) == 1 else f"at most {limits[0]} to {limits[-1]} steps")
    if ends := _values(agent, Facet.END):
        told.append(f"ends by {' or by '.join(inline(e, 60) for e in ends[:4])}")
    if formats := [v for v in _values(agent, Facet.FORMAT) if agent.facts[Facet.FORMAT, v] > _USUAL * agent.runs]:
        told.append(
            "its instructions say: " + "; ".join(json.dumps(inline(f, 200), ensure_ascii=False) for f in formats[:2])
        )
    return "; ".join(told) + "."


def _replans(agent: AgentProfile) -> list[str]:
    gaps = {int(v): n for (f, v), n in agent.facts.items() if f is Facet.GAP}
    total = sum(gaps.values())
    if not total:
        return []
    usual = max(gaps, key=lambda g: (gaps[g], -g))
    if gaps[usual] >= _USUAL * total:
        return [f"plans again every {usual} acting turns"]
    common = [g for g, n in gaps.items() if n >= _RARE * total]
    return (
        [f"plans again after {min(common)} to {max(common)} acting turns"]
        if common
        else ["plans again at no fixed pace"]
    )


def _usual(agent: AgentProfile, facet: Facet, total: int) -> str:
    """The value that most runs show, "" where there is none."""
    found = [v for (f, v), n in agent.facts.items() if f is facet and n >= _USUAL * total]
    return inline(found[0], 60) if found else ""


def _listed(values: list[str]) -> str:
    more = f" and {len(values) - _LISTED} more" if len(values) > _LISTED else ""
    return ", ".join(_name(v) for v in values[:_LISTED]) + more


def _name(text: str) -> str:
    """A recorded name: as it is if it is nothing but a name, else in quotes."""
    line = inline(text, 40)
    return line if line and all(c.isalnum() or c in "_-./" for c in line) else json.dumps(line, ensure_ascii=False)
