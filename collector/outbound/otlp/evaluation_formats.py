"""Wire formats of evaluations: log events, carrier spans, Phoenix annotations."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import orjson
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord, SeverityNumber
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tracejury.collector.otlp.codec.encode import Plain, pairs
from tracejury.collector.otlp.mark import MARK, mark_of
from tracejury.schemas.given_scores import ERROR_TYPE, EVALUATION, EXPLANATION, LABEL, NAME, VALUE

from .evaluations import Evaluation
from .marks import FORWARDED_BY, installation_id


@dataclass(frozen=True, slots=True)
class Installation:
    """The installation that writes: `secret` marks its spans, so that it knows them for its own; `id` is public."""

    secret: bytes

    @property
    def id(self) -> str:
        """See `installation_id`."""
        return installation_id(self.secret)


def event(evaluation: Evaluation, installation: Installation) -> LogRecord:
    """A log event on the evaluated span (semantic conventions for GenAI events, `gen_ai.evaluation.result`)."""
    e = evaluation
    stated: dict[str, Plain] = {NAME: e.name}
    if e.score is not None:
        stated[VALUE] = e.score
    texts = (
        (LABEL, e.label),
        (EXPLANATION, e.explanation),
        (ERROR_TYPE, e.error),
    )
    stated |= {key: text for key, text in texts if text}
    stated |= {"tracejury.evaluation.id": e.id, FORWARDED_BY: installation.id}
    stated |= {f"tracejury.{key}": value for key, value in (e.details or {}).items()}
    return LogRecord(
        trace_id=bytes.fromhex(e.trace_id),
        span_id=bytes.fromhex(e.span_id),
        time_unix_nano=e.at,
        observed_time_unix_nano=e.at,
        event_name=EVALUATION,
        severity_number=SeverityNumber.SEVERITY_NUMBER_INFO,
        attributes=pairs(stated),
    )


def carrier_id(evaluation: Evaluation) -> str:
    """The span id of an evaluation's carrier: the same each time, so that sending it again overwrites it."""
    return hashlib.blake2b(evaluation.id.encode(), digest_size=8, person=b"carrier").hexdigest()


def carrier(evaluation: Evaluation, installation: Installation, trace_state: str) -> Span:
    """A span that carries an evaluation: exactly one link, to the evaluated span, below which it stands.

    OpenInference, "Annotations and Evaluations": feedback that comes after a span has ended.
    """
    e = evaluation
    span_id = carrier_id(e)
    stated: dict[str, Plain] = {
        "name": e.name,
        "annotator_kind": e.kind,
        "identifier": e.id,
        "metadata": orjson.dumps(e.details or {}).decode(),
    }
    if e.score is not None:
        stated["score"] = e.score
    stated |= {key: text for key, text in (("label", e.label), ("explanation", e.explanation)) if text}
    attributes: dict[str, Plain] = {
        "openinference.span.kind": "EVALUATOR",
        **{f"evaluations.0.evaluation.{key}": value for key, value in stated.items()},
        FORWARDED_BY: installation.id,
        MARK: mark_of(e.trace_id, span_id, installation.secret),
    }
    target = Span.Link(trace_id=bytes.fromhex(e.trace_id), span_id=bytes.fromhex(e.span_id))
    return Span(
        trace_id=target.trace_id,
        span_id=bytes.fromhex(span_id),
        parent_span_id=target.span_id,
        trace_state=trace_state,
        name=f"{e.name} evaluation",
        kind=Span.SPAN_KIND_INTERNAL,
        start_time_unix_nano=e.end,
        end_time_unix_nano=e.end,
        attributes=pairs(attributes),
        links=[target],
    )


def phoenix_annotation(evaluation: Evaluation) -> dict[str, Any]:
    """An element of `data` of Phoenix's `POST /v1/span_annotations`; one with the same identifier is overwritten."""
    e = evaluation
    result = {"score": e.score, "label": e.label or None, "explanation": e.explanation or None}
    return {
        "span_id": e.span_id,
        "name": e.name,
        "annotator_kind": e.kind,
        "identifier": e.id,
        "metadata": dict(e.details or {}),
        "result": result,
    }
