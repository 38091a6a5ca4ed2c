"""The evidence gate: a finding's quote must be part of its own span's own text.

Own text is what the span itself adds to the trace: its name, status message, events, output, joined logs, and the
input messages that its run had not been sent before, as read or as sent; for a tool span also the call it executed. A
quote that stands in exactly one other span of the same run moves there; anything else is refused.

What a judge is shown at a step may come from elsewhere: what a turn's wrappers put out, its tools' definitions, a
sub-agent's task and answer. `OwnText(trace, told=True)` counts these as text of the span at which they are told; such
a quote proves that the judge read what was recorded, but need not stand in that span as it was sent.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from tracejury.schemas.normalized import Json, Message, NormalizedSpan
from tracejury.schemas.shown import folded
from tracejury.schemas.trajectory import AgentRun, Trace, Turn

from .folding import Folded
from .quoting import json_text, raw_texts

MAX_EVIDENCE = 2000
"""Longest quote that is kept, in characters: a quote points, it does not repeat the trace."""

MOST_SEARCHES = 32
"""Misplaced quotes of one trace that are looked for in the rest of their run; later ones are dropped."""


def message_texts(message: Message) -> list[str]:
    """All that one message says: its text, reasoning, and the calls it requests (names, arguments, their strings)."""
    pieces = [message.text, message.reasoning, message.name]
    for request in message.tool_requests:
        pieces += [request.name, *json_strings(request.arguments)]
    return [piece for piece in pieces if piece]


def json_strings(value: Json) -> list[str]:
    """A JSON value as text, then every string inside it as a reader sees it (decoded), at most a few levels deep."""
    if isinstance(value, str):
        return [value]
    if value is None:
        return []
    pieces = [json_text(value)]
    level: list[object] = [value]
    for _ in range(_DEPTH):
        if not level:
            break
        inner = [v for item in level for v in _children(item)]
        pieces += [v for v in inner if isinstance(v, str)]
        level = [v for v in inner if isinstance(v, Mapping | list)]
    return pieces


_DEPTH = 6


def _children(value: object) -> Iterable[object]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def own_texts(span: NormalizedSpan, turn: Turn | None = None) -> list[str]:
    """The pieces of a span's own text; `turn` is the one that `span` is the LLM call of, if any."""
    pieces = [span.raw.name, span.raw.status_message, span.failure]
    for event in span.raw.events:
        pieces += [event.name, *event.attributes.values()]
    for exception in span.exceptions:
        pieces += [exception.type, exception.message]
    pieces.append(span.output_text)
    for message in (*span.output_messages, *_new_messages(span, turn)):
        pieces += message_texts(message)
    pieces += [span.tool_name, span.tool_result or "", *json_strings(span.tool_arguments), *span.log_text]
    return [piece for piece in pieces if piece]


def _new_messages(span: NormalizedSpan, turn: Turn | None) -> tuple[Message, ...]:
    if turn is not None:
        return turn.new_messages
    # Outside any run nothing tells old from new but the last answer that the call was sent.
    messages = span.input_messages
    last = max((i for i, m in enumerate(messages) if m.role == "assistant"), default=-1)
    return messages[last + 1 :]


class OwnText:
    """Own texts of one trace's spans, collected at first use."""

    def __init__(self, trace: Trace, *, told: bool = False) -> None:
        self._trace = trace
        self._told = told_texts(trace) if told else {}
        self._runs = {run.id: run for run in trace.runs}
        self._turns: dict[str, dict[str, Turn]] = {}
        self._raw: dict[str, list[str]] = {}
        self._made: dict[str, dict[str, str]] = {}
        self._tolerant: dict[str, list[Folded]] = {}
        self._searches = 0

    def _turns_in(self, run_id: str) -> dict[str, Turn]:
        """The turns of a run's spans, by id and in order."""
        if run_id not in self._turns:
            run = self._runs.get(run_id)
            self._turns[run_id] = {s.span_id: turn for turn in run.turns for s in turn.spans} if run is not None else {}
        return self._turns[run_id]

    @cached_property
    def _run_ids(self) -> dict[str, str]:
        """The runs of the spans."""
        return {span_id: run_id for run_id in self._runs for span_id in self._turns_in(run_id)}

    def place(self, span_id: str, run_id: str = "") -> tuple[AgentRun, Turn] | None:
        """The run and turn that the span belongs to; it is looked for in that run first."""
        return self.in_run(span_id, run_id) or self._place(span_id)

    def _place(self, span_id: str) -> tuple[AgentRun, Turn] | None:
        return self.in_run(span_id, self._run_ids.get(span_id, ""))

    def in_run(self, span_id: str, run_id: str) -> tuple[AgentRun, Turn] | None:
        """As `place`, in that run alone."""
        turn = self._turns_in(run_id).get(span_id)
        return (self._runs[run_id], turn) if turn is not None else None

    def holds(self, span_id: str, evidence: str) -> bool:
        """Whether the span's own text holds the quote: exactly, or as it is shown, but for white space and case."""
        if self.verbatim(span_id, evidence):
            return True
        wanted = folded(evidence)
        return bool(wanted) and any(wanted in piece.text for piece in self.texts(span_id))

    def verbatim(self, span_id: str, evidence: str) -> bool:
        """Whether the span's own text holds the quote verbatim."""
        span = self._trace.spans[span_id]
        # Most quotes are what the span put out, so that its other pieces need not be gathered.
        put_out = (span.output_text, *(message.text for message in span.output_messages))
        if any(evidence in text for text in put_out if text):
            return True
        if any(evidence in piece for piece in self._pieces(span_id)):
            return True
        return any(evidence in text for text in raw_texts(span))

    def as_sent(self, span_id: str, evidence: str) -> bool:
        """Whether the span's own text as it was sent, not JSON of our making, holds the quote verbatim."""
        made = self.made(span_id)
        if any(evidence in piece for piece in self._pieces(span_id) if piece not in made):
            return True
        return any(evidence in text for text in raw_texts(self._trace.spans[span_id]))

    def made(self, span_id: str) -> Mapping[str, str]:
        """The pieces that are arguments written as JSON by us, perhaps unlike what was sent, with the tool's name."""
        if span_id not in self._made:
            place = self._place(span_id)
            span = self._trace.spans[span_id]
            messages = (*span.output_messages, *(place[1].new_messages if place else ()))
            calls = [(r.name, r.arguments) for message in messages for r in message.tool_requests]
            calls.append((span.tool_name or span.raw.name, span.tool_arguments))
            self._made[span_id] = {json_text(a): name for name, a in calls if isinstance(a, Mapping | list)}
        return self._made[span_id]

    def texts(self, span_id: str) -> list[Folded]:
        """The pieces of the span's own text, for a tolerant comparison."""
        if span_id not in self._tolerant:
            self._tolerant[span_id] = [Folded.of(piece) for piece in self._pieces(span_id)]
        return self._tolerant[span_id]

    def settle(self, span_id: str, evidence: str) -> str | None:
        """The span that holds the quote: `span_id`, or the only other one of its run, or None."""
        if not is_quote(evidence):
            return None
        return span_id if self.holds(span_id, evidence) else self.search(span_id, evidence)

    def search(self, span_id: str, evidence: str) -> str | None:
        """The only other span of the run that holds the quote, None without one; at most MOST_SEARCHES a trace."""
        if span_id not in self._run_ids or self._searches >= MOST_SEARCHES:
            return None
        self._searches += 1
        run = self._runs[self._run_ids[span_id]]
        spans = [*([run.span.span_id] if run.span else ()), *self._turns_in(run.id)]
        others = [other for other in spans if other != span_id and self.holds(other, evidence)]
        return others[0] if len(others) == 1 else None

    def _pieces(self, span_id: str) -> list[str]:
        if span_id not in self._raw:
            place = self._place(span_id)
            span = self._trace.spans[span_id]
            turn = place[1] if place and place[1].llm is not None and place[1].llm.span_id == span_id else None
            self._raw[span_id] = [*own_texts(span, turn), *self._told.get(span_id, ())]
        return self._raw[span_id]


def is_quote(evidence: str) -> bool:
    """Whether a text may be evidence at all: not empty, nor too long."""
    return bool(evidence.strip()) and len(evidence) <= MAX_EVIDENCE


def told_texts(trace: Trace) -> dict[str, list[str]]:
    """Texts that a transcript shows at a span besides its own: see the top of this file."""
    runs = {run.id: run for run in trace.runs}
    told: dict[str, list[str]] = {}
    for run in trace.runs:
        if run.span is not None:
            told.setdefault(run.span.span_id, []).extend((run.span.input_text, run.goal, run.answer))
        for turn in run.turns:
            for span_id, pieces in _of_turn(turn, runs):
                told.setdefault(span_id, []).extend(pieces)
    return {span_id: [piece for piece in pieces if piece] for span_id, pieces in told.items() if span_id}


def _of_turn(turn: Turn, runs: Mapping[str, AgentRun]) -> Iterator[tuple[str, list[str]]]:
    llm = turn.llm.span_id if turn.llm else ""
    last = llm
    for call in turn.tool_calls:
        sub = runs.get(call.sub_run_id) if call.sub_run_id else None
        place = next((s.span_id for s in (call.span, sub.span if sub else None) if s is not None), "")
        last = place or last
        if call.sub_run_id:
            told = (call.result or "", call.error or "", *((sub.goal, sub.answer) if sub else ()))
            yield place or llm, [*json_strings(call.arguments), *told]
    for sub in (runs[run_id] for run_id in turn.sub_run_ids if run_id in runs):
        last = sub.span.span_id if sub.span else last
        if sub.span is None:
            yield llm, [sub.goal, sub.answer]
    if turn.llm is not None:
        yield llm, [piece for tool in turn.llm.tools for piece in (tool.name, tool.description)]
    for place in {llm, last} - {""}:
        yield place, _of_wrappers(turn)


def _of_wrappers(turn: Turn) -> list[str]:
    pieces = [turn.observation]
    for span in turn.wrappers:
        pieces += [span.output_text, span.raw.status_message]
        pieces += [piece for exception in span.exceptions for piece in (exception.type, exception.message)]
    return pieces
