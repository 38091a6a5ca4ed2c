"""All spans of a growing trace, and which of them matter for where agent runs begin and end.

Most spans of a trace are leaves below an agent, known or missing: calls of its model and of its tools, right below it
or in steps that hold nothing else. They are the agent's, and beyond the first they change nothing in the roles and
owners of other spans. So only the others, and those that address an agent, are looked at again when the trace grows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .call_log import CallLog
from .delegation import Address, addresses_of
from .leaves import Leaves
from .names import canonical, plain_name
from .span_tree import TimeKey, collapse, time_key

_FAR: Final = 1 << 63
_SCOPES: Final = frozenset({Kind.CHAIN, Kind.OTHER})
_MAY_BE_LEAF: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.CHAIN})


class SpanIndex:
    """The spans by id, fed pass by pass.

    Leaves are of the run that the span which stands for them in the tree is of.

    `start`, `end`: of the first and last of the spans; `received`: the last arrival; `conventions`: how many spans have
    each; `tools`: number of TOOL spans; `sessions`: ids of the spans that name a session; `version`: counts the passes
    that changed any span.
    """

    def __init__(self) -> None:
        self.spans: dict[str, NormalizedSpan] = {}
        self.leaves = Leaves()
        self.start, self.end, self.received = _FAR, -_FAR, 0
        self.conventions: dict[str, int] = {}
        self.sessions: set[str] = set()
        self._given: list[NormalizedSpan] = []
        self._log: CallLog | None = None
        self._below: dict[str, dict[str, tuple[TimeKey, NormalizedSpan]]] = {}
        self.tools = 0
        self._calls: dict[str, bool] = {}  # LLM and TOOL spans: whether they may be leaves, and others beside them
        self.addresses: dict[str, tuple[Address, ...]] = {}
        self._addressing: dict[str, set[str]] = {}  # name to the parents of the spans that address it
        self._steps: dict[str, set[str]] = {}  # name to the parents of the steps (CHAIN) that have it
        self._names: set[str] = set()
        self._whole: set[str] = set()  # parents whose leaves all matter, "" for all parents
        self._kept: dict[str, list[NormalizedSpan]] = {}
        self._touched: set[str] = set()
        self._added: dict[str, dict[str, NormalizedSpan]] = {}  # by parent: what may be further leaves of its, by id
        self._standing: dict[str, NormalizedSpan] = {}  # by id of the span above the leaves: the one for all of them
        self.version = 0

    @property
    def log(self) -> CallLog:
        """The calls of all spans, made at first use."""
        if self._log is None:
            self._log = CallLog()
            for _, span in sorted((time_key(s), s) for s in self.spans.values() if s.kind in (Kind.LLM, Kind.TOOL)):
                self._log.add(span)
        return self._log

    @property
    def structure(self) -> list[NormalizedSpan]:
        """All spans but the leaves."""
        self._touch_groups()
        for above, spans in self._added.items():
            if not self._add_leaves(above, spans):
                self._touched.add(above)
        self._touch_groups()
        touched, self._touched = self._touched, set()
        for parent in touched:
            self._release(parent)
        for parent in touched:
            self._split(parent)
        self._added.clear()
        return [span for kept in self._kept.values() for span in kept]

    def update(self, spans: Sequence[NormalizedSpan]) -> bool:
        """Take in the spans of a trace that were not there at the last pass, or were others; False if one is gone."""
        known = len(self._given)
        added = spans[known:] if known and spans[:known] == self._given else None
        if added is None or any(s.raw.span_id in self.spans for s in added):
            unique = collapse(spans)
            if not self.spans.keys() <= unique.keys():
                return False
            changed = [span for span_id, span in unique.items() if self.spans.get(span_id) is not span]
            timed, arrived, self.start, self.end, self.received = list(unique.values()), spans, _FAR, -_FAR, 0
        else:
            timed = changed = list(collapse(added).values())
            arrived = added
        for span in changed:
            self._take(span)
        self.version += bool(changed)
        self.start = min(self.start, min((s.raw.start for s in timed), default=_FAR))
        self.end = max(self.end, max((s.raw.end for s in timed), default=-_FAR))
        self.received = max(self.received, max((s.raw.received_at for s in arrived), default=0))
        self._given = list(spans)
        return True

    def name(self, names: Iterable[str]) -> bool:
        """Note names (canonical) of agents; whether spans address one that was not known."""
        return sum(map(self._name, names)) > 0  # each is to be noted

    def _name(self, name: str) -> bool:
        if name in self._names:
            return False
        self._names.add(name)
        touched = self._addressing.get(name, ())
        self._touched.update(touched)
        return bool(touched)

    def keep_all(self, holders: Collection[str]) -> None:
        """Count the leaves of these as structure from now on."""
        parents = {parent for parent, holder in self.leaves.above.items() if holder in holders}
        self._whole.update(parents)
        self._touched.update(parents)

    def _take(self, span: NormalizedSpan) -> None:
        span_id = span.raw.span_id
        before = self.spans.get(span_id)
        if before is not None:
            self._take_out(before)
            if self._log is not None and before.kind in (Kind.LLM, Kind.TOOL):
                self._log.remove(before)
            self.tools -= before.kind is Kind.TOOL
            self._calls.pop(span_id, None)
            self.conventions[before.convention] -= 1
            self.sessions.discard(span_id)
        self.conventions[span.convention] = self.conventions.get(span.convention, 0) + 1
        if span.session_id:
            self.sessions.add(span_id)
        self.spans[span_id] = span
        self._put_below(span, is_new=before is None)
        if span_id in self._below:
            self._touched.add(span_id)
        if span.kind in (Kind.LLM, Kind.TOOL):
            self._take_call(span)
        elif span.kind is Kind.AGENT and span.agent_name:
            self._name(canonical(span.agent_name))
        elif span.kind in _SCOPES:
            self._name(name := canonical(plain_name(span.raw.name)))
            self._steps.setdefault(name, set()).add(span.raw.parent_span_id)
        addresses = self.addresses.get(span_id)
        someone = addresses and any(not address.to and address.hands_over for address in addresses)
        if (span.agent_parent or someone) and "" not in self._whole:
            self._whole.add("")
            self._touched.update(self.leaves.above)

    def _put_below(self, span: NormalizedSpan, *, is_new: bool) -> None:
        span_id, above = span.raw.span_id, span.raw.parent_span_id
        beside = self._below.get(above)
        step = self.spans.get(above)
        step = step if step is not None and step.kind is Kind.CHAIN else None
        if beside is None:
            beside = self._below[above] = {}
            if step is None:  # the span above is no longer a leaf itself
                self._touched.add(self._above(above))
        beside[span_id] = (time_key(span), span)
        if not is_new or span.kind not in _MAY_BE_LEAF:
            self._touched.add(above)
            return
        self._added.setdefault(above, {})[span_id] = span
        if step is not None and above not in self.leaves.steps and step.raw.parent_span_id in self.leaves.above:
            self._added.setdefault(step.raw.parent_span_id, {})[above] = step  # it may be a leaf with all its calls

    def _take_call(self, span: NormalizedSpan) -> None:
        span_id, above = span.raw.span_id, span.raw.parent_span_id
        if self._log is not None:
            self._log.add(span)
        self.tools += span.kind is Kind.TOOL
        self.addresses[span_id] = addresses = addresses_of(span)
        self._calls[span_id] = _may_be_leaf(span, addresses)
        for address in addresses:
            if address.to not in self._addressing:
                self._touched.update(self._steps.get(address.to, ()))
            self._addressing.setdefault(address.to, set()).add(above)

    def _take_out(self, span: NormalizedSpan) -> None:
        above = span.raw.parent_span_id
        del self._below[above][span.raw.span_id]
        if not self._below[above]:
            del self._below[above]
            self._touched.add(self._above(above))
        self._touched.add(above)

    def _above(self, span_id: str) -> str:
        span = self.spans.get(span_id)
        return span.raw.parent_span_id if span is not None else ""

    def _touch_groups(self) -> None:
        """What touches a step that is a leaf touches the group that it is of."""
        steps = self.leaves.steps
        self._touched = {steps.get(parent, parent) for parent in self._touched}

    def _release(self, parent: str) -> None:
        for step in self.leaves.release(parent):
            self._kept[step] = self._children(step)

    def _split(self, parent: str) -> None:
        """Part the spans below one into leaves and others."""
        if parent in self.leaves.steps:  # it was touched before it became a leaf
            return
        children = self._children(parent)
        holder, leaves = self._leaves(parent, children)
        if leaves:
            self.leaves.above[parent] = holder
            self._take_leaves(parent, leaves)
        self._kept[parent] = [s for s in children if s.raw.span_id not in leaves] if leaves else children

    def _take_leaves(self, parent: str, leaves: dict[str, NormalizedSpan]) -> None:
        steps = [span_id for span_id, span in leaves.items() if span.kind is Kind.CHAIN]
        for step in steps:
            self._release(step)  # its calls were leaves while it was missing
            self._kept.pop(step, None)
        self._touched.difference_update(steps)
        self.leaves.add(parent, leaves, {step: self._children(step) for step in steps})

    def _children(self, parent: str) -> list[NormalizedSpan]:
        below = self._below.get(parent)
        return [span for _, span in sorted(below.values())] if below else []

    def _add_leaves(self, parent: str, spans: dict[str, NormalizedSpan]) -> bool:
        """Take in further spans below one; False where they are not all leaves, or it may have to be split anew."""
        if parent in self.leaves.steps:
            return self._add_to_step(self.spans[parent], spans)
        if parent in self._touched or parent not in self.leaves.above:
            return False
        agent, one, leaves = self.spans.get(parent), self._standing[parent], dict[str, NormalizedSpan]()
        for span_id, span in spans.items():
            if self._is_leaf(span, agent):
                if not self._may_join(span, agent, one):
                    return False
                leaves[span_id] = span
            elif span.kind is not Kind.CHAIN:
                return False
        self._kept[parent] = [s for s in self._kept[parent] if s.raw.span_id not in spans]
        self._kept[parent] += (span for span_id, span in spans.items() if span_id not in leaves)
        if leaves:
            self._take_leaves(parent, leaves)
        return True

    def _add_to_step(self, step: NormalizedSpan, calls: dict[str, NormalizedSpan]) -> bool:
        """Take in further calls below a step that is a leaf; False where it may be none with them."""
        parent = self.leaves.steps[step.raw.span_id]
        agent, one = self.spans.get(parent), self._standing[parent]
        added = [call for span_id, call in calls.items() if span_id not in self.leaves.spans]
        if not (self._is_leaf(step, agent) and self._may_join(step, agent, one)):
            return False
        if added:
            self.leaves.add_to_step(step, added)
        return True

    def _may_join(self, span: NormalizedSpan, agent: NormalizedSpan | None, one: NormalizedSpan) -> bool:
        """Whether `one` of the spans below an agent, or below one that is missing, stands for this leaf, too."""
        return time_key(one) < time_key(span) and (agent is None or self._asks(one) or not self._asks(span))

    def _asks(self, leaf: NormalizedSpan) -> bool:
        """Whether it is a call of a model, or a step with one."""
        below = self._below.get(leaf.raw.span_id, _NONE).values() if leaf.kind is Kind.CHAIN else ()
        return leaf.kind is Kind.LLM or any(call.kind is Kind.LLM for _, call in below)

    def _is_leaf(self, span: NormalizedSpan, above: NormalizedSpan | None) -> bool:
        """Whether a call or a step, right below a span or below one that is missing, changes nothing in others."""
        span_id = span.raw.span_id
        if above and span.raw.trace_id != above.raw.trace_id:
            return False
        if span.kind is Kind.CHAIN:
            return self._is_plain_step(span)
        if not self._calls.get(span_id) or span_id in self._below:
            return False
        return not any(address.to in self._names for address in self.addresses[span_id])

    def _is_plain_step(self, span: NormalizedSpan) -> bool:
        """Whether a CHAIN span has nothing but leaves below it, and is called like no agent."""
        below = self._below.get(span.raw.span_id)
        if not below or span.agent_name or span.agent_hint or canonical(plain_name(span.raw.name)) in self._addressing:
            return False
        began = time_key(span)[0]
        return all(
            began <= at[0] and call.kind is not Kind.CHAIN and self._is_leaf(call, span) for at, call in below.values()
        )

    def _leaves(self, parent: str, children: Sequence[NormalizedSpan]) -> tuple[str, dict[str, NormalizedSpan]]:
        """The leaves below a span, or below one that is missing, and the span of the tree that stands for them."""
        agent = self.spans.get(parent)
        named = agent is not None and agent.kind is Kind.AGENT and agent.agent_name
        missing = agent is None and parent != ""
        if not (named or missing) or not self._whole.isdisjoint(("", parent)):
            return "", {}
        leaves: dict[str, NormalizedSpan] = {}
        for span in children:
            span_id = span.raw.span_id
            if self._calls.get(span_id) is False or (span.kind is Kind.AGENT and span_id not in self._below):
                return "", {}
            if self._is_leaf(span, agent):
                leaves[span_id] = span
        # One stands for all: of an agent one that asks a model, as it matters whether it does; else the first.
        asking = (i for i, span in leaves.items() if agent is not None and self._asks(span))
        one = next(asking, next(iter(leaves), ""))
        if one:
            self._standing[parent] = leaves.pop(one)
        return parent if agent is not None else one, leaves


_NONE: Final[dict[str, tuple[TimeKey, NormalizedSpan]]] = {}


def _may_be_leaf(span: NormalizedSpan, addresses: Iterable[Address]) -> bool:
    """Whether the span does not show more by standing beside others: a hand-off, or a call that was only prepared."""
    return span.kind is Kind.TOOL or bool(span.output_messages and not any(a.hands_over for a in addresses))
