"""The record of a trace besides its spans: enough to decide where it is exported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from tracejury.schemas.agent_errors import ErrorSummary
from tracejury.schemas.findings import Finding
from tracejury.schemas.trajectory import TraceState
from tracejury.schemas.verdicts import DETECTORS, Verdict


@dataclass(frozen=True, slots=True)
class JudgedOpinion:
    """A finding or verdict with the judge that wrote it (`detectors` for all of them) and when, in unix nanos."""

    said: Finding | Verdict
    by: str
    at: int

    @property
    def by_code(self) -> bool:
        """Whether no model had a part in it."""
        return self.by == DETECTORS


@dataclass(frozen=True, slots=True)
class TraceRecord:
    """One judged trace. `judged_at`: of its own last judgement; `seen`: of the latest one of anything in it.

    `pending`: some of its runs wait for LLM judges; `failed`: a judge failed on something in it. `run_spans`: run id to
    the id of its span, "" where it has none. `top`: the id of its earliest topmost span; `trace_state` that of its
    earliest span; `errors`: a span of it has error status. `opinions`: in it, in any state; `found`: the errors that
    hold and whose primary spans are in it. `ends`: when spans ended
    that opinions are about, by trace and span id. `sent`: as `ExportProgress.items`, from when `sent_seen` was seen.

    Where it was judged as one with others, `kin` are these, as far as they are stored, `leader` is the id of the first
    of them all, and `seen` is of anything in any of them: they go out together. Times in unix nanos.
    """

    trace_id: str
    state: str
    judged_at: int
    seen: int
    received_at: int
    rows: int
    conventions: tuple[str, ...] = ()
    pending: bool = False
    failed: bool = False
    run_spans: Mapping[str, str] = field(default_factory=dict)
    top: str = ""
    trace_state: str = ""
    errors: bool = False
    opinions: tuple[JudgedOpinion, ...] = ()
    found: tuple[ErrorSummary, ...] = ()
    kin: tuple[TraceRecord, ...] = ()
    leader: str = ""
    ends: Mapping[tuple[str, str], int] = field(default_factory=dict)
    sent: Mapping[int, int] = field(default_factory=dict)
    sent_seen: int = 0

    def holder(self, span_id: str) -> str:
        """The trace of the group that has that span, "" where none does."""
        return next((r.trace_id for r in self.all if (r.trace_id, span_id) in self.ends), "")

    @property
    def all(self) -> tuple[TraceRecord, ...]:
        """It and its kin."""
        return (self, *self.kin)

    @property
    def waits(self) -> bool:
        """Whether LLM judges are still to come to something in it or its kin, as far as these are closed."""
        return any(r.pending and r.state != TraceState.OPEN for r in self.all)
