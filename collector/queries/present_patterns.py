"""Patterns as models of the API, and the sentence that people read. Pure functions."""

from __future__ import annotations

from typing import Final

from tracejury.judges.detectors.schema import SCHEMA_RULES
from tracejury.judges.tool_schema import how_called
from tracejury.schemas.queries.patterns import PatternAnswer, PatternRow, Since
from tracejury.schemas.rates import Estimate
from tracejury.schemas.text.moments import iso_time
from tracejury.schemas.wire.base import fill
from tracejury.schemas.wire.patterns import PatternErrorJson, PatternJson, PatternsJson, SinceJson

_DAY: Final = 10
"""Characters of a date."""

_LEAST: Final = 0.1
"""Percent that are told with one decimal."""


QUOTED: Final = 2_000
"""Characters of an example's quote and explanation: a list has three examples of each of many patterns."""


def present_patterns(answer: PatternAnswer, unknown: dict[str, list[str]]) -> PatternsJson:
    """The answer of a list."""
    return fill(PatternsJson, answer, items=[present_pattern(row) for row in answer.rows], unknown=unknown)


def present_pattern(row: PatternRow) -> PatternJson:
    """A pattern."""
    examples = [
        fill(
            PatternErrorJson,
            error,
            error_id=error.id,
            evidence=error.evidence[:QUOTED],
            explanation=error.explanation[:QUOTED],
        )
        for error in row.examples
    ]
    since = _since(row.since) if row.since else None
    return fill(PatternJson, row, told=told(row), since=since, examples=examples)


def told(row: PatternRow) -> str:
    """What it is, how frequent, of what and since when, such as "search: Timed out in 4.1 % of runs of app".

    Its parts are texts of spans: for a page or terminal they are to be made safe.
    """
    words = [_called(row) or ": ".join(filter(None, (row.about, row.kind))) or "errors"]
    if row.share:
        words.append(f"in {percent(row.share)} of runs of {row.service or 'an unnamed service'}")
    if row.since:
        words.append(f"since {row.since.version or (iso_time(row.since.time) or '')[:_DAY]}")
    return " ".join(words)


def _called(row: PatternRow) -> str:
    """The tool and the argument with which, or without which, it is called; "" unless a rule of schemas says so."""
    rules = all(example.judge in SCHEMA_RULES for example in row.examples)
    told = {how_called(example.explanation) for example in row.examples} if rules and row.tools else set()
    how = told.pop() if len(told) == 1 else ""
    return f"{row.about} {how}" if how else ""


def percent(share: Estimate) -> str:
    """A share with as many digits as it takes."""
    parts = 100 * share.value
    return f"{parts:.1f} %" if parts >= _LEAST or not parts else f"{parts:.2g} %"


def bounds(since: Since) -> tuple[str, str]:
    """The interval in words."""
    first, last = (one if isinstance(one, str) else iso_time(one) or "" for one in (since.first, since.last))
    return first, last


def _since(since: Since) -> SinceJson:
    first, last = bounds(since)
    return SinceJson(version=since.version, time=None if since.version else since.time, first=first, last=last)  # type: ignore[arg-type]  # the model reads nanos
