"""Scores that others give: thumbs of end users, results of evaluators. Of themselves they change no figure of ours."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from .batch import Batch
from .errors import ConfigError
from .filters import an_id
from .findings import digest
from .spans import LogRecord, Span
from .text.scores import finite_number

EVALUATION: Final = "gen_ai.evaluation.result"
"""The name of an event that states a score (semantic conventions for GenAI events)."""
NAME: Final = "gen_ai.evaluation.name"
VALUE: Final = "gen_ai.evaluation.score.value"
LABEL: Final = "gen_ai.evaluation.score.label"
EXPLANATION: Final = "gen_ai.evaluation.explanation"
ERROR_TYPE: Final = "error.type"
_SESSIONS: Final = ("gen_ai.conversation.id", "session.id")

MOST: Final[Mapping[str, int]] = {
    "id": 200,
    "name": 200,
    "label": 1_000,
    "explanation": 20_000,
    "source": 200,
    "error_type": 200,
    "trace_id": 200,
    "span_id": 200,
    "session_id": 10_000,
}
"""Characters of its texts."""
_TRUTHS: Final[Mapping[str, float]] = {"true": 1.0, "false": 0.0}
_ANY_TEXT: Final = frozenset({"label", "explanation", "session_id"})


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenScore:
    """One score of a trace, of a span (of a trace, or of the one that has it once it is there), or of a session.

    `value`, `label` or both; `error_type`: why its evaluator failed. With none of these it is withdrawn. `id`: another
    score of the same trace, or session, and id replaces it; of a span without its trace it ends in the span's id, as
    two such spans may be of different traces. `source`: who says so. `at`: when it was said;
    `received_at`: our own clock; both unix nanos.
    """

    tenant: str = ""
    id: str
    name: str
    value: float | None = None
    label: str = ""
    explanation: str = ""
    source: str = ""
    error_type: str = ""
    trace_id: str = ""
    span_id: str = ""
    session_id: str = ""
    at: int = 0
    received_at: int = 0

    @property
    def withdrawn(self) -> bool:
        """Whether it says nothing any more."""
        return self.value is None and not self.label and not self.error_type

    def checked(self) -> GivenScore:
        """As it is stored, with an id that follows from what it says where it has none. Raises ConfigError."""
        texts: dict[str, Any] = {name: _text(name, getattr(self, name)) for name in MOST}
        for name in ("trace_id", "span_id"):
            texts[name] = an_id(texts[name])
        said = replace(self, **texts)
        if not said.name:
            raise ConfigError("a score needs a name")
        if not (said.trace_id or said.span_id or said.session_id):
            raise ConfigError("a score needs a trace_id, a span_id or a session_id")
        if said.session_id and (said.trace_id or said.span_id):
            raise ConfigError("a score is of a trace or span, or of a session, not of both: a trace names its session")
        if said.value is not None and not math.isfinite(said.value):
            raise ConfigError("a score's value must be a finite number")
        if said.withdrawn and not said.id:
            raise ConfigError("a score needs a value or a label; without both it withdraws the score of its id")
        if not said.id:
            return said.identified()
        alone = said.span_id and not said.trace_id and not said.id.endswith(f"/{said.span_id}")
        return replace(said, id=f"{said.id}/{said.span_id}") if alone else said

    def identified(self) -> GivenScore:
        """With an id (32 hex digits) that follows from all that it says, so that it may be sent again."""
        value = "" if self.value is None else repr(self.value)
        about = (self.trace_id, self.span_id, self.session_id)
        said = (self.name, value, self.label, self.explanation, self.source, self.error_type, str(self.at))
        return replace(self, id=digest(("score", self.tenant, *about, *said)))


def _text(name: str, text: str) -> str:
    if name not in _ANY_TEXT:
        text = text.strip()
        if not text.isprintable():
            raise ConfigError(f"{name} {text[:40]!a} holds characters that cannot be printed")
    if len(text) > MOST[name]:
        raise ConfigError(f"{name} has {len(text):,} characters; at most {MOST[name]:,} are taken")
    if any("\ud800" <= character <= "\udfff" for character in text):
        raise ConfigError(f"{name} holds half of a surrogate pair, which is no text")
    return text


def score_of(record: LogRecord) -> GivenScore | None:
    """The score that a log record states; None where it states none, or none of anything."""
    if not is_evaluation(record):
        return None
    session = "" if record.trace_id else next(filter(None, map(record.attributes.get, _SESSIONS)), "")
    return _stated(
        record.attributes,
        tenant=record.tenant,
        source=record.scope_name or record.service,
        trace_id=record.trace_id,
        span_id=record.span_id if record.trace_id else "",
        session_id=session,
        at=record.time or record.observed_time,
    )


def is_evaluation(record: LogRecord) -> bool:
    """Whether a log record has the event name of a score."""
    return (record.event_name or record.attributes.get("event.name")) == EVALUATION


def scores_of_span(span: Span) -> Iterator[GivenScore]:
    """The scores that events of a span state."""
    for event in span.events:
        if event.name == EVALUATION:
            source = span.scope_name or span.service
            place = {"trace_id": span.trace_id, "span_id": span.span_id}
            if score := _stated(event.attributes, tenant=span.tenant, source=source, at=event.time, **place):
                yield score


def _stated(attributes: Mapping[str, str], **place: Any) -> GivenScore | None:
    """What attributes state; texts that are too long, or cannot be printed, are cut to what may be stored."""
    texts = {"name": NAME, "label": LABEL, "explanation": EXPLANATION, "error_type": ERROR_TYPE}
    found: dict[str, Any] = {name: attributes.get(key, "") for name, key in texts.items()}
    for name, text in (found | place).items():
        if name in MOST:
            shown = text if name in _ANY_TEXT else "".join(filter(str.isprintable, text)).strip()
            found[name] = shown[: MOST[name]]
    value = attributes.get(VALUE, "")
    if value in _TRUTHS:
        found["label"] = found["label"] or value
    score = GivenScore(id="", value=_TRUTHS.get(value, finite_number(value)), **place | found)
    if score.withdrawn or not score.name or not (score.trace_id or score.session_id):
        return None
    return score.identified()


def scores_of(batch: Batch) -> list[GivenScore]:
    """The scores that log records and span events of a batch state."""
    said = (score for record in batch.logs if (score := score_of(record)))
    return [*said, *(score for span in batch.spans if span.events for score in scores_of_span(span))]


def without_scores(batch: Batch) -> Batch:
    """The batch without log records that state a score; itself where it has none.

    They are no part of the trace: what others say of a span opens it no more, and is no text of it.
    """
    logs = [record for record in batch.logs if score_of(record) is None]
    return batch if len(logs) == len(batch.logs) else replace(batch, logs=logs)


def as_records(scores: Iterable[GivenScore]) -> list[LogRecord]:
    """The free texts of scores as log records, which rules of redaction can read; see `with_texts_of`."""
    return [
        LogRecord(
            score.trace_id,
            score.span_id,
            score.at,
            score.at,
            event_name=EVALUATION,
            attributes={NAME: score.name, LABEL: score.label, EXPLANATION: score.explanation},
            service=score.source,
            tenant=score.tenant,
        )
        for score in scores
    ]


def with_texts_of(score: GivenScore, record: LogRecord) -> GivenScore:
    """The score with the texts of its record."""
    keys = {"name": NAME, "label": LABEL, "explanation": EXPLANATION}
    texts: dict[str, Any] = {name: record.attributes.get(key, "")[: MOST[name]] for name, key in keys.items()}
    return replace(score, **texts)
