"""The parameters of `/api/export`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ...schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from ...schemas.taxonomy import Severity
from .params import Params, Profile, Since, Text, an_id, moment

Rows = Literal["findings", "runs", "trail"]


class ExportParams(Params):
    """What to export: `rows` of findings (filters as of /api/errors), of agent runs, or of traces in TRAIL's layout."""

    rows: Rows = "findings"
    format: Literal["jsonl", "parquet"] = "jsonl"
    trace: Text = ""
    span: Text = ""
    service: Text = ""
    agent: Annotated[Text, Field(description="The name of the agent whose run it is")] = ""
    session: Annotated[Text, Field(description="Of runs and traces: of this session")] = ""
    judge: Text = ""
    category: Text = ""
    severity: Annotated[Severity | None, Field(description="The least severity")] = None
    profile: Profile = ""
    since: Since = ""
    transcripts: Annotated[bool, Field(description="Whether rows hold the run's transcript")] = True
    limit: Annotated[int | None, Field(ge=1, description="How many rows at most; by default all")] = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        chosen = [name for name in ("span", "judge", "category", "severity") if getattr(self, name)]
        if self.rows != "findings" and chosen:
            raise ValueError(f"{chosen[0]} chooses findings; rows={self.rows} hold all findings of what they are of")
        if self.rows == "findings" and self.session:
            raise ValueError("session chooses runs and traces, not findings")
        if self.trace and self.rows != "findings" and (self.service or self.session or self.since):
            raise ValueError("trace chooses one trace: name neither service, session nor since beside it")
        return self

    def errors(self, now: int) -> ErrorQuery:
        """Which findings. Raises ConfigError on a value that means nothing."""
        return ErrorQuery(
            confidence=Confidence.of(self.profile),
            limit=0,
            trace_id=an_id(self.trace),
            span_id=an_id(self.span),
            service=self.service,
            agent=self.agent,
            judge=self.judge,
            category=self.category,
            severity=self.severity or Severity.LOW,
            since=moment("since", self.since, now),
        )

    def traces(self, now: int) -> TraceQuery:
        """Of which traces. Raises ConfigError on a value that means nothing."""
        return TraceQuery(
            confidence=Confidence.of(self.profile),
            limit=0,
            service=self.service,
            agent=self.agent,
            session_id=self.session,
            since=moment("since", self.since, now),
        )
