"""Agreement with human annotations: a TRAIL folder through the code of production, scored (docs/evaluate.md).

The check of grounding (a finding's span was sent, and contains its quote) shares no code with the evidence gate: it
looks for the quote in every string of the stored span, those inside JSON values included, with white space folded and
case dropped.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace

from tracejury.collector.judging.detect.direct import normalized
from tracejury.judges.agreement import Agreement, Annotated, Figures, Predicted, agreement
from tracejury.judges.agreement_tables import BREAKDOWNS, Row
from tracejury.judges.annotations import missing_stop_sequence
from tracejury.judges.bootstrap import Interval
from tracejury.schemas.normalized import NormalizedSpan
from tracejury.schemas.profiles import threshold
from tracejury.schemas.spans import LogRecord, Span

from .folder import TrailFolder
from .predictions import Predictions


@dataclass(frozen=True, slots=True)
class ErrorFigures:
    """Figures of errors; `valid`: without the invalid annotations; `errors`: those in the profile, scored or not."""

    errors: int
    all: Figures
    valid: Figures
    intervals: Mapping[str, Interval]
    valid_intervals: Mapping[str, Interval]


@dataclass(frozen=True, slots=True)
class DetectorEvaluation:
    """The report of `evaluate trail`: `as_errors` of what people see, `agreement` of the findings that make it.

    `breakdowns`: by detector, category, dimension and impact; `invalid`: annotations that blame what is no error;
    `findings`: those in the profile, of all traces, scored or not; `items_refused`: by the receiver. `as_errors`: None
    where only findings were scored.
    """

    agreement: Agreement
    breakdowns: Mapping[str, Mapping[str, Row]]
    invalid: tuple[Annotated, ...]
    profile: str
    protocol: str
    shuffle: int | None
    findings: int
    traces_without_annotations: int
    annotations_without_trace: int
    items_refused: int
    failures: Mapping[str, str]
    grounding: Grounding
    as_errors: ErrorFigures | None = None


def evaluate(
    folder: TrailFolder,
    judged: Predictions,
    *,
    profile: str,
    protocol: str,
    shuffle: int | None = None,
) -> DetectorEvaluation:
    """Score what was found in a folder's traces at the threshold of `profile`.

    Raises:
        ConfigError: no such profile.
    """
    least = threshold(profile)
    shown = [f for f in judged.findings if f.confidence >= least]
    names = sorted(folder.annotations)
    gold = annotated(folder)
    predicted = _scored(folder, shown)
    errors = [error for error in judged.errors if error.confidence >= least]
    return DetectorEvaluation(
        profile=profile,
        protocol=protocol,
        shuffle=shuffle,
        findings=len(shown),
        traces_without_annotations=folder.unannotated,
        annotations_without_trace=folder.spare,
        agreement=agreement(names, gold, predicted),
        breakdowns={name: rows_by(gold, predicted) for name, rows_by in BREAKDOWNS.items()},
        invalid=tuple(a for a in gold if a.invalid),
        grounding=grounding(judged.findings, folder.received.spans, folder.received.logs),
        failures=judged.failures,
        items_refused=judged.refused,
        as_errors=_of_errors(names, gold, _scored(folder, errors), len(errors)) if judged.errors else None,
    )


def _scored(folder: TrailFolder, shown: Iterable[Predicted]) -> list[Predicted]:
    """Those in scored runs, under the names of their traces."""
    # In one order, so that sums of floats are the same however they were read.
    places = ((folder.names.get(p.trace_id, p.trace_id), p) for p in shown)
    return sorted((replace(p, trace_id=name) for name, p in places if folder.scored(name, p.run_id)), key=astuple)


def _of_errors(
    names: Sequence[str], gold: Sequence[Annotated], errors: Sequence[Predicted], shown: int
) -> ErrorFigures:
    scored = agreement(names, gold, errors)
    return ErrorFigures(shown, scored.all, scored.valid, scored.intervals, scored.valid_intervals)


def annotated(folder: TrailFolder) -> list[Annotated]:
    """All annotated errors, those marked as invalid that blame a missing tag which their call had to stop at."""
    spans = _annotated_spans(folder)
    gold = []
    for annotation in (a for name in sorted(folder.annotations) for a in folder.annotations[name]):
        error = annotation.error
        span = spans.get((error.trace_id, error.span_id))
        tag = missing_stop_sequence(annotation.text, span.stop_sequences, span.output) if span else ""
        why = f"blames the absence of {tag}, a stop sequence of the annotated call" if tag else ""
        gold.append(replace(error, invalid=why))
    return gold


def _annotated_spans(folder: TrailFolder) -> dict[tuple[str, str], NormalizedSpan]:
    """By (trace name, span id)."""
    wanted = {(a.error.trace_id, a.error.span_id) for entries in folder.annotations.values() for a in entries}
    places = ((folder.names.get(span.trace_id, ""), span) for span in folder.received.spans)
    return {
        (name, one.span_id): one
        for name, span in places
        if (name, span.span_id) in wanted
        for one in normalized([span], ())
    }


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
