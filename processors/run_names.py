"""A run's name: from its own span, the span around it or its calls; a span's name is the last resort."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .inferred import CALLS, RECEIVING
from .names import is_model, same_name
from .ownership import Ownership, RunStart
from .run_spans import RunSpans, TurnSpans
from .span_tree import SpanTree


def name_of(
    run: str,
    span: NormalizedSpan | None,
    goal: str,
    turns: Sequence[TurnSpans],
    before: Mapping[str, RunSpans],
    tree: SpanTree,
    ownership: Ownership,
) -> str:
    """The name of a run ("" where unknown); `before`: those before it by id, the one above among them.

    `span`, `goal`, `turns`: see `RunSpans`.
    """
    above = before.get(ownership.runs[run])
    if name := ownership.names.get(run):
        return name
    if name := _hinted(turns) if span is None else _stated(span, goal, above, ownership.twins.get(run)):
        return name
    if run in ownership.inferred:
        return _of_program(tree.spans.get(run), tree)
    if name := _of_kin(ownership.starts.get(run), before) or _only_other(run, above, tree):
        return name
    first = tree.spans.get(run)
    if ownership.runs[run] or first is None or first.kind is not Kind.LLM:
        return ""
    around = [tree.spans[i] for i in tree.ancestors(run)]  # a client's conversation: what it is in tells the program
    received = [s for s in around if s.raw.kind in RECEIVING]
    top = next(reversed(received or around), first)
    return _of_program(top, tree) if ownership.owner[top.span_id] in ("", run) else ""


def _of_program(top: NormalizedSpan | None, tree: SpanTree) -> str:
    """The name of the outermost span, unless it is a call; else the service's, but for OpenTelemetry's default."""
    if top is not None and top.kind not in CALLS:
        return top.raw.name
    services = (s.raw.service for s in tree.order)
    return next((name for name in services if name and not name.startswith("unknown_service")), "")


def _hinted(turns: Sequence[TurnSpans]) -> str:
    """The name that most of its calls give the agent; else that most of its steps, or its tools' spans, do."""
    parts: tuple[Callable[[TurnSpans], Sequence[NormalizedSpan]], ...] = (
        lambda turn: [turn.llm] if turn.llm else [],
        lambda turn: turn.steps,
        lambda turn: turn.calls,
    )
    for spans_of in parts:
        names = Counter(name for t in turns for s in spans_of(t) if (name := s.agent_name or s.agent_hint))
        if names:
            return max(names, key=lambda n: (names[n], n))
    return ""


def _stated(span: NormalizedSpan, goal: str, above: RunSpans | None, twin: NormalizedSpan | None) -> str:
    """The name that its own span gives the agent; a span that is called after the model gives none."""
    if name := span.agent_name or (twin.agent_name if twin else ""):
        return name
    own_name = span.raw.name.removesuffix(".run")
    if is_model(own_name.rpartition(" ")[2], span.model):
        return ""
    managed = above.span.managed_agents if above and above.span else ()
    if managed and own_name not in managed:  # smolagents: the span has the class's name, the task quotes the agent's
        task = goal[:500]
        named = [a for a in managed if f"'{a}'" in task] or list(managed)
        return named[0] if len(named) == 1 else own_name
    return own_name


def _of_kin(start: RunStart | None, before: Mapping[str, RunSpans]) -> str:
    """The name of an agent that the request which started the run names, as that agent's other runs spell it."""
    name = (start.to or start.name) if start else ""
    if start is None or not name:
        return ""
    return next((other.name for other in before.values() if other.span and same_name(name, other.name)), start.to)


def _only_other(run: str, above: RunSpans | None, tree: SpanTree) -> str:
    """The one agent that the program lists beside the agent that started the run, "" where there are several."""
    if above is None or not above.name:
        return ""
    for span_id in tree.ancestors(run):
        if listed := tree.spans[span_id].managed_agents:
            others = [name for name in listed if name != above.name]
            return others[0] if len(others) == 1 < len(listed) else ""
    return ""
