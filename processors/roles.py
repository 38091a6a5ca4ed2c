"""Kinds of spans inferred from their place in the tree, where they do not state them.

Some frameworks mark no agents: a chain that is named like one, or that a tool started, and that asks a model with
tools, is one. Some mark too many: an empty agent leaf stands beside the chain that did the work. Evidence is names,
requests and shape only, never which framework wrote the spans. A tool that only calls a model is no agent.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .delegation import addressee, delegates
from .names import canonical, plain_name, same_name
from .span_tree import SpanTree

_NOTHING: Final = 0
_AGENT: Final = 1  # holds an agent span
_LLM: Final = 2  # asks a model, outside tools and agents below
_ACTS: Final = 4  # has tools, or was given some
_ASIDE: Final = frozenset({Kind.EVALUATOR, Kind.GUARDRAIL})
_TELLING: Final = frozenset({Kind.AGENT, Kind.LLM})  # matter even where nothing is below them
_SCOPES: Final = frozenset({Kind.CHAIN, Kind.OTHER})
_REACH: Final = 4  # levels below an agent at which its calls say whose they are
_MOST_SIBLINGS: Final = 256


@dataclass(frozen=True, slots=True)
class Roles:
    """`tree` with the kinds that the spans' places show.

    `tool_runs`: TOOL span id to the name ("" where unknown) of the agent that worked below it without a span of its
    own.
    """

    tree: SpanTree
    tool_runs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Scope:
    """The scope of a span and those below it.

    `agent`: the nearest agent's span id; `asked`: the agents that its calls addressed so far.
    """

    agent: str = ""
    hint: str = ""
    name: str = ""
    tool: NormalizedSpan | None = None
    asked: set[str] = field(default_factory=set)


def find_roles(tree: SpanTree) -> Roles:
    """The tree with inferred kinds (see the module); the same tree where nothing changes."""
    holds = _holdings(tree)
    changed: dict[str, NormalizedSpan] = {}
    tool_runs: dict[str, str] = {}
    scopes: dict[str, _Scope] = {}
    finder = _Finder(tree, holds, changed, tool_runs)
    for span in tree.order:
        span_id = span.raw.span_id
        if span_id in tree.children or span.kind in _TELLING:
            above = tree.parent.get(span_id)
            scopes[span_id] = finder.visit(span, _Scope() if above is None else scopes[above])
    for root in finder.shaped:  # all that it holds is other agents': a workflow
        del changed[root]
    return Roles(tree.changed(changed), tool_runs)


def _holdings(tree: SpanTree) -> dict[str, int]:
    """Flags (see above) of each span's content, itself included."""
    holds: dict[str, int] = {}
    for span in reversed(tree.order):
        span_id, kind = span.raw.span_id, span.kind
        flags = holds.get(span_id, _NOTHING)
        if kind is Kind.LLM:
            flags |= _LLM | _ACTS if span.tools or span.tool_requests else _LLM
        elif kind is Kind.TOOL:
            flags |= _ACTS
        holds[span_id] = flags
        if kind is Kind.AGENT:
            flags = _AGENT
        elif kind is Kind.TOOL:
            flags &= _ACTS | _AGENT
        if flags and kind not in _ASIDE and (parent := tree.parent.get(span_id)) is not None:
            holds[parent] = holds.get(parent, _NOTHING) | flags
    return holds


@dataclass(slots=True)
class _Finder:
    tree: SpanTree
    holds: dict[str, int]
    changed: dict[str, NormalizedSpan]
    tool_runs: dict[str, str]
    shaped: set[str] = field(default_factory=set)  # roots taken for agents by shape alone, without calls so far
    claimed: dict[str, str] = field(default_factory=dict)  # scope to the name of the empty agent leaf beside it
    lost: dict[str, list[NormalizedSpan]] = field(default_factory=dict)  # see `_below_lost`

    def visit(self, span: NormalizedSpan, scope: _Scope) -> _Scope:
        """Note what `span` is; the scope of what is below it."""
        kind = span.kind
        if kind is Kind.LLM:
            if requests := span.tool_requests:
                scope.asked.update(addressee(request.name, request.arguments) for request in requests)
            if not span.output_messages and self._is_preparation(span):
                self.changed[span.raw.span_id] = replace(span, kind=Kind.CHAIN)
            else:
                self.shaped.discard(scope.agent)
            return scope
        if kind is Kind.AGENT:
            return self._agent(span, scope)
        if kind is Kind.TOOL:
            return self._tool(span, scope)
        if kind in _SCOPES and self.holds[span.raw.span_id] & _LLM:
            return self._chain(span, scope)
        return scope

    def _agent(self, span: NormalizedSpan, scope: _Scope) -> _Scope:
        """An AGENT span that ended without children, beside a step with its name that did the work, is no agent."""
        span_id = span.raw.span_id
        beside = self._work_beside(span) if span_id not in self.tree.children and not span.raw.pending else None
        if beside is not None:
            self.claimed[beside.raw.span_id] = span.agent_name
            self.changed[span_id] = replace(span, kind=Kind.CHAIN)
            return scope
        return _Scope(span_id, canonical(span.agent_name), span.raw.name)

    def _work_beside(self, leaf: NormalizedSpan) -> NormalizedSpan | None:
        """The chain beside an empty agent leaf that did the agent's work, as its name says."""
        parent = self.tree.parent.get(leaf.raw.span_id)
        if not leaf.agent_name or (parent is None and leaf.raw.span_id not in self.tree.orphans):
            return None
        siblings = self._below_lost(leaf.raw.parent_span_id) if parent is None else self.tree.children[parent]
        if len(siblings) > _MOST_SIBLINGS:
            return None
        working = [s for s in siblings if s.kind in _SCOPES and self.holds[s.raw.span_id] & _LLM]
        name = canonical(leaf.agent_name)
        named = [s for s in working if canonical(plain_name(s.raw.name)).endswith(name)]
        free = [s for s in named if s.raw.span_id not in self.claimed and s.raw.start >= leaf.raw.start]
        return free[0] if free else None

    def _below_lost(self, parent: str) -> list[NormalizedSpan]:
        """The spans below a parent that never came, in order of time."""
        if not self.lost:
            for span in self.tree.by_time:
                if span.raw.span_id in self.tree.orphans:
                    self.lost.setdefault(span.raw.parent_span_id, []).append(span)
        return self.lost[parent]

    def _tool(self, span: NormalizedSpan, scope: _Scope) -> _Scope:
        """A delegating tool with a model, or other tools, below it and no span around them is a run of its own."""
        span_id = span.raw.span_id
        if not self._works(span):
            return _Scope(scope.agent, scope.hint, scope.name, span)
        self.tool_runs[span_id] = self._name(span, None, scope)
        return _Scope(span_id, canonical(self.tool_runs[span_id]), span.raw.name)

    def _works(self, tool: NormalizedSpan) -> bool:
        """Whether an agent without a span of its own works right below the tool.

        A tool that only asks a model, even for structured data by way of tools, is none.
        """
        children = self.tree.children.get(tool.raw.span_id)
        if not children or any(self._is_agents(c) for c in children if c.kind is not Kind.TOOL):
            return False
        calls = [c for c in children if c.kind is not Kind.TOOL and self.holds[c.raw.span_id] & _LLM]
        if len(calls) == 1 and calls[0].kind in _SCOPES:
            return False
        uses = any(c.kind is Kind.TOOL and not same_name(c.tool_name, tool.tool_name) for c in children)
        if delegates(tool.tool_name, tool.tool_arguments):
            return bool(calls) or uses
        acting = any(self.holds[c.raw.span_id] & _ACTS for c in calls)
        return bool(calls) and (uses or (acting and len(calls) > 1))

    def _is_agents(self, span: NormalizedSpan) -> bool:
        return span.kind is Kind.AGENT or bool(self.holds[span.raw.span_id] & _AGENT)

    def _chain(self, span: NormalizedSpan, scope: _Scope) -> _Scope:
        """A chain is an agent where an empty agent leaf, its name, a request, a tool above or its shape says so."""
        name = self.claimed.get(span.raw.span_id)
        name = self._promoted(span, scope) if name is None else name
        if name is None:
            return scope
        span_id = span.raw.span_id
        self.changed[span_id] = replace(span, kind=Kind.AGENT, agent_name=name)
        return _Scope(span_id, canonical(name), span.raw.name)

    def _promoted(self, span: NormalizedSpan, scope: _Scope) -> str | None:
        """The name ("" where unknown) of the agent that `span` is, None where it is none."""
        span_id = span.raw.span_id
        hint = span.agent_hint or span.agent_name
        root = span_id not in self.tree.parent and span_id not in self.tree.orphans
        if not (hint or root or scope.tool or scope.asked):
            return None
        own = canonical(plain_name(span.raw.name))
        named = span.agent_name or scope.tool is not None or root or own == canonical(hint)
        # A chain with a name mark that differs from the name above.
        if hint and named and canonical(hint) != scope.hint:
            return hint
        # A chain below a tool, if it has tools, the name of its manager's chain, or a tool that delegates.
        flags = self.holds[span_id]
        if scope.tool is not None:
            like = span.raw.name == scope.name or delegates(scope.tool.tool_name, scope.tool.tool_arguments)
            return self._name(scope.tool, span, scope) if flags & _ACTS or like else None
        # A chain with the same name as one that its agent's model has requested.
        if own and own in scope.asked and own != scope.hint:
            return plain_name(span.raw.name)
        # A root chain that calls a model and has tools, if no span is of kind AGENT.
        acts = flags & _ACTS or "agent" in span.raw.name.lower()
        if root and not scope.agent and acts and not flags & _AGENT and (span.convention or span.raw.pending):
            self.shaped.add(span_id)
            return hint or self._hint_of_all(span) or plain_name(span.raw.name)
        return None

    def _name(self, tool: NormalizedSpan, span: NormalizedSpan | None, scope: _Scope) -> str:
        """The name of the agent that `tool` started: as its spans hint, as its chain's name, as the tool's says."""
        addressed = addressee(tool.tool_name, tool.tool_arguments)
        hint = self._hint_below(span or tool)
        if hint and canonical(hint) != scope.hint:
            return hint
        if span is not None and addressed.endswith(own := canonical(plain_name(span.raw.name))) and own:
            return plain_name(span.raw.name)
        return addressed

    def _hint_of_all(self, root: NormalizedSpan) -> str:
        """The agent's name on which all that ask a model right below agree, "" without one."""
        working = [c for c in self.tree.children.get(root.raw.span_id, ()) if self.holds[c.raw.span_id] & _LLM]
        hints = {c.agent_hint or c.agent_name or self._hint_below(c) for c in working[:_MOST_SIBLINGS]}
        return hints.pop() if len(hints) == 1 else ""

    def _hint_below(self, span: NormalizedSpan) -> str:
        """The agent's name as the nearest spans below give it."""
        level = self.tree.children.get(span.raw.span_id, [])
        for _ in range(_REACH):
            for child in level:
                if child.kind is not Kind.TOOL and (name := child.agent_hint or child.agent_name):
                    return name
            level = [g for c in level if c.kind is not Kind.TOOL for g in self.tree.children.get(c.raw.span_id, [])]
            if len(level) > _MOST_SIBLINGS:
                return ""
        return ""

    def _is_preparation(self, span: NormalizedSpan) -> bool:
        """A span of kind LLM that is no call: it wrote nothing, cost nothing, failed not, and the call came after."""
        raw = span.raw
        said = span.output_messages or span.input_tokens is not None or span.output_tokens is not None
        if said or span.is_error or raw.pending or span.finish_reasons or raw.span_id in self.tree.children:
            return False
        parent = self.tree.parent.get(raw.span_id)
        siblings = self.tree.children[parent] if parent is not None else []
        if len(siblings) > _MOST_SIBLINGS:
            return False
        later = (s for s in siblings if s.kind is Kind.LLM and s.raw.start >= raw.end and s is not span)
        return any(s.output_messages or s.raw.span_id in self.tree.children for s in later)
