"""Alerts: what people are told in chat, by mail or by a pager."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from .taxonomy import Severity


class AlertState(StrEnum):
    """Whether what an alert is about holds."""

    FIRING = "firing"
    RESOLVED = "resolved"


@dataclass(frozen=True, slots=True)
class Alert:
    """One message of one rule.

    `key`: what it is about (of a rule about services the service, of one about patterns the pattern); a resolved
    alert has the key of the one that fired, so that pagers close their incident. `id` is equal for the same change, in
    any process and after a restart. `title`: one line. `text`: sentences with the figures, their interval and the time
    that they are of. `facts`: the same as pairs of name and value, for forms that show a table. `link`: the page that
    shows it. `at`: when it changed, unix nanos. All texts may hold words of spans, which are hostile.
    """

    id: str
    project: str
    rule: str
    key: str
    state: AlertState
    severity: Severity
    title: str
    text: str
    facts: Sequence[tuple[str, str]]
    link: str
    at: int
