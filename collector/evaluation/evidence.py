"""The grounding of findings: their span was sent, and it contains their quote.

This check shares no code with the evidence gate: it looks for the quote in every string of the stored span, those
inside JSON values included, with white space folded and case dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from tracejury.judges.agreement import Predicted
from tracejury.schemas.spans import LogRecord, Span


@dataclass(frozen=True, slots=True)
class Grounding:
    """Shares of the findings: with a span that was sent, and with a quote that stands in it."""

    span_exists: float
    evidence_in_span: float


def grounding(findings: Iterable[Predicted], spans: Iterable[Span], logs: Iterable[LogRecord]) -> Grounding:
    """Check all findings; without any, both shares are 1."""
    checked = list(findings)
    wanted = {(f.trace_id, f.span_id) for f in checked}
    texts: dict[tuple[str, str], list[str]] = {}
    for span in spans:
        if (span.trace_id, span.span_id) in wanted:
            texts.setdefault((span.trace_id, span.span_id), []).extend(map(_fold, _span_strings(span)))
    for log in logs:
        if (log.trace_id, log.span_id) in texts:
            texts[log.trace_id, log.span_id].extend(map(_fold, _value_strings({**log.attributes, "body": log.body})))
    exists = [(f.trace_id, f.span_id) in texts for f in checked]
    stands = [
        bool(quote := _fold(f.evidence)) and any(quote in text for text in texts.get((f.trace_id, f.span_id), ()))
        for f in checked
    ]
    return Grounding(_share(exists), _share(stands))


def _span_strings(span: Span) -> Iterator[str]:
    yield span.name
    yield span.status_message
    yield from _value_strings(span.attributes)
    for event in span.events:
        yield event.name
        yield from _value_strings(event.attributes)


def _value_strings(attributes: Mapping[str, str]) -> Iterator[str]:
    """Every value, and every string inside those that are JSON (twice encoded JSON included)."""
    pending: list[object] = list(attributes.values())
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            yield value
            if value[:1] in {"{", "[", '"'}:
                pending += _decoded(value)
        elif isinstance(value, dict):
            pending += [*value.keys(), *value.values()]
        elif isinstance(value, list):
            pending += value


def _decoded(text: str) -> list[object]:
    try:
        return [json.loads(text)]
    except (ValueError, RecursionError):
        return []


def _fold(text: str) -> str:
    return " ".join(text.split()).casefold()


def _share(answers: list[bool]) -> float:
    return sum(answers) / len(answers) if answers else 1.0
