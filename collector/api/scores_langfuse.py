"""Scores as Langfuse's clients send them: `POST /api/public/scores`, and `score-create` events of a batch.

Source: https://api.reference.langfuse.com (Score v1, Ingestion), and what version 3 and 4 of its Python client send.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, Final

from fastapi import FastAPI, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel

from tracejury.judges.llm.problems import place_of, told
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.given_scores import GivenScore
from tracejury.schemas.wire.scores import LangfuseBatchJson, LangfuseEventJson, ScoreIdJson

from .answers import documented, json_answer
from .params import late_moment
from .params_scores import MOST_SCORES, said
from .paths import REST

SOURCE: Final = "langfuse"
TAKEN: Final = "score-create"
_CREATED, _BAD, _SEVERAL = 201, 400, 207

Take = Callable[[Sequence[GivenScore]], int]
"""Stores scores; how many were left out, as their traces are deleted."""


class _Sent(BaseModel):
    """What we do not read of it is ignored, as clients of each version send more."""

    model_config = ConfigDict(extra="ignore", frozen=True, alias_generator=to_camel)


class LangfuseScore(_Sent):
    """A score, of a trace, an observation of it (a span) or a session. The value of a category is a text."""

    id: str | None = None
    trace_id: str | None = None
    observation_id: str | None = None
    session_id: str | None = None
    name: str
    value: bool | float | str
    data_type: str | None = None
    comment: str | None = None

    def score(self, at: str, now: int) -> GivenScore:
        """As it is stored. Raises ConfigError for what a score cannot say."""
        is_text = isinstance(self.value, str)
        given = {
            "id": self.id or "",
            "name": self.name,
            "value": None if is_text else bool(self.value) if self.data_type == "BOOLEAN" else self.value,
            "label": self.value if is_text else "",
            "explanation": self.comment or "",
            "source": SOURCE,
            "trace_id": self.trace_id or "",
            "span_id": self.observation_id or "",
            "session_id": "" if self.trace_id or self.observation_id else self.session_id or "",
        }
        if is_text and not self.value:
            raise ConfigError("value: an empty text is no score")
        return said(given, late_moment("timestamp", at, now), now)


class LangfuseBatch(_Sent):
    """Events; each is taken or not for itself."""

    batch: Annotated[list[dict[str, Any]], Field(max_length=MOST_SCORES)]


def add_langfuse(app: FastAPI, take: Take, clock: Callable[[], int]) -> None:
    """Both, and a clear refusal of anything else of its API."""

    @app.post("/api/public/scores", responses=documented(ScoreIdJson))
    def langfuse_score(body: LangfuseScore) -> Response:
        """Take a score as Langfuse does. What is not named here is ignored."""
        score = body.score("", clock())
        take([score])
        return json_answer(ScoreIdJson(id=score.id))

    @app.post("/api/public/ingestion", status_code=_SEVERAL, responses=documented(LangfuseBatchJson))
    def langfuse_batch(body: LangfuseBatch) -> Response:
        """Take the `score-create` events of a batch as Langfuse does; traces and spans come over OTLP."""
        now, scores = clock(), list[GivenScore]()
        successes, errors = list[LangfuseEventJson](), list[LangfuseEventJson]()
        for event in body.batch:
            event_id = str(event.get("id", ""))[:200]
            try:
                scores.append(_score_of(event, now))
                successes.append(LangfuseEventJson(id=event_id, status=_CREATED))
            except ConfigError as error:
                errors.append(LangfuseEventJson(id=event_id, status=_BAD, message=str(error)))
        if scores:
            take(scores)
        return json_answer(LangfuseBatchJson(successes=successes, errors=errors), _SEVERAL)

    @app.api_route(f"/api/public/{{path:{REST}}}", methods=["GET", "POST"], include_in_schema=False)
    def langfuse_other(path: str) -> Response:
        """Whatever else a client of Langfuse asks for."""
        raise NotFoundError(
            f"of Langfuse's API only POST scores, and {TAKEN} events of POST ingestion, are taken here, "
            f"not {path[:60]!r} (docs/scores.md)"
        )


def _score_of(event: dict[str, Any], now: int) -> GivenScore:
    """The score of an event. Raises ConfigError with one line on what is wrong."""
    if event.get("type") != TAKEN:
        raise ConfigError(f"only {TAKEN} events are taken here; traces and spans come over OTLP")
    try:
        sent = LangfuseScore.model_validate(event.get("body"))
    except ValidationError as error:
        first = error.errors()[0]
        raise ConfigError(f"{place_of(first)}: {told(first)}" if first["loc"] else told(first)) from None
    return sent.score(str(event.get("timestamp") or ""), now)
