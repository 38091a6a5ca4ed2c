"""The endpoints of scores that others give: `/api/scores`, and the calls by which Langfuse and Phoenix take them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import FastAPI, Query, Response

from tracejury.collector.store.scores import place_of
from tracejury.schemas.given_scores import GivenScore, as_records, size_of, with_texts_of
from tracejury.schemas.queries.reader import Position
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.scores import GivenScoreJson, GivenScorePage, TakenScoresJson

from .answers import documented, json_answer
from .params import write_cursor
from .params_scores import ScoresBody, ScoresParams
from .scores_langfuse import add_langfuse
from .scores_phoenix import add_phoenix
from .services import Services


def add_scores(app: FastAPI, services: Services) -> None:
    """All of them."""
    reader, clock = services.reader, services.clock

    def take(scores: Sequence[GivenScore]) -> int:
        services.admit(sum(map(size_of, scores)))
        records = services.redact(as_records(scores))
        kept = [with_texts_of(score, record) for score, record in zip(scores, records, strict=True)]
        return reader.scores.save(kept, clock())

    @app.get("/api/scores", responses=documented(GivenScorePage))
    def list_scores(params: Annotated[ScoresParams, Query()]) -> Response:
        """Scores that others gave, latest arrival first."""
        query = params.query(clock())
        found = reader.scores.find(replace(query, limit=query.limit + 1))
        shown = found[: query.limit]
        waiting = reader.scores.waiting(shown)
        items = [fill(GivenScoreJson, score, waiting=place_of(score) in waiting) for score in shown]
        last = Position(shown[-1].received_at, place_of(shown[-1])) if len(found) > len(shown) else None
        more = write_cursor("cursor", last) if last else None
        return json_answer({"items": items, "next": more, "unknown": {}})

    @app.post("/api/scores", responses=documented(TakenScoresJson))
    def take_scores(body: ScoresBody) -> Response:
        """Take scores of traces, spans and sessions, also of those that have not arrived yet; all, or none."""
        now = clock()
        scores = [item.score(now) for item in body.items]
        return json_answer(TakenScoresJson(ids=[score.id for score in scores], left_out=take(scores)))

    add_langfuse(app, take, clock)
    add_phoenix(app, take, clock)
