"""Annotations as Phoenix's clients send them, of spans, traces and sessions.

Source: Phoenix's OpenAPI document (`/v1/span_annotations`, `/v1/trace_annotations`, `/v1/session_annotations`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import FastAPI, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from tracejury.schemas.errors import ConfigError
from tracejury.schemas.findings import digest
from tracejury.schemas.given_scores import GivenScore
from tracejury.schemas.wire.scores import PhoenixAnnotationsJson, ScoreIdJson

from .answers import documented, json_answer
from .params import Params
from .params_scores import MOST_SCORES, said
from .scores_langfuse import Take


class _Result(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)

    score: float | None = None
    label: str | None = None
    explanation: str | None = None


class PhoenixAnnotation(BaseModel):
    """An annotation. Another one of the same span, trace or session, name and identifier replaces it."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    span_id: str = ""
    trace_id: str = ""
    session_id: str = ""
    name: str
    annotator_kind: str = ""
    result: _Result | None = None
    identifier: str | None = None

    def score(self, kind: str, now: int) -> GivenScore:
        """As it is stored. Raises ConfigError for what a score cannot say."""
        place, result = f"{kind}_id", self.result or _Result()
        if result.score is None and not result.label:
            raise ConfigError("an annotation needs a score or a label")
        given: dict[str, Any] = {
            "id": digest(("phoenix", kind, getattr(self, place), self.name, self.identifier or "")),
            "name": self.name,
            "value": result.score,
            "label": result.label or "",
            "explanation": result.explanation or "",
            "source": f"phoenix {self.annotator_kind}".strip(),
            place: getattr(self, place),
        }
        return said(given, 0, now)


class PhoenixBody(BaseModel):
    """Annotations: all are taken, or none."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    data: Annotated[list[PhoenixAnnotation], Field(max_length=MOST_SCORES)]


class PhoenixParams(Params):
    """`sync` changes nothing: the answer always follows the commit."""

    sync: bool = False


def add_phoenix(app: FastAPI, take: Take, clock: Callable[[], int]) -> None:
    """All three."""
    for kind in ("span", "trace", "session"):
        _add(app, take, clock, kind)


def _add(app: FastAPI, take: Take, clock: Callable[[], int], kind: str) -> None:
    def annotate(body: PhoenixBody, params: Annotated[PhoenixParams, Query()]) -> Response:  # noqa: ARG001  see there
        now = clock()
        scores = [one.score(kind, now) for one in body.data]
        if scores:
            take(scores)
        return json_answer(PhoenixAnnotationsJson(data=[ScoreIdJson(id=score.id) for score in scores]))

    app.post(
        f"/v1/{kind}_annotations",
        name=f"annotate_{kind}",
        description=f"Take annotations of {kind}s as Phoenix does. What is not named here is ignored.",
        responses=documented(PhoenixAnnotationsJson),
    )(annotate)
