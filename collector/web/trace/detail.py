"""Details of a node of a trace: a turn with its tool calls, an agent run or a span, from the rebuilt trace.

Messages are those that are new to the run. Every finding's evidence is marked in the text that holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final
from urllib.parse import urlencode

from tracejury.collector.queries.trace.trace_index import TraceIndex
from tracejury.processors.media import media_of
from tracejury.schemas.normalized import Kind, NormalizedSpan
from tracejury.schemas.text.naming import agent_name
from tracejury.schemas.trajectory import AgentRun, ToolCall, Trace, Turn

from .blocks import (
    Block,
    Rank,
    as_recorded,
    happened,
    llm_blocks,
    made_call_blocks,
    quotes_of,
    span_blocks,
    turn_blocks,
    with_quotes,
)
from .markdown import markdown
from .marks import Quote, show
from .media import MOST_SHOWN, is_shown
from .parts import Detail, Neighbour, RunDetail, ShownBlock, ShownMedia, SpanDetail, SpanSection, TurnDetail
from .shown_errors import NO_ERRORS, ShownError, by_span

MAX_SECTIONS: Final = 60
"""Tool calls of a turn shown; the tree has all of them."""

MAX_BLOCKS: Final = 120
"""Texts of a section shown; the raw span has all of them."""


_MARKDOWN: Final = frozenset({"input", "output", "reasoning", "result"})
"""Roles of texts that may be Markdown. A text with a quote is shown as it was written."""


class Details:
    """Details of one rebuilt trace; `errors`: those that show."""

    def __init__(self, trace: Trace, trace_index: TraceIndex, errors: Sequence[ShownError]) -> None:
        self.trace, self.trace_index = trace, trace_index
        self._runs = {run.id: run for run in trace.runs}
        self._errors = by_span(errors)
        self._room = MOST_SHOWN

    def at(self, key: str, around: int = 2) -> Detail | None:
        """The detail of a key, with up to `around` turns before and after; None for an unknown key."""
        kind, _, rest = key.partition(":")
        if kind == "run" and (run := self._runs.get(rest)):
            return self._run(run)
        if kind == "span" and (span := self.trace.spans.get(rest)):
            return SpanDetail(self._section(span, span_blocks(span)))
        found = self._turn(key)
        if found is None:
            return None
        run, turn, number = found
        return self._turn_detail(run, turn, number, around)

    def blocks_at(self, key: str) -> Sequence[Block]:
        """The blocks of a key, in the order in which URLs number them."""
        kind, _, rest = key.partition(":")
        if kind == "text" and (span := self.trace.spans.get(rest)):
            return self._blocks_of(span)
        if kind == "goal" and (run := self._runs.get(rest)):
            return _run_blocks(run)
        if kind == "own" and (run := self._runs.get(rest)) and run.span is not None:
            return happened(run.span)
        found = self._turn(key)
        if found and found[2] is not None:
            return made_call_blocks(found[1].tool_calls[found[2]])
        return turn_blocks(found[1]) if found else ()

    def _turn(self, key: str) -> tuple[AgentRun, Turn, int | None] | None:
        """The run, the turn and, of a call's key, the number of the call."""
        kind, *parts = key.split(":", 3 if key.startswith("call:") else 2)
        numbers = parts[:-1]
        if kind not in ("turn", "call") or not numbers or not all(n.isascii() and n.isdecimal() for n in numbers):
            return None
        run = self._runs.get(parts[-1])
        index = int(numbers[-1][:9])
        if run is None or index >= len(run.turns):
            return None
        turn = run.turns[index]
        if kind == "turn":
            return run, turn, None
        number = int(numbers[0][:9])
        return (run, turn, number) if number < len(turn.tool_calls) else None

    def _blocks_of(self, span: NormalizedSpan) -> list[Block]:
        key = self.trace_index.key_of_span(span.span_id) or ""
        found = self._turn(key)
        if found:
            _, turn, number = found
            if turn.llm is not None and turn.llm.span_id == span.span_id:
                return llm_blocks(span, turn.new_messages)
            if number is not None:
                return made_call_blocks(turn.tool_calls[number])
        if span.kind is Kind.LLM:
            return llm_blocks(span, span.input_messages)
        return span_blocks(span)

    def _turn_detail(self, run: AgentRun, turn: Turn, number: int | None, around: int) -> TurnDetail:
        sections = []
        if turn.llm is not None:
            before = next((t.llm for t in reversed(run.turns[: turn.index]) if t.llm is not None), None)
            blocks = llm_blocks(turn.llm, turn.new_messages)
            sections.append(self._section(turn.llm, blocks, folded=False, before=before))
        first = 0 if number is None or number < MAX_SECTIONS else number
        calls = list(enumerate(turn.tool_calls))[first : first + MAX_SECTIONS]
        sections += [self._call(run, turn, call, i, asked=number == i) for i, call in calls]
        sections += self._steps(run, turn)
        return TurnDetail(
            run=run,
            run_query=urlencode({"span": _span_id(run)}),
            index=turn.index,
            kind=turn.kind.value,
            closed=turn.closed,
            sections=sections,
            before=[_neighbour(run, t) for t in run.turns[max(0, turn.index - around) : turn.index]],
            after=[_neighbour(run, t) for t in run.turns[turn.index + 1 : turn.index + 1 + around]],
            left_out=len(turn.tool_calls) - len(calls),
        )

    def _call(self, run: AgentRun, turn: Turn, call: ToolCall, number: int, *, asked: bool) -> SpanSection:
        key = f"call:{number}:{turn.index}:{run.id}"
        sub = self._runs.get(call.sub_run_id)
        started = _link(sub)
        failed = "error" if call.error is not None else "refused" if call.executed is False else "ok"
        if call.span is not None:
            return self._section(
                call.span,
                made_call_blocks(call),
                title=call.name,
                state=failed,
                folded=not asked and failed == "ok",
                sub_run=started,
            )
        blocks = _numbered(made_call_blocks(call), {"at": key})
        return SpanSection(
            kind="tool",
            title=call.name,
            span_id="",
            home=self.trace.trace_id,
            query=urlencode({"at": key}),
            state=failed if call.executed is not None else "",
            blocks=blocks,
            folded=not asked and failed == "ok",
            sub_run=started,
        )

    def _steps(self, run: AgentRun, turn: Turn) -> list[SpanSection]:
        """The steps around the calls: those with errors on their own, the rest in one folded section."""
        held = [w for w in turn.wrappers if w.span_id in self._errors]
        sections = [self._section(w, span_blocks(w), folded=False) for w in held]
        key = f"turn:{turn.index}:{run.id}"
        blocks = _numbered(turn_blocks(turn), {"at": key})
        if blocks and not held:
            first = turn.wrappers[0] if turn.wrappers else None
            sections.append(
                SpanSection(
                    kind="step",
                    title="Steps around it",
                    span_id=first.span_id if first else "",
                    home=self.trace.home(first.span_id) if first else "",
                    query=urlencode({"at": key}),
                    state="error" if any(w.is_error for w in turn.wrappers) else "",
                    blocks=blocks[:MAX_BLOCKS],
                    folded=True,
                    left_out=max(0, len(blocks) - MAX_BLOCKS),
                )
            )
        return sections

    def _run(self, run: AgentRun) -> RunDetail:
        parent = self._runs.get(run.parent_id)
        own = run.span.span_id if run.span else ""
        texts = _run_blocks(run)
        sections = []
        if run.span is not None:
            quotes = self._quotes(own)
            texts, left = with_quotes(texts, quotes)
            if own in self._errors or happened(run.span):
                sections.append(self._section(run.span, happened(run.span), key=f"own:{run.id}", quotes=left))
        return RunDetail(
            run=run,
            query=urlencode({"span": _span_id(run)}),
            texts=_numbered(texts, {"at": f"goal:{run.id}"}),
            tools=[(tool.name, tool.description) for tool in run.tools],
            sections=sections,
            turns=[_neighbour(run, turn) for turn in run.turns],
            parent=_link(parent),
        )

    def _section(
        self,
        span: NormalizedSpan,
        blocks: Sequence[Block],
        *,
        title: str = "",
        state: str = "",
        folded: bool = False,
        sub_run: tuple[str, str] | None = None,
        key: str = "",
        quotes: Sequence[Quote] | None = None,
        before: NormalizedSpan | None = None,
    ) -> SpanSection:
        """`key`: names the texts in addresses; `quotes`: those that are not marked yet, None for all.

        `before`: the call before, whose pictures, sound and files were shown with it.
        """
        errors = self._errors.get(span.span_id, NO_ERRORS)
        if quotes is None:
            quotes = self._quotes(span.span_id)
        marked, left = with_quotes(blocks, quotes)
        marked += as_recorded(span, left)
        shown = _numbered(marked, {"at": key or f"text:{span.span_id}"})
        kept = shown[-MAX_BLOCKS:]
        return SpanSection(
            kind=span.kind.value or "span",
            title=title or span.tool_name or span.agent_name or span.raw.name,
            span_id=span.span_id,
            home=self.trace.home(span.span_id),
            query=urlencode({"span": span.span_id}),
            state=state or ("error" if span.is_error else "unfinished" if span.raw.pending else "ok"),
            start=span.raw.start,
            end=span.raw.end,
            facts=_facts(span),
            prompt=span.prompt.label if span.prompt else "",
            blocks=kept,
            errors=errors,
            media=self._media(span, before),
            folded=folded and not errors,
            sub_run=sub_run,
            left_out=len(shown) - len(kept),
        )

    def _media(self, span: NormalizedSpan, before: NormalizedSpan | None) -> list[ShownMedia]:
        found = media_of(span.raw)
        known = set(media_of(before.raw)) if before is not None and found else set()
        shown = []
        for one in found:
            if one in known:
                continue
            fits = self._room > 0 and is_shown(one)
            self._room -= fits
            shown.append(ShownMedia(one, one.kind.partition("/")[0] if fits else ""))
        return shown

    def _quotes(self, span_id: str) -> list[Quote]:
        found = self._errors.get(span_id, NO_ERRORS).findings
        return quotes_of((finding.id, finding.evidence) for finding in found)


def _run_blocks(run: AgentRun) -> list[Block]:
    texts = (
        Block("input", "Task", run.goal, Rank.SENT),
        Block("input", "System prompt", run.system_prompt, Rank.SENT, folded=True),
        Block("output", "Answer", run.answer, Rank.WRITTEN),
    )
    known = {run.goal, run.answer, ""}
    own = span_blocks(run.span) if run.span else ()
    more = [replace(b, folded=True) for b in own if b.role in ("input", "output") and b.text not in known]
    return [*(block for block in texts if block.text), *more]


def _numbered(blocks: Sequence[Block], place: Mapping[str, str]) -> list[ShownBlock]:
    """The blocks as a page shows them; `place` and the number of one name all of its text."""
    found = []
    for number, block in enumerate(blocks):
        shown = show(block.text, block.marks)
        whole = urlencode({**place, "part": number}) if shown.cut else ""
        plain = block.role in _MARKDOWN and not shown.marked and shown.pieces
        html = markdown(shown.pieces[0].text) if plain else None
        found.append(ShownBlock(block.role, block.title, shown, block.folded, whole, html))
    return found


def _span_id(run: AgentRun) -> str:
    return run.span.span_id if run.span else run.id


def _link(run: AgentRun | None) -> tuple[str, str] | None:
    return (_span_id(run), agent_name(run.name)) if run else None


def _facts(span: NormalizedSpan) -> list[tuple[str, str]]:
    facts = (
        ("model", span.model),
        ("tokens in", span.input_tokens),
        ("tokens out", span.output_tokens),
        ("ended by", ", ".join(span.finish_reasons)),
    )
    return [(name, str(value)) for name, value in facts if value not in (None, "")]


def _neighbour(run: AgentRun, turn: Turn) -> Neighbour:
    query: Mapping[str, str] = {"at": f"turn:{turn.index}:{run.id}"}
    if turn.llm is not None:
        query = {"span": turn.llm.span_id}
    failed = (turn.llm is not None and turn.llm.is_error) or any(c.error is not None for c in turn.tool_calls)
    return Neighbour(
        turn.index, turn.kind.value, turn.text[:2000], urlencode(query), [c.name for c in turn.tool_calls], failed
    )
