"""The endpoints of patterns of errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Literal

from fastapi import FastAPI, Query, Response
from pydantic import Field

from tracejury.collector.queries.present_patterns import present_pattern, present_patterns
from tracejury.collector.queries.stored_reader import StoredReader
from tracejury.schemas.errors import ConfigError, NotFoundError
from tracejury.schemas.filters import an_id
from tracejury.schemas.queries.patterns import STATES, PatternQuery
from tracejury.schemas.wire.patterns import PatternJson, PatternsJson

from .answers import documented, json_answer
from .params import MAX_LIMIT, Params, Profile, Simulated, Since, Text, late_moment, moment

DEFAULT_SINCE = "7d"


class PatternParams(Params):
    """Of one pattern: the time that is looked at."""

    since: Annotated[Since, Field(description="As elsewhere, by arrival; by default a week")] = ""
    until: Annotated[Text, Field(description="Before this point in time, as in `since`; by default now")] = ""
    profile: Profile = ""
    simulated: Simulated = False

    def query(self, now: int, pattern: str = "") -> PatternQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        since = moment("since", self.since or DEFAULT_SINCE, now)
        until = late_moment("until", self.until, now) or now
        if since >= until:
            raise ConfigError("the time ends before it begins: until must lie after since")
        state = "all" if pattern else ""
        return PatternQuery(since, until, "", an_id(pattern), state, self.profile, self.simulated)


class PatternsParams(PatternParams):
    """Which patterns."""

    service: Text = ""
    state: Annotated[
        Literal[("", *map(str, STATES))],  # type: ignore[valid-type]
        Field(description="Only in this state; by default all but resolved and ignored ones"),
    ] = ""
    limit: Annotated[int, Field(ge=1, le=MAX_LIMIT, description="Patterns at most; `left` says how many more")] = 100

    def query(self, now: int, pattern: str = "") -> PatternQuery:
        """As the reader's question. Raises ConfigError on a value that means nothing."""
        asked = super().query(now, pattern)
        return replace(asked, service=self.service, state=str(self.state), limit=self.limit)


def add_patterns(app: FastAPI, reader: StoredReader, clock: Callable[[], int]) -> None:
    """`/api/patterns` and `/api/patterns/{id}`."""

    @app.get("/api/patterns", responses=documented(PatternsJson))
    def patterns(params: Annotated[PatternsParams, Query()]) -> Response:
        """What keeps going wrong: errors that are one thing to fix, the most harmful first."""
        answer = reader.patterns.ask(params.query(clock()))
        unknown = {} if answer.rows else reader.unknown_names({"service": params.service})
        return json_answer(present_patterns(answer, {name: list(known) for name, known in unknown.items()}))

    @app.get("/api/patterns/{pattern_id}", responses=documented(PatternJson, 404))
    def pattern(pattern_id: str, params: Annotated[PatternParams, Query()]) -> Response:
        """One pattern, by its id."""
        found = reader.patterns.one(params.query(clock(), pattern_id))
        if found is None:
            raise NotFoundError(f"no pattern {pattern_id[:64]!r} is known in this time, or its errors are all gone")
        return json_answer(present_pattern(found[0]))
