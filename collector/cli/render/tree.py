"""One trace as a tree for people: agent runs, their turns and tool calls, each error pinned at its spans."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rich.console import Group
from rich.text import Text
from rich.tree import Tree

from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.naming import agent_name, error_place
from tracejury.schemas.text.scores import score_words
from tracejury.schemas.wire.errors import ErrorJson
from tracejury.schemas.wire.traces import (
    AgentRunJson,
    TokensJson,
    ToolCallJson,
    TraceJson,
    TurnJson,
    VerdictJson,
)

from .tables import TITLE, content, decisive_told, error_details, headline, status_text

RUN_STYLE: Mapping[str, str] = {"ok": "green", "error": "red", "unfinished": "yellow"}
TEXT = 80
MAX_DEPTH = 50  # of agent runs under agent runs; beyond it they hang on the top


class _Pinned:
    """The errors by span; each is shown once a span, where that first stands. And the verdicts by run."""

    def __init__(self, errors: Iterable[ErrorJson], verdicts: Iterable[VerdictJson]) -> None:
        self._by_span: dict[str, list[ErrorJson]] = defaultdict(list)
        self._elsewhere: dict[str, list[tuple[str, ErrorJson]]] = defaultdict(list)
        for error in errors:
            self._by_span[error.span_id].append(error)
            for role, span_id in (("shown", error.shown_at), ("read", error.read_at)):
                if span_id:
                    self._elsewhere[span_id].append((role, error))
            for span_id in error.repeated_at:
                self._elsewhere[span_id].append(("repeated", error))
        self._verdicts: dict[str, list[VerdictJson]] = defaultdict(list)
        for verdict in verdicts:
            self._verdicts[run_of(verdict)].append(verdict)

    def pin(self, span_id: str | None, node: Tree) -> None:
        """Hang the errors of a span under its node: those made there in full, of others that they show there."""
        for error in self._by_span.pop(span_id or "", ()):
            node.add(Group(Text.assemble("✗ ", *headline(error)), *error_details(error)))
        for role, error in self._elsewhere.pop(span_id or "", ()):
            node.add(Text.assemble(f"· {role} here: ", content(error.title, TITLE), "  span ", content(error.span_id)))

    def scores(self, run_id: str, node: Tree) -> None:
        """Hang the scores of a run under its node, on one line."""
        verdicts = sorted(self._verdicts.get(run_id, ()), key=lambda v: v.judge)
        if verdicts:
            parts = [Text.assemble(content(v.judge, 60), " ", _score(v)) for v in verdicts]
            node.add(Text.assemble("scores: ", Text(", ").join(parts)))

    def rest(self) -> list[str]:
        """The spans whose errors have not been shown."""
        return list(self._by_span)


def trace_tree(trace: TraceJson) -> Tree:
    """The whole trace."""
    root = Tree(_title(trace), guide_style="dim")
    for error in (error for error in trace.errors if error.decisive):
        place = content(error_place(error.agent_run_id, error.agent, error.turn), 90)
        root.add(Text.assemble(*headline(error), "  ", place)).add(decisive_told(error))
    if not trace.agent_runs:
        root.add(Text("no agent recognised: its spans stand outside of any agent run", style="dim"))
    pinned = _Pinned(trace.errors, trace.verdicts)
    below: dict[str, list[AgentRunJson]] = defaultdict(list)
    known = {run.id for run in trace.agent_runs}
    for run in trace.agent_runs:
        parent = run.parent_id or ""
        below[parent if parent in known else ""].append(run)
    shown: set[str] = set()
    for run in [*below[""], *trace.agent_runs]:
        if run.id not in shown:
            _add_run(root, run, below, pinned, shown)
    rest = pinned.rest()
    if rest:
        outside = root.add(Text("outside the agents' turns", style="dim"))
        for span_id in rest:
            pinned.pin(span_id, outside.add(Text.assemble("span ", content(span_id, style="bold"))))
    for verdict in trace.verdicts:
        if run_of(verdict) not in known:
            root.add(Text.assemble("verdict ", content(verdict.judge, 60), "  ", _score(verdict)))
    return root


def _title(trace: TraceJson) -> Text:
    found = [counted(len(trace.errors), "error")] if trace.errors or not trace.not_judged else []
    found += [f"not judged: {NotJudged(trace.not_judged).words}"] if trace.not_judged else []
    return Text.assemble(
        "trace ",
        content(trace.trace_id, style="bold"),
        "  ",
        content(trace.service or "unknown service", 60),
        "  ",
        status_text(trace.status),
        f"  {', '.join([counted(trace.spans, 'span'), counted(len(trace.agent_runs), 'agent run'), *found])}",
        _spent(trace.tokens),
    )


def _spent(tokens: TokensJson) -> str:
    counts = [
        f"{count:,}{'+' if tokens.calls_without_usage else ''} {name}"
        for name, count in (("in", tokens.input), ("out", tokens.output))
        if count is not None
    ]
    lacking = (
        f" ({counted(tokens.calls_without_usage, 'LLM call')} without usage)" if tokens.calls_without_usage else ""
    )
    return f", tokens: {', '.join(counts)}{lacking}" if counts else ""


def _add_run(
    parent: Tree,
    run: AgentRunJson,
    below: Mapping[str, list[AgentRunJson]],
    pinned: _Pinned,
    shown: set[str],
    depth: int = 0,
) -> None:
    shown.add(run.id)
    node = parent.add(_run_title(run))
    pinned.scores(run.id, node)
    pinned.pin(run.span_id, node)
    children = {child.id: child for child in below.get(run.id, ()) if child.id not in shown}
    for turn in run.turns:
        turn_node = node.add(_turn_title(turn))
        pinned.pin(turn.llm_span_id, turn_node)
        for call in turn.tool_calls:
            call_node = turn_node.add(_call_title(call))
            pinned.pin(call.span_id, call_node)
            child = children.pop(call.sub_run_id or "", None)
            if child and depth < MAX_DEPTH:
                _add_run(call_node, child, below, pinned, shown, depth + 1)
        for child_id in turn.sub_run_ids:
            child = children.pop(child_id, None)
            if child and depth < MAX_DEPTH:
                _add_run(turn_node, child, below, pinned, shown, depth + 1)
    for child in children.values():
        if child.id not in shown and depth < MAX_DEPTH:
            _add_run(node, child, below, pinned, shown, depth + 1)
    if run.answer:
        node.add(Text.assemble("answer: ", content(run.answer, TEXT)))


def _run_title(run: AgentRunJson) -> Text:
    title = Text.assemble(
        content(agent_name(run.name), 60, "bold blue"),
        f" ({run.role}, {'inferred, ' if run.inferred else ''}",
        Text(run.status, style=RUN_STYLE.get(run.status, "")),
        ")",
    )
    if run.span_id:
        title.append_text(Text.assemble("  span ", content(run.span_id)))
    if run.goal:
        title.append_text(Text.assemble("\ngoal: ", content(run.goal, TEXT)))
    return title


def _turn_title(turn: TurnJson) -> Text:
    title = Text.assemble(f"turn {turn.index} {turn.kind}")
    if turn.llm_span_id:
        title.append_text(Text.assemble("  span ", content(turn.llm_span_id)))
    if turn.text:
        title.append_text(Text.assemble("  ", content(turn.text, TEXT, "dim")))
    return title


def _call_title(call: ToolCallJson) -> Text:
    title = Text.assemble("tool ", content(call.name, 60, "bold"))
    if call.span_id:
        title.append_text(Text.assemble("  span ", content(call.span_id)))
    if call.error is not None:
        title.append_text(Text.assemble("  failed: ", content(call.error, TEXT, "red")))
    elif call.executed is False:
        title.append("  asked for, not run", style="yellow")
    elif call.result is not None:
        title.append_text(Text.assemble("  → ", content(call.result, TEXT, "dim")))
    return title


def run_of(verdict: VerdictJson) -> str:
    """The id of the run that a verdict is of, or that has its exchange; else of its trace or session."""
    subject = verdict.subject
    return subject.id.rpartition(":")[0] if subject.kind == "exchange" else subject.id


def _score(verdict: VerdictJson) -> Text:
    if verdict.not_applicable:
        return Text("not applicable", style="dim")
    said = score_words(verdict.score, verdict.value)
    if not said:
        return content(f"unscored: {verdict.unscored_reason or 'no reason given'}", TEXT, "yellow")
    return Text.assemble(said, *((" (its quote was dropped)", "yellow"),) * verdict.quote_dropped)
