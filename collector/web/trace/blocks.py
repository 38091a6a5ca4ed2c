"""The texts of a span as blocks with headings, and the block that holds a finding's evidence.

Blocks come in the order in which they are read. Evidence is looked for where an error shows first: in what the span put
out, then in what happened, last in what it was sent and in its name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Final

import orjson

from tracejury.judges.evidence import json_strings
from tracejury.judges.quoting import json_text, raw_texts
from tracejury.schemas.normalized import Json, Kind, ManagedPrompt, Message, NormalizedSpan
from tracejury.schemas.text.jsontext import text_of
from tracejury.schemas.text.terminal import one_line
from tracejury.schemas.trajectory import ToolCall, Turn

from .marks import Quote, QuoteMark, find_exact, find_folded
from .pretty_json import MAX_LENGTH, pretty_json

MAX_EVENTS: Final = 50
MAX_MESSAGES: Final = 200
MAX_VALUES: Final = 500
"""Attributes of an event shown."""

LONG: Final = 30
"""Lines of JSON that are not folded."""


class Rank(IntEnum):
    """The order in which blocks are searched for evidence."""

    WRITTEN = 0
    ASKED = 1
    OUTCOME = 2
    SENT = 3
    NAME = 4
    RECORDED = 5


@dataclass(frozen=True, slots=True)
class Block:
    """A text with a heading.

    `role`: input, output, reasoning, call, result, error, status, event, log or recorded. `folded`: shown closed.
    `others`: the text in other forms, where quotes may stand that the layout has broken.
    """

    role: str
    title: str
    text: str
    rank: Rank
    folded: bool = False
    others: tuple[str, ...] = ()
    marks: tuple[QuoteMark, ...] = ()


def llm_blocks(span: NormalizedSpan, new: Sequence[Message], *, folded_roles: Sequence[str] = ()) -> list[Block]:
    """Blocks of an LLM call: its prompt, the messages new to its run, the answer, status and events."""
    blocks = [*_made_from(span.prompt), *(b for message in new[-MAX_MESSAGES:] for b in _sent(message, folded_roles))]
    blocks += [b for message in span.output_messages for b in _written(message)]
    if not any(m.text or m.tool_requests or m.reasoning for m in span.output_messages) and span.output_text:
        blocks.append(_written_as("output", "Answer", span.output_text, Rank.WRITTEN))
    return [*blocks, *happened(span)]


def _made_from(prompt: ManagedPrompt | None) -> Iterator[Block]:
    """The template of a call and what was put into it; what came of both is among the messages."""
    if prompt is not None and prompt.template:
        yield Block("input", "Prompt template", prompt.template, Rank.RECORDED, folded=True)
    if prompt is not None and prompt.variables:
        lines = [f"{name}: {value}" for name, value in prompt.variables]
        yield Block("input", "Variables of the prompt", "\n".join(lines), Rank.RECORDED, folded=True)


def span_blocks(span: NormalizedSpan) -> list[Block]:
    """Blocks of any other span: input, output, status and events."""
    blocks = []
    if span.kind is Kind.TOOL:
        blocks += call_blocks(span.tool_arguments, span.tool_result)
    else:
        for role, title, text, rank in (
            ("input", "Input", span.input_text, Rank.SENT),
            ("output", "Output", span.output_text, Rank.WRITTEN),
        ):
            blocks += [_written_as(role, title, text, rank, folded=role == "input")] if text else []
    return [*blocks, *happened(span)]


def call_blocks(arguments: Json, result: str | None, error: str | None = None) -> list[Block]:
    """Blocks of a tool call: arguments, and result or error."""
    blocks = [] if arguments is None else [_laid_out("call", "Arguments", arguments, Rank.ASKED)]
    if error is not None:
        blocks.append(Block("error", "Failed", error, Rank.OUTCOME))
    elif result is not None:
        blocks.append(_written_as("result", "Result", result, Rank.WRITTEN))
    return blocks


def made_call_blocks(call: ToolCall) -> list[Block]:
    """Blocks of a tool call, with the status and events of its span."""
    blocks = call_blocks(call.arguments, call.result, call.error)
    return [*blocks, *happened(call.span)] if call.span else blocks


def turn_blocks(turn: Turn) -> list[Block]:
    """Outputs of the steps around a turn's calls that the calls do not hold."""
    texts = {turn.text} | {c.result or "" for c in turn.tool_calls}
    pieces = [("Outcome of the step", turn.observation)]
    pieces += [(one_line(w.raw.name, 60) or "step", w.output_text) for w in turn.wrappers]
    blocks = []
    for title, text in pieces:
        if text and text not in texts:
            texts.add(text)
            blocks.append(Block("result", title, text, Rank.OUTCOME, folded=True))
    return [*blocks, *(b for w in turn.wrappers for b in happened(w))]


def happened(span: NormalizedSpan) -> list[Block]:
    """Status, events and log records of a span."""
    blocks = []
    if span.raw.status_message:
        blocks.append(Block("error" if span.is_error else "status", "Status", span.raw.status_message, Rank.OUTCOME))
    for event in span.raw.events[:MAX_EVENTS]:
        lines = [f"{key}: {value}" for key, value in list(event.attributes.items())[:MAX_VALUES]]
        blocks.append(Block("event", f"Event {one_line(event.name, 60)}", "\n".join(lines), Rank.OUTCOME, folded=True))
    left = len(span.raw.events) - MAX_EVENTS
    if left > 0:
        blocks.append(Block("event", "More events", f"{left} more: see the span as it was sent", Rank.RECORDED))
    return [*blocks, *(Block("log", "Log record", t, Rank.OUTCOME, folded=True) for t in span.log_text[:MAX_EVENTS])]


def as_recorded(span: NormalizedSpan, quotes: Sequence[Quote]) -> list[Block]:
    """Recorded texts with quotes that no block holds."""
    found: list[Block] = []
    open_quotes = list(quotes)
    for text in (span.raw.name, *raw_texts(span)):
        marks = find_exact(text, open_quotes)
        if marks:
            open_quotes = [q for q in open_quotes if q.finding_id not in {p.finding_id for p in marks}]
            found.append(Block("recorded", "As recorded", text, Rank.RECORDED, marks=tuple(marks)))
        if not open_quotes:
            break
    return found


def with_quotes(blocks: Sequence[Block], quotes: Sequence[Quote]) -> tuple[list[Block], list[Quote]]:
    """The blocks with the places of quotes, each in the first block that holds it; and the quotes that none does.

    A block with a quote is not folded. One whose layout breaks a quote is shown as it was written.
    """
    marked = list(blocks)
    order = sorted(range(len(marked)), key=lambda i: (marked[i].rank, i))
    left = list(quotes)
    for find in (find_exact, find_folded):
        for i in order:
            if not left:
                break
            marked[i], left = _take(marked[i], left, find)
    return marked, left


_Find = Callable[[str, Sequence[Quote]], list[QuoteMark]]


def _take(block: Block, quotes: Sequence[Quote], find: _Find) -> tuple[Block, list[Quote]]:
    """The block with the quotes that it holds, in the first of its forms that does; and the others."""
    left = list(quotes)
    for form in (block.text, *(block.others if not block.marks else ())):
        marks = find(form, left) if form else []
        if marks:
            others = block.others if form == block.text else ()
            block = replace(block, text=form, others=others, marks=(*block.marks, *marks), folded=False)
            done = {p.finding_id for p in marks}
            left = [q for q in left if q.finding_id not in done]
            if not left or form != block.text:
                break
    return block, left


def _sent(message: Message, folded_roles: Sequence[str]) -> Iterator[Block]:
    name = f" {one_line(message.name, 60)}" if message.name else ""
    title = _TITLES.get(message.role, one_line(message.role, 40) or "Message") + name
    system = message.role in ("system", "developer")
    if message.text:
        yield _written_as("input", title, message.text, Rank.SENT, folded=system or message.role in folded_roles)
    yield from _rest(message, Rank.SENT)


def _written(message: Message) -> Iterator[Block]:
    if message.reasoning:
        yield Block("reasoning", "Reasoning", message.reasoning, Rank.WRITTEN, folded=True)
    if message.text:
        yield _written_as("output", "Answer", message.text, Rank.WRITTEN)
    for request in message.tool_requests:
        yield _laid_out("call", f"Asks for {one_line(request.name, 80)}", request.arguments, Rank.ASKED)


def _rest(message: Message, rank: Rank) -> Iterator[Block]:
    if message.reasoning:
        yield Block("reasoning", "Reasoning", message.reasoning, rank, folded=True)
    for request in message.tool_requests:
        asked = _laid_out("call", f"Asked for {one_line(request.name, 80)}", request.arguments, rank)
        yield replace(asked, folded=True)


_TITLES: Final = {
    "system": "System prompt",
    "developer": "System prompt",
    "user": "User",
    "assistant": "Assistant",
    "tool": "Tool result",
    "tool-response": "Tool result",
    "tool-call": "Tool call",
}


def _written_as(role: str, title: str, text: str, rank: Rank, *, folded: bool = False) -> Block:
    """A block of a text; JSON has a line for each value, and is folded where it is long."""
    pretty = pretty_json(text)
    if pretty is None:
        return Block(role, title, text, rank, folded)
    return Block(role, title, pretty, rank, folded or pretty.count("\n") >= LONG, others=(text,))


def _laid_out(role: str, title: str, value: Json, rank: Rank) -> Block:
    """A block of a value: a line per name of a mapping, else indented JSON."""
    if isinstance(value, str) or value is None:
        return Block(role, title, value or "", rank)
    whole = json_text(value) or text_of(value)
    if len(whole) > MAX_LENGTH:
        return Block(role, title, whole, rank)
    if isinstance(value, Mapping) and value:
        text = "\n".join(_named(str(key), inner) for key, inner in value.items())
    else:
        text = _indented(value, whole)
    return Block(role, title, text, rank, others=tuple(json_strings(value)))


def _named(key: str, value: Any) -> str:
    if isinstance(value, str):
        return f"{key}:\n{value}" if "\n" in value else f"{key}: {value}"
    return f"{key}: {_indented(value, text_of(value))}"


def _indented(value: Json, whole: str) -> str:
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except (TypeError, ValueError, RecursionError):
        return whole


def quotes_of(pairs: Iterable[tuple[str, str]]) -> list[Quote]:
    """Quotes of (finding id, evidence)."""
    return [Quote(finding_id, evidence) for finding_id, evidence in pairs if evidence.strip()]
