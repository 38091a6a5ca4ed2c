"""New errors, as a rule sees them: those since it told of the last ones."""

from __future__ import annotations

from typing import Final

from tracejury.collector.alerting.config import ErrorsRule
from tracejury.collector.alerting.evaluate import RuleReading, Side
from tracejury.collector.alerting.words import name, of_service
from tracejury.schemas.queries.reader import Confidence, ErrorQuery, LocatedError, Position
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted

from .look import RuleLook

LISTED: Final = 5
"""Errors of a message that are named."""
COUNTED: Final = 100
"""Errors that are counted; of more it says so."""
_SECOND: Final = 1_000_000_000
STORED_BY_THEN: Final = 60 * _SECOND
"""An error is dated when it is judged, and stored later: so long a rule waits for it."""


def new_errors(rule: ErrorsRule, look: RuleLook, since: int, until: int) -> RuleReading | None:
    """The errors first seen in [`since`, `until`) (unix nanos); None: there are none."""
    query = ErrorQuery(
        Confidence.of(rule.profile),
        COUNTED + 1,
        service=rule.service,
        judge=rule.judge,
        category=rule.category,
        severity=Severity(rule.severity),
        after=Position(since),
        before=Position(until),
        simulated=False,
    )
    found = look.reader.errors(query)
    if not found:
        return None
    many = counted(len(found), "new error") if len(found) <= COUNTED else f"more than {COUNTED} new errors"
    first = [_described(one) for one in found[:LISTED]]
    more = [f"and {len(found) - LISTED} more" if len(found) <= COUNTED else "and more"] if len(found) > LISTED else []
    links = [(f"Error {number}", look.item("errors", one.error.id)) for number, one in enumerate(found[:LISTED], 1)]
    least = f" of at least {rule.severity}" if rule.severity == Severity.MEDIUM else f" ({rule.severity})"
    what = f"{many}{least if rule.severity != Severity.LOW else ''}{of_service(rule.service)}"
    return RuleReading(
        key=found[0].error.id,
        side=Side.ABOVE,
        severity=max((one.severity for one in found), key=lambda severity: severity.rank),
        title=what,
        text=f"{what}: {'; '.join([*first, *more])}.",
        facts=[("Errors", many), *links],
        link=look.item("errors", found[0].error.id)
        if len(found) == 1
        else look.page("/errors", since, **_filters(rule)),
        figure=many,
        allowed="none",
    )


def _filters(rule: ErrorsRule) -> dict[str, str]:
    names = ("service", "judge", "category", "severity", "profile")
    return {one: getattr(rule, one) for one in names}


def _described(one: LocatedError) -> str:
    place = f"{name(one.service or 'unnamed service')}{f', {name(one.agent)}' if one.agent else ''}"
    return f"{name(one.error.title)} ({place})"
