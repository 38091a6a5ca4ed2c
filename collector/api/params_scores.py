"""Parameters and bodies of the endpoints about scores that others give."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any, Final

from pydantic import Field, StrictBool, StrictFloat, model_validator

from tracejury.schemas.filters import SCORE_FILTERS, field_values
from tracejury.schemas.given_scores import GivenScore
from tracejury.schemas.queries.scores import ScoreQuery

from .params import Cursor, Limit, Params, Since, Text, late_moment, moment, read_cursor, with_filters

MOST_SCORES: Final = 1_000
"""Scores of one request."""


class ScoreItem(Params):
    """A score of a trace, a span or a session. Another one of the same trace, or session, and id replaces it.

    Without an id it has one that follows from what it says. Without value and label it withdraws the score of its id.
    """

    id: Text = ""
    trace_id: Text = ""
    span_id: Annotated[Text, Field(description="Of the trace; without one, of the one trace that has this span")] = ""
    session_id: Annotated[str, Field(max_length=10_000, description="Instead of a trace")] = ""
    name: Annotated[Text, Field(description="Free, such as thumbs or correctness")]
    value: Annotated[
        StrictFloat | StrictBool | None,
        Field(description="A number; true and false are 1 and 0, with their name as label"),
    ] = None
    label: Text = ""
    explanation: Annotated[str, Field(max_length=20_000)] = ""
    source: Annotated[Text, Field(description="Who says so: end user, the name of an evaluator")] = ""
    at: Annotated[Text, Field(description="When it was said, ISO 8601; without it: now")] = ""

    def score(self, now: int) -> GivenScore:
        """As it is stored. Raises ConfigError for what a score cannot say."""
        return said(self.model_dump(exclude={"at"}), late_moment("at", self.at, now), now)


class ScoresBody(Params):
    """One score, or several as `items`: all are taken, or none."""

    items: Annotated[list[ScoreItem], Field(min_length=1, max_length=MOST_SCORES)]

    @model_validator(mode="before")
    @classmethod
    def _alone(cls, given: Any) -> Any:
        if isinstance(given, list):
            return {"items": given}
        return {"items": [given]} if isinstance(given, dict) and "items" not in given else given


@with_filters(*SCORE_FILTERS)
class ScoresParams(Params):
    """Of a list of scores."""

    waiting: Annotated[bool, Field(description="Only those of what has not arrived yet")] = False
    since: Since = ""
    limit: Limit = 100
    cursor: Cursor = ""

    def query(self, now: int) -> ScoreQuery:
        """As the question. Raises ConfigError on a value that means nothing."""
        return ScoreQuery(
            limit=self.limit,
            **field_values(SCORE_FILTERS, self),
            waiting=self.waiting,
            since=moment("since", self.since, now),
            before=read_cursor("cursor", self.cursor),
        )


def said(given: dict[str, Any], at: int, now: int) -> GivenScore:
    """The score of these fields, in which a value may be true or false; `at` 0: it is said now (unix nanos).

    Raises ConfigError for what a score cannot say.
    """
    value = given["value"]
    if isinstance(value, bool):
        given = given | {"value": float(value), "label": given["label"] or str(value).lower()}
    elif value is not None:
        given = given | {"value": float(value)}
    score = GivenScore(**given, at=at).checked()
    return replace(score, at=at or now)
