"""All spans of a growing trace, and which of them matter for where agent runs begin and end.

Most spans of a trace are leaves right below an agent, known or missing: calls of its model and of its tools. They are
the agent's, and beyond the first they change nothing in the roles and owners of other spans. So only the others, and
those that address an agent, are looked at again when the trace grows.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from ..schemas.normalized import Kind, NormalizedSpan
from .call_log import CallLog
from .delegation import Address, addresses_of
from .names import canonical, plain_name
from .span_tree import TimeKey, collapse, time_key

_FAR: Final = 1 << 63
_SCOPES: Final = frozenset({Kind.CHAIN, Kind.OTHER})


class SpanIndex:
    """The spans by id, fed pass by pass.

    `leaves`: by the span that stands for them in the tree, in order of time: their agent's, or the first of those that
    name the same missing parent. They are of the run that it is of (`leaf_holder`). `leaf_parent`: of known parents.

    `start`, `end`: of the first and last of the spans; `received`: the last arrival; `conventions`: how many spans have
    each; `tools`: number of TOOL spans; `sessions`: ids of the spans that name a session; `version`: counts the passes
    that changed any span.
    """

    def __init__(self) -> None:
        self.spans: dict[str, NormalizedSpan] = {}
        self.leaves: dict[str, tuple[NormalizedSpan, ...]] = {}
        self.leaf_parent: dict[str, str] = {}
        self.leaf_holder: dict[str, str] = {}
        self.leaf_spans: dict[str, NormalizedSpan] = {}
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
        self._names: set[str] = set()
        self._holders: dict[str, str] = {}  # by id of the span above the leaves
        self._whole: set[str] = set()  # parents whose leaves all matter, "" for all parents
        self._kept: dict[str, list[NormalizedSpan]] = {}
        self._touched: set[str] = set()
        self._added: dict[str, list[NormalizedSpan]] = {}  # by parent: calls that may be further leaves of its
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
        self._touched.update(above for above, calls in self._added.items() if not self._add_leaves(above, calls))
        for parent in self._touched:
            self._split(parent)
        self._touched.clear()
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
        parents = {parent for parent, holder in self._holders.items() if holder in holders}
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
            self._name(canonical(plain_name(span.raw.name)))
        addresses = self.addresses.get(span_id)
        someone = addresses and any(not address.to and address.hands_over for address in addresses)
        if (span.agent_parent or someone) and "" not in self._whole:
            self._whole.add("")
            self._touched.update(self._holders)

    def _put_below(self, span: NormalizedSpan, *, is_new: bool) -> None:
        span_id, above = span.raw.span_id, span.raw.parent_span_id
        beside = self._below.get(above)
        if beside is None:  # the span above is no longer a leaf itself
            beside = self._below[above] = {}
            self._touched.add(self._above(above))
        beside[span_id] = (time_key(span), span)
        if is_new and span.kind in (Kind.LLM, Kind.TOOL):
            self._added.setdefault(above, []).append(span)
        else:
            self._touched.add(above)

    def _take_call(self, span: NormalizedSpan) -> None:
        span_id, above = span.raw.span_id, span.raw.parent_span_id
        if self._log is not None:
            self._log.add(span)
        self.tools += span.kind is Kind.TOOL
        self.addresses[span_id] = addresses = addresses_of(span)
        self._calls[span_id] = _may_be_leaf(span, addresses)
        for address in addresses:
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

    def _split(self, parent: str) -> None:
        """Part the spans below one into leaves and others."""
        children = [span for _, span in sorted(self._below.get(parent, _NONE).values())]
        holder, leaves = self._leaves(parent, children)
        for span in self.leaves.pop(self._holders.pop(parent, ""), ()):
            self.leaf_parent.pop(span.raw.span_id, None)
            self.leaf_holder.pop(span.raw.span_id, None)
            self.leaf_spans.pop(span.raw.span_id, None)
        if leaves:
            self._holders[parent] = holder
            self.leaves[holder] = tuple(leaves.values())
            self._note_leaves(parent, holder, leaves)
        self._kept[parent] = [s for s in children if s.raw.span_id not in leaves] if leaves else children

    def _add_leaves(self, parent: str, calls: Sequence[NormalizedSpan]) -> bool:
        """Take in further leaves below a span; False where they are not all leaves, or it may have to be split anew."""
        holder = self._holders.get(parent, "")
        if parent in self._touched or not holder:
            return False
        agent, one = self.spans.get(parent), self._standing[parent]
        for span in calls:
            if not self._is_leaf(span, agent) or time_key(span) < time_key(one):
                return False
            if agent is not None and span.kind is Kind.LLM and one.kind is not Kind.LLM:
                return False
        known, added = self.leaves[holder], sorted(calls, key=time_key)
        in_order = time_key(known[-1]) < time_key(added[0])
        self.leaves[holder] = (*known, *added) if in_order else tuple(sorted((*known, *added), key=time_key))
        self._note_leaves(parent, holder, {span.raw.span_id: span for span in added})
        return True

    def _note_leaves(self, parent: str, holder: str, leaves: Mapping[str, NormalizedSpan]) -> None:
        self.leaf_holder |= dict.fromkeys(leaves, holder)
        self.leaf_spans |= leaves
        if holder == parent:
            self.leaf_parent |= dict.fromkeys(leaves, parent)

    def _is_leaf(self, span: NormalizedSpan, agent: NormalizedSpan | None) -> bool:
        """Whether a call right below an agent, or below one that is missing, changes nothing in other spans."""
        span_id = span.raw.span_id
        if (
            not self._calls.get(span_id)
            or span_id in self._below
            or (agent and span.raw.trace_id != agent.raw.trace_id)
        ):
            return False
        return not any(address.to in self._names for address in self.addresses[span_id])

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
        # One stands for all: of an agent a call of a model, as it matters whether it asks one; else the first.
        asking = (i for i, span in leaves.items() if span.kind is Kind.LLM and agent is not None)
        one = next(asking, next(iter(leaves), ""))
        if one:
            self._standing[parent] = leaves.pop(one)
        return parent if agent is not None else one, leaves


_NONE: Final[Mapping[str, tuple[TimeKey, NormalizedSpan]]] = {}


def _may_be_leaf(span: NormalizedSpan, addresses: Iterable[Address]) -> bool:
    """Whether the span does not show more by standing beside others: a hand-off, or a call that was only prepared."""
    return span.kind is Kind.TOOL or bool(span.output_messages and not any(a.hands_over for a in addresses))
