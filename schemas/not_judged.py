"""Why no judge has looked at a trace or an agent run: such a one must not look healthy beside those that were judged.

LLM judges have their own reasons, run by run, in the ledger (over budget, sampled out, …): detectors looked there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from .normalized import Captured, Kind, NormalizedSpan
from .trajectory import AgentRun, Trace
from .verdicts import Outcome


class NotJudged(StrEnum):
    """Why a trace or run is not judged."""

    WAITING = "waiting"
    NO_CALLS = "no-calls"
    NO_CONTENT = "no-content"
    UNKNOWN_CONVENTION = "unknown-convention"
    NO_RUN = "no-run"
    FAILED = "failed"
    OUR_CALLS = "our-calls"

    @property
    def words(self) -> str:
        """The reason for people."""
        return _WORDS[self]


_WORDS: Final[Mapping[str, str]] = {
    NotJudged.WAITING: "not judged yet",
    NotJudged.NO_CALLS: "no model or tool was called",
    NotJudged.NO_CONTENT: "no content recorded",
    NotJudged.UNKNOWN_CONVENTION: "unknown convention",
    NotJudged.NO_RUN: "its calls are in no agent run",
    NotJudged.FAILED: "judging failed",
    NotJudged.OUR_CALLS: "calls of our own judges",
}


def reason_words(reason: str) -> str:
    """Why something stands in no rate, for people: as they say it of a trace, else an outcome of judging as it is."""
    return _WORDS.get(reason, reason)


_OUTCOMES: Final = {Outcome.FAILED: NotJudged.FAILED, Outcome.FILTERED: NotJudged.OUR_CALLS}
_CALLS: Final = frozenset({Kind.LLM, Kind.TOOL, Kind.RETRIEVER, Kind.EMBEDDING, Kind.RERANKER})

ORDINARY: Final = (
    "browser.", "cloud.", "code.", "container.", "db.", "device.", "exception.", "faas.", "host.", "http.", "k8s.",
    "messaging.", "net.", "network.", "otel.", "process.", "rpc.", "telemetry.", "url.", "user_agent.",
)  # fmt: skip
"""Namespaces of OpenTelemetry's general conventions, which programs of any kind follow, whatever words their keys have
(`user_agent.original`, `device.model.name`)."""
_OF_MODELS: Final = frozenset(
    ("agent", "ai", "completion", "embedding", "genai", "llm", "model", "prompt", "token", "tool")
)
"""Words in the name of a span or of its attribute that hint at a model or an agent. Programs of any kind have
attributes of their own: only such a word makes it likely that a convention is missed."""
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_NAME: Final = 200
"""Characters of a name that are looked at."""


def why_not_judged(trace: Trace, outcome: Outcome) -> NotJudged | None:
    """Why detectors, whose judgement had this outcome, said nothing about a trace; None where they could.

    Of calls without content they judged statuses, times and order alone, so that there may be errors all the same.
    """
    if outcome in _OUTCOMES:
        return _OUTCOMES[outcome]
    if any(map(_has_calls, trace.runs)):
        return None if _has_content(trace.runs, trace.spans.values()) else NotJudged.NO_CONTENT
    if any(span.kind in _CALLS for span in trace.remainder):
        return NotJudged.NO_RUN
    if not any(trace.conventions) and any(map(_hints_at_a_model, trace.spans.values())):
        return NotJudged.UNKNOWN_CONVENTION
    return NotJudged.NO_CALLS


def why_run_not_judged(run: AgentRun) -> NotJudged | None:
    """The same of one run of a judged trace."""
    if not _has_calls(run):
        return NotJudged.NO_CALLS
    spans = (span for turn in run.turns for span in turn.spans)
    return None if _has_content((run,), spans) else NotJudged.NO_CONTENT


def _has_calls(run: AgentRun) -> bool:
    return any(turn.llm is not None or turn.tool_calls for turn in run.turns)


def _has_content(runs: Iterable[AgentRun], spans: Iterable[NormalizedSpan]) -> bool:
    return any(run.goal or run.answer for run in runs) or any(
        span.content is not Captured.NOTHING or span.log_text for span in spans
    )


def _hints_at_a_model(span: NormalizedSpan) -> bool:
    names = (span.raw.name, *(key for key in span.raw.attributes if not key.startswith(ORDINARY)))
    return any(word.lower().removesuffix("s") in _OF_MODELS for name in names for word in _WORD.findall(name[:_NAME]))
