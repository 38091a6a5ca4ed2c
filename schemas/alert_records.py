"""What the store holds of alert rules: what each knows of its keys, what it saw last, and what was told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from .alerts import Alert, AlertState

_HOUR: Final = 3600 * 10**9
LONGEST_TRIED: Final = 24 * _HOUR
"""How long an alert is tried, from when it is due (nanos)."""
LONGEST_HELD: Final = LONGEST_TRIED + 25 * _HOUR
"""How old a message can be that is still to be sent: a digest is at most a day away, of 25 hours once a year."""

MessageName = tuple[str, str, int]
"""Rule, key and number of a message."""


class AlertOutcome(StrEnum):
    """What became of a message on a channel."""

    SENT = "sent"
    GIVEN_UP = "given up"


@dataclass(frozen=True, slots=True)
class AlertRecord:
    """A rule's memory of one key. Times are unix nanos.

    `state`: by its figure, since `since`; `calm_since`: since when the figure has not been above what is allowed, 0
    while it is. `changes`: those that nobody is to be told of again while it fires. `number`: messages up to now;
    `told`: the last of them, made at `told_at` (0: none).
    """

    rule: str
    key: str
    state: AlertState
    since: int
    calm_since: int = 0
    changes: Sequence[str] = ()
    number: int = 0
    told: Alert | None = None
    told_at: int = 0

    @property
    def name(self) -> MessageName:
        """Of the last message."""
        return self.rule, self.key, self.number


@dataclass(frozen=True, slots=True)
class AlertDelivery:
    """A message, named by rule, key and number, was settled on a channel; `at`: unix nanos.

    `why`: what a channel that did not take it, or not for everybody, said.
    """

    rule: str
    key: str
    number: int
    channel: str
    outcome: AlertOutcome
    at: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class AlertFigure:
    """What a rule saw of a key: the `figure` and what is `allowed`, in words."""

    key: str
    figure: str
    allowed: str


@dataclass(frozen=True, slots=True)
class AlertLook:
    """A rule's last look, at `at`. `problem`: why it saw nothing, "" where it did. `next_at`: when it may tell again.

    Times are unix nanos.
    """

    rule: str
    kind: str
    channels: Sequence[str]
    figures: Sequence[AlertFigure]
    problem: str
    at: int
    next_at: int


@dataclass(frozen=True, slots=True)
class RuleStatus:
    """A rule as people ask for it: its last look, and the keys that fire or were told of last, these first."""

    look: AlertLook
    records: Sequence[AlertRecord]


@dataclass(frozen=True, slots=True)
class ToldAlert:
    """A message of the past, and what became of it by channel; on one that is absent a later one took its place.

    `waits`: it has no outcome yet and may still be sent.
    """

    alert: Alert
    outcomes: Sequence[AlertDelivery]
    waits: bool


@dataclass(frozen=True, slots=True)
class AlertsAnswer:
    """All rules by name, and the latest messages, the last one first."""

    rules: Sequence[RuleStatus]
    history: Sequence[ToldAlert]
