"""Patterns of errors, as a rule sees them."""

from __future__ import annotations

from typing import Final

from tracejury.collector.alerting.config import PatternRule
from tracejury.collector.alerting.evaluate import RuleReading, Seen, Side
from tracejury.collector.alerting.words import interval, name, percent
from tracejury.collector.queries.present_patterns import bounds, told
from tracejury.schemas.annotations import PatternMark
from tracejury.schemas.queries.patterns import PatternQuery, PatternRow, PatternState
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import parse_length
from tracejury.schemas.text.terminal import one_line

from .look import RuleLook

MOST: Final = 1000
"""Patterns of a look, the most harmful first."""
WINDOW: Final = "7d"
_SENTENCE: Final = 400
_OVER: Final = frozenset({PatternState.GONE, PatternState.RARER, PatternMark.RESOLVED, PatternMark.IGNORED})


def see_patterns(rule: PatternRule, look: RuleLook) -> Seen:
    """All patterns of the last week, compared with the four before, as the page Issues has them."""
    since = look.now - parse_length(WINDOW)
    query = PatternQuery(since, look.now, rule.service, state="all", profile=rule.profile, limit=MOST)
    answer = look.reader.patterns.ask(query)
    readings = [_reading(rule, look, row) for row in answer.rows]
    return Seen(readings, Side.BETWEEN if answer.left else Side.BELOW, None)


def side_of(rule: PatternRule, row: PatternRow) -> Side:
    """Above: in a state that the rule tells. Below: gone, rarer, resolved or ignored."""
    if row.state in rule.states and row.severity.rank >= Severity(rule.severity).rank:
        return Side.ABOVE
    return Side.BELOW if row.state in _OVER else Side.BETWEEN


def _reading(rule: PatternRule, look: RuleLook, row: PatternRow) -> RuleReading:
    sentence = one_line(told(row), _SENTENCE)
    facts = [("State", row.state), ("Runs", f"{row.hits:,} of {row.units:,}")]
    if row.share:
        facts.append(("Share", f"{percent(row.share.value)} ({interval(row.share)})"))
    if row.since:
        first, end = bounds(row.since)
        facts.append(("Since, with 95 % certainty", f"between {name(first)} and {name(end)}"))
    facts += [
        (f"Example {number}", look.item("errors", error.id)) for number, error in enumerate(row.examples, start=1)
    ]
    title = f"{name(row.about or row.service)}: {name(row.kind or 'errors')}"
    return RuleReading(
        key=row.id,
        side=side_of(rule, row),
        severity=row.severity,
        title=f"Pattern {row.state}: {title}",
        text=f"{sentence[:1].upper()}{sentence[1:]}, seen in {row.hits:,} of {counted(row.units, 'run')} of the last "
        f"7 days: it is {row.state}.",
        facts=facts,
        link=look.item("patterns", row.id, WINDOW),
        figure=f"{title}: {row.state}",
        allowed=f"none that is {' or '.join(rule.states)}",
        change=row.state,
    )
