"""Spans that were made of log events (`log_spans.py`), in their place; where real spans tell the same, those count.

Where a program sends spans of its requests, those count, and its events stand at the spans that they tell of: by call
id, else by the name of the tool or the model, the nearest in time. Else an event's span is part of the prompt that came
last before it. Of two events of one request the one that tells its tokens counts.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from tracejury.schemas.normalized import Kind, NormalizedSpan

from .log_replies import join_replies
from .log_spans import MARK
from .names import canonical

_PROMPT_ID: Final = ("prompt.id", "prompt_id")


def place_log_spans(spans: Sequence[NormalizedSpan]) -> Sequence[NormalizedSpan]:
    """The spans of one trace, or of several that are one; the same where none was made of a log event.

    Events that tell nothing new are of no kind: they stay below the span that they tell of.
    """
    if not any(MARK in span.raw.attributes for span in spans if not span.raw.parent_span_id):  # such have no parent
        return spans
    spans = join_replies(spans)
    events = sorted((span for span in spans if MARK in span.raw.attributes), key=_place)
    real = [span for span in spans if MARK not in span.raw.attributes]
    kinds = {span.kind for span in real}
    counted = any(s.kind is Kind.LLM and s.output_tokens is not None for s in events)
    known = _Known(real)
    said: set[Hashable] = set()
    texts: dict[str, list[str]] = {}
    new: list[NormalizedSpan] = []
    told: list[NormalizedSpan] = []
    for event in events:
        if event.kind is Kind.OTHER:  # a reply that its request has
            told.append(event)
        elif event.kind in kinds:
            stands = known.told_of(event)
            if stands is not None:
                texts.setdefault(stands.span_id, []).append(_line(event))
            told.append(_record(event, stands.span_id if stands else ""))
        elif _said(event) in said or (counted and _repeats(event)):
            told.append(_record(event, ""))
        else:
            said.add(_said(event))
            new.append(event)
    real = [replace(s, log_text=(*s.log_text, *texts[s.span_id])) if s.span_id in texts else s for s in real]
    return [*real, *told, *_below_prompts(new, real)]


def _record(event: NormalizedSpan, above: str) -> NormalizedSpan:
    """The event as what it is: a record, perhaps below the span that it tells of."""
    raw = replace(event.raw, parent_span_id=above) if above else event.raw
    return NormalizedSpan(raw, Kind.OTHER, event.convention, session_id=event.session_id)


def _place(span: NormalizedSpan) -> tuple[int, int, str]:
    return (span.raw.start, span.raw.end, span.span_id)


def _said(span: NormalizedSpan) -> Hashable:
    """All that an event says: one that came again under other ids is the same."""
    raw = span.raw
    return (raw.name, raw.start, raw.end, raw.status_message, frozenset(raw.attributes.items()))


def _repeats(span: NormalizedSpan) -> bool:
    alone = "request_id" in span.raw.attributes  # `join_replies` has found no other event of it
    return span.kind is Kind.LLM and span.output_tokens is None and not span.is_error and not alone


@dataclass(slots=True)
class _Known:
    """Real spans by what an event may say of them, each list in order of time."""

    by_key: dict[tuple[object, ...], list[NormalizedSpan]]

    def __init__(self, real: Sequence[NormalizedSpan]) -> None:
        self.by_key = {}
        for span in sorted(real, key=_place):
            for key in _keys(span):
                self.by_key.setdefault(key, []).append(span)

    def told_of(self, event: NormalizedSpan) -> NormalizedSpan | None:
        """The span that an event tells of, too, None where none is like it; of several the nearest in time."""
        alike = next((found for key in _keys(event) if (found := self.by_key.get(key))), None)
        if alike is None:
            return None
        at = bisect_right(alike, event.raw.end, key=lambda s: s.raw.start)
        return min(alike[max(at - 2, 0) : at + 1], key=lambda s: (_distance(s, event), _place(s)))


def _keys(span: NormalizedSpan) -> list[tuple[object, ...]]:
    """What names the operation, the surest first."""
    keys: list[tuple[object, ...]] = []
    if span.kind is Kind.TOOL and span.tool_name:  # without a name: the execution below the call
        keys += [(Kind.TOOL, span.tool_call_id)] if span.tool_call_id else []
        keys.append((Kind.TOOL, "", canonical(span.tool_name)))
    elif span.kind is Kind.LLM:
        told = span.output_tokens is not None
        keys += [(Kind.LLM, span.model, span.input_tokens, span.output_tokens)] if told else []
        keys.append((Kind.LLM, span.model))
    elif span.kind is Kind.AGENT:
        asked = span.input_text or next((m.text for m in span.input_messages if m.role == "user"), "")
        keys += [(Kind.AGENT, asked), (Kind.AGENT,)]
    return keys


def _distance(span: NormalizedSpan, event: NormalizedSpan) -> int:
    """Nanoseconds between the event and the span's time."""
    return max(span.raw.start - event.raw.end, event.raw.end - span.raw.end, 0)


def _line(event: NormalizedSpan) -> str:
    """What the event says, in a line: its name and, of a failure, the error."""
    name = event.raw.attributes[MARK]
    return f"{name}: {event.error_text}" if event.is_error else name


def _below_prompts(left: Sequence[NormalizedSpan], real: Sequence[NormalizedSpan]) -> list[NormalizedSpan]:
    """The spans of events, each below its prompt: that of its prompt id, else the last that came before it.

    A prompt for which only real spans tell what was done is a record.
    """
    kinds = {s.span_id: s.kind for s in real}
    inner = (Kind.AGENT, Kind.TOOL)
    agents = [s for s in (*left, *real) if s.kind is Kind.AGENT and kinds.get(s.raw.parent_span_id) not in inner]
    agents.sort(key=_place)
    named = {own: s.span_id for s in agents if (own := _prompt_id(s))}
    end: dict[str, int] = {}
    placed: list[NormalizedSpan] = []
    nobody = min((f"{s.span_id}-agent" for s in left), default="")
    for span in left:
        if span.kind is Kind.AGENT:
            continue
        at = bisect_right(agents, span.raw.end, key=lambda s: s.raw.start)
        before = agents[max(at, 1) - 1].span_id if agents else nobody
        parent = named.get(_prompt_id(span), before)
        placed.append(replace(span, raw=replace(span.raw, parent_span_id=parent)))
        end[parent] = max(end.get(parent, 0), span.raw.end)
    for span in (s for s in left if s.kind is Kind.AGENT):
        worked = span.span_id in end or not real
        ended = replace(span, raw=replace(span.raw, end=max(end.get(span.span_id, 0), span.raw.end)))
        placed.append(ended if worked else _record(span, ""))
    return placed


def _prompt_id(span: NormalizedSpan) -> str:
    attributes = span.raw.attributes
    return next((value for key in _PROMPT_ID if (value := attributes.get(key))), "")
