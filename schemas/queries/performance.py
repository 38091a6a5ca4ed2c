"""Latency, tokens, cost and failures of runs and calls: what is asked, and the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class PerformanceUnit(StrEnum):
    """What is counted and timed."""

    RUN = "run"
    LLM_CALL = "llm_call"
    TOOL_CALL = "tool_call"


class PerformanceBy(StrEnum):
    """The break-downs of latency, tokens, cost and failures."""

    SERVICE = "service"
    VERSION = "version"  # of the service
    AGENT = "agent"
    MODEL = "model"
    TOOL = "tool"
    PROMPT = "prompt"


@dataclass(frozen=True, slots=True)
class PerformanceQuery:
    """What ran in [`since`, `until`) (unix nanos, of arrival at the collector).

    `step`: nanos of one point in time, 0 for the whole. `by` None: no break-down; the other filters are exact, "" none.
    `limit`: groups, those with the most units first.
    """

    since: int
    until: int
    step: int = 0
    by: PerformanceBy | None = None
    unit: PerformanceUnit = PerformanceUnit.RUN
    service: str = ""
    version: str = ""
    agent: str = ""
    model: str = ""
    tool: str = ""
    prompt: str = ""
    simulated: bool = False
    limit: int = 100


@dataclass(frozen=True, slots=True)
class Performance:
    """`units` ran, `failed` of them with an error status.

    `p50`, `p95`, `p99`: percentiles of their durations (nanos), None where none is known. Tokens are sums of the LLM
    calls in them; `cached_tokens` are part of `input_tokens`. `cost`: US dollars; `unpriced`: calls whose price is not
    known.
    """

    units: int
    failed: int
    p50: float | None
    p95: float | None
    p99: float | None
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: float
    unpriced: int


@dataclass(frozen=True, slots=True)
class PerformanceRow:
    """One group ("" where nothing is grouped, or where it has no name) at one point in time (unix nanos)."""

    key: str
    at: int
    figures: Performance


@dataclass(frozen=True, slots=True)
class PerformanceAnswer:
    """`total` of all; `rows` by group and point in time; `left`: groups beyond the limit.

    `unmeasured`: traces of the time, service and version whose figures are not known: they wait to be judged, could
    not be, or were judged by an earlier version.
    """

    total: Performance
    rows: Sequence[PerformanceRow]
    left: int
    unmeasured: int = 0
