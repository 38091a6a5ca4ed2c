"""Scores as Langfuse's clients send them: `POST /api/public/scores` with one or a list, or events of a batch.

Source: https://api.reference.langfuse.com (Scores, Ingestion). Version 5 of its Python client sends lists, versions 3
and 4 batches of `score-create` events.
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
from tracejury.schemas.wire.scores import (
    LangfuseBatchJson,
    LangfuseErrorJson,
    LangfuseEventJson,
    LangfuseScoresJson,
    ScoreIdJson,
)

from .answers import documented, json_answer
from .params import late_moment
from .params_scores import MOST_SCORES, said
from .paths import REST

SOURCE: Final = "langfuse"
TAKEN: Final = "score-create"
_CREATED, _ACCEPTED, _BAD, _SEVERAL = 201, 202, 400, 207

_Scores = Annotated[list[dict[str, Any]], Field(max_length=MOST_SCORES)]
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
    value: float | bool | str
    data_type: str | None = None
    comment: str | None = None
    timestamp: str | None = None

    def score(self, now: int, at: str = "") -> GivenScore:
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
        return said(given, late_moment("timestamp", self.timestamp or at, now), now)


class LangfuseBatch(_Sent):
    """Events; each is taken or not for itself."""

    batch: _Scores


def add_langfuse(app: FastAPI, take: Take, clock: Callable[[], int]) -> None:
    """Both, and a clear refusal of anything else of its API."""

    def taken(outcomes: Sequence[GivenScore | str]) -> Sequence[str]:
        """Why each of several scores was not taken; "" where it was."""
        if scores := [one for one in outcomes if isinstance(one, GivenScore)]:
            take(scores)
        return ["" if isinstance(one, GivenScore) else one for one in outcomes]

    @app.post("/api/public/scores", responses=documented(ScoreIdJson | LangfuseScoresJson))
    def langfuse_scores(body: LangfuseScore | _Scores) -> Response:
        """Take a score, or each of a list for itself, as Langfuse does. What is not named here is ignored."""
        now = clock()
        if isinstance(body, LangfuseScore):
            score = body.score(now)
            take([score])
            return json_answer(ScoreIdJson(id=score.id))
        refused = taken([_score_of(sent, now) for sent in body])
        if not any(refused):
            return json_answer({"message": "Accepted"}, _ACCEPTED)
        errors = [LangfuseErrorJson(message=why) for why in refused if why]
        counts = {"accepted": len(refused) - len(errors), "rejected": len(errors)}
        return json_answer(LangfuseScoresJson(**counts, errors=errors), _SEVERAL)

    @app.post("/api/public/ingestion", status_code=_SEVERAL, responses=documented(LangfuseBatchJson))
    def langfuse_batch(body: LangfuseBatch) -> Response:
        """Take the `score-create` events of a batch as Langfuse does; traces and spans come over OTLP."""
        now = clock()
        answers = [
            LangfuseEventJson(id=str(event.get("id", ""))[:200], status=_BAD if why else _CREATED, message=why or None)
            for event, why in zip(body.batch, taken([_of_event(one, now) for one in body.batch]), strict=True)
        ]
        successes = [one for one in answers if one.status == _CREATED]
        errors = [one for one in answers if one.status == _BAD]
        return json_answer(LangfuseBatchJson(successes=successes, errors=errors), _SEVERAL)

    @app.api_route(f"/api/public/{{path:{REST}}}", methods=["GET", "POST"], include_in_schema=False)
    def langfuse_other(path: str) -> Response:
        """Whatever else a client of Langfuse asks for."""
        raise NotFoundError(
            f"of Langfuse's API only POST scores, and {TAKEN} events of POST ingestion, are taken here, "
            f"not {path[:60]!r} (docs/scores.md)"
        )


def _of_event(event: dict[str, Any], now: int) -> GivenScore | str:
    if event.get("type") != TAKEN:
        return f"only {TAKEN} events are taken here; traces and spans come over OTLP"
    return _score_of(event.get("body"), now, str(event.get("timestamp") or ""))


def _score_of(sent: Any, now: int, at: str = "") -> GivenScore | str:
    """One of several scores, or why it is none; `at`: a time beside it."""
    try:
        return LangfuseScore.model_validate(sent).score(now, at)
    except ConfigError as error:
        return str(error)
    except ValidationError as error:
        first = error.errors()[0]
        return f"{place_of(first)}: {told(first)}" if first["loc"] else told(first)
