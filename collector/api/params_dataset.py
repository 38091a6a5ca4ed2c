"""The parameters of `/api/export`."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from tracejury.schemas.filters import EXPORT_FILTERS, field_values, named
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, TraceQuery
from tracejury.schemas.taxonomy import Severity

from .params import Params, Profile, Since, moment, with_filters

Rows = Literal["findings", "errors", "runs", "trail"]


@with_filters(*EXPORT_FILTERS)
class _ExportFilters(Params):
    rows: Rows = "findings"
    format: Literal["jsonl", "parquet"] = "jsonl"


class ExportParams(_ExportFilters):
    """The rows to export: findings or errors (filters as of their lists), agent runs, or traces in TRAIL's layout."""

    profile: Profile = ""
    since: Since = ""
    transcripts: Annotated[bool, Field(description="Whether rows hold the run's transcript")] = True
    limit: Annotated[int | None, Field(ge=1, description="How many rows at most; by default all")] = None

    @property
    def of_errors(self) -> bool:
        """Whether rows are of errors, or of the findings that make them, by first sight."""
        return self.rows in ("errors", "findings")

    @property
    def trace_id(self) -> str:
        """The trace that it is narrowed to, "" for none."""
        found: str = field_values(EXPORT_FILTERS, self)["trace_id"]
        return found

    @model_validator(mode="after")
    def _fits(self) -> Self:
        chosen = [name for name in ("span", "judge", "category", "severity") if getattr(self, name)]
        if not self.of_errors and chosen:
            raise ValueError(f"{chosen[0]} chooses findings; rows={self.rows} hold all findings of what they are of")
        given = field_values(EXPORT_FILTERS, self)
        if self.of_errors and given["session_id"]:
            raise ValueError(f"session chooses runs and traces, not {self.rows}")
        narrowed = given["service"] or given["session_id"] or self.since
        if given["trace_id"] and not self.of_errors and narrowed:
            raise ValueError("trace chooses one trace: name neither service, session nor since beside it")
        return self

    def errors(self, now: int) -> ErrorQuery:
        """Which errors or findings. Raises ConfigError on a value that means nothing."""
        given = field_values(EXPORT_FILTERS, self)
        del given["session_id"]
        given["severity"] = given["severity"] or Severity.LOW
        since = moment("since", self.since, now)
        return ErrorQuery(confidence=Confidence.of(self.profile), limit=0, **given, since=since)

    def traces(self, now: int) -> TraceQuery:
        """Of which traces. Raises ConfigError on a value that means nothing."""
        given = field_values(named(EXPORT_FILTERS, "service", "agent", "session"), self)
        since = moment("since", self.since, now)
        return TraceQuery(confidence=Confidence.of(self.profile), limit=0, **given, since=since)
