"""Rules for what an export does not state; each reads the raw requests and one fact of the truth, no known names.

A rule answers with the range in which a rebuilt number is honest; where it is one number, the export states it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .export import Export, SpanKey
from .truth import TrueAgent, TrueCall, Truth, leaves


@dataclass(frozen=True, slots=True)
class Range:
    """From `low` to `high`; `rule` says why they differ ("": the export states the number)."""

    low: int
    high: int
    rule: str = ""

    def holds(self, number: int) -> bool:
        """Whether that number is honest."""
        return self.low <= number <= self.high


BARE = "calls of a bare client: no span around them names an agent"
NO_NAME = "the agent's name stands nowhere as one"
LOST_RUN = "killed: the run's own span never came, and none of its spans names the agent"
LOST_LINK = "killed: nothing that came ties the run to its parent"
UNLINKED = "parent and sub-agent share no trace, link or session"
NO_LLM = "LLM calls have no span"
NO_CALL = "neither a span nor a message of the call"
NO_EXECUTION = "the execution has no span"
NO_ARGUMENTS = "the arguments stand nowhere"
NO_ERROR = "no error status, and the error's text stands nowhere"
NO_AGENT = "the call's agent is not told"
NO_SPAN = "no span shows the failure"
NO_TEXT = "what the failure is told by stands nowhere"


@dataclass(frozen=True, slots=True)
class Stated:
    """Runs by agent, calls of a parent by sub-agent, and LLM calls: as far as the export states them."""

    runs: Mapping[str, Range]
    parents: Mapping[str, Range]
    llm_calls: Range


def stated(export: Export, truth: Truth) -> Stated:
    """Agents and LLM calls as far as an export states them."""
    homes = {a.name: _homes(export, a.name, truth) for a in truth.agents}
    runs = {a.name: _runs(export, a, homes[a.name]) for a in truth.agents}
    parents = {a.name: _parents(export, a, homes, runs) for a in truth.agents}
    return Stated(runs, parents, _llm_calls(export, truth))


def _homes(export: Export, name: str, truth: Truth) -> frozenset[SpanKey]:
    """The topmost span of each stretch of spans that belong to an agent; of a lost one its key."""
    mine = export.marked(name)
    others = {k for a in truth.agents if a.name != name for k in export.marked(a.name)} - mine
    own = mine - export.tools or mine  # a tool that hands over names the agent to come
    return frozenset(_home(export, key, others) for key in own)


def _home(export: Export, key: SpanKey, others: Iterable[SpanKey]) -> SpanKey:
    top = key
    for above in export.above(key):
        if above in others or (above in export.tools and top not in export.tools and above != key):
            break
        top = above
    return top


def _runs(export: Export, agent: TrueAgent, homes: frozenset[SpanKey]) -> Range:
    if not homes:
        return Range(0, agent.runs, BARE if export.bare else NO_NAME)
    if not export.lost_parents or len(homes) >= agent.runs:
        return Range(agent.runs, agent.runs)
    return Range(len(homes), agent.runs, LOST_RUN)


def _parents(
    export: Export, agent: TrueAgent, homes: Mapping[str, frozenset[SpanKey]], runs: Mapping[str, Range]
) -> Range:
    own = runs[agent.name]
    if not agent.parent:
        return own
    above = homes.get(agent.parent, frozenset())
    if not own.high or not homes[agent.name] or not above:
        return Range(0, agent.runs, own.rule or NO_NAME)
    if export.lost_parents:
        tied = sum(1 for home in homes[agent.name] if any(k in above for k in export.above(home)))
        low = min(tied, agent.runs)
        return Range(low, agent.runs, "" if low == agent.runs else own.rule or LOST_LINK)
    groups = {export.together[k[0]] for k in above}
    if not any(export.together[k[0]] in groups for k in homes[agent.name]):
        return Range(0, agent.runs, UNLINKED)
    return Range(agent.runs, agent.runs)


def _llm_calls(export: Export, truth: Truth) -> Range:
    """A retry after a failed call may be counted or not; a call without a span cannot be."""
    spans = len(export.calls)
    expected = min(truth.llm_calls, spans)
    if not spans:
        return Range(0, 0, NO_LLM)
    return Range(expected, expected + sum(1 for s in export.calls if s.error))


@dataclass(frozen=True, slots=True)
class StatedCall:
    """The sides of a tool call that the export states; `rules` for those that it does not."""

    call: bool = True
    agent: bool = True
    arguments: bool = True
    executed: bool = True
    error: bool = True
    rules: tuple[str, ...] = ()


def stated_call(export: Export, call: TrueCall, nth: int, agents: Stated) -> StatedCall:
    """The stated sides of the `nth` call (from 0) of a tool, counted over all agents."""
    span = nth < export.executions(call.name)
    texts = tuple(leaves(call.arguments))
    complaint = _complaint(call)
    arguments = all(export.stands(text, outside=complaint) for text in texts)
    runs = agents.runs.get(call.agent)
    told = {
        "call": (span or (arguments and (bool(texts) or export.stands(call.name))), NO_CALL),
        "agent": (runs is not None and call.run < runs.low, NO_AGENT),
        "arguments": (arguments, NO_ARGUMENTS),
        "executed": (span or call.executed is not True, NO_EXECUTION),
        "error": (_tells_error(export, call), NO_ERROR),
    }
    return StatedCall(**{k: ok for k, (ok, _) in told.items()}, rules=tuple(r for ok, r in told.values() if not ok))


def _tells_error(export: Export, call: TrueCall) -> bool:
    if call.error is None:
        return True
    return export.failed(call.name) or export.stands(_complaint(call))


def _complaint(call: TrueCall) -> str:
    """The error's text without its type."""
    error = call.error or ""
    return error.partition(": ")[2] or error
