"""Runs that use far more turns, tokens, time or money than runs of their agent usually do (judges/runaways.py)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tracejury.judges.base import Context
from tracejury.judges.facts import RunFacts
from tracejury.judges.rule import Hit, rule
from tracejury.judges.runaways import Runaway
from tracejury.schemas.taxonomy import Severity


def _beyond(facts: RunFacts, ctx: Context) -> Iterator[Hit]:
    for found in ctx.runaways:
        span = found.turn.llm or next((c.span for c in found.turn.tool_calls if c.span is not None), None)
        if found.run.id == facts.run.id and span is not None:
            severity = Severity.HIGH if found.severe else Severity.MEDIUM
            yield Hit(span.span_id, "", _told(found), severity=severity)


def _told(found: Runaway) -> str:
    figures = "; ".join(_figure(found, name) for name in found.beyond)
    return f"With this step the run goes far beyond what is usual. By now: {figures}."


def _figure(found: Runaway, name: str) -> str:
    used, most = _SAID[name](getattr(found.used, name)), _SAID[name](getattr(found.bounds.most, name))
    runs = int(getattr(found.bounds.runs, name))
    why = f"by {runs} earlier runs of this agent" if runs else "a fixed bound, as too few runs of this agent are known"
    return f"{used}, where up to {most} are expected ({why})"


_SAID: Final = {
    "turns": lambda value: f"{value:,.0f} turns",
    "tokens": lambda value: f"{value:,.0f} tokens",
    "seconds": lambda value: f"{value:,.0f} s of work",
    "usd": lambda value: f"{value:,.2f} USD",
}

RULES: Final = (
    rule(
        "runaway",
        "Resource Abuse",
        "EE",
        "MEDIUM",
        _beyond,
        confidence=0.6,
        version=1,
        title="Run far beyond the usual",
    ),
)
