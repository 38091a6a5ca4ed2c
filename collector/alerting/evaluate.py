"""Whether a rule fires, what is told of it and when. Pure; times are unix nanos.

A key fires when its figure is above what the rule allows, as certainly as the rule asks. It is resolved once the figure
is as certainly below, or once for the whole time that a figure is of no look was above: then nothing is left in it of
what the rule fired on. In between it stays as it is, so a figure that moves about the threshold changes nothing.

People are told of the state that differs from the one told last, and at most once in the rule's interval: what changed
and changed back meanwhile is not told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tracejury.schemas.alert_records import AlertFigure, AlertRecord
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity


class Side(Enum):
    """Where a figure lies: certainly above what is allowed, certainly below, or neither."""

    ABOVE = "above"
    BETWEEN = "between"
    BELOW = "below"


@dataclass(frozen=True, slots=True)
class RuleReading:
    """What a rule sees of a key. `change`: what is told once while it fires, "" for a figure.

    Other fields are as of `Alert` and `AlertFigure`.
    """

    key: str
    side: Side
    severity: Severity
    title: str
    text: str
    facts: Sequence[tuple[str, str]]
    link: str
    figure: str
    allowed: str
    change: str = ""

    @property
    def shown(self) -> AlertFigure:
        """As pages show it."""
        return AlertFigure(self.key, self.figure, self.allowed)


@dataclass(frozen=True, slots=True)
class Seen:
    """All that a rule sees at one look. `absent`: where the figure of a key lies that it does not see.

    `patience`: nanos without a look that was above after which a key is resolved; None: never so.
    """

    readings: Sequence[RuleReading]
    absent: Side
    patience: int | None


@dataclass(frozen=True, slots=True)
class RuleName:
    """A rule of a project."""

    project: str
    rule: str


_GONE: Final = "Nothing of it is seen any more."


def evaluated(rule: str, records: Mapping[str, AlertRecord], seen: Seen, now: int) -> dict[str, AlertRecord]:
    """What the rule knows after a look, by key."""
    sides = {reading.key: reading.side for reading in seen.readings}
    keys = [*records, *(key for key, side in sides.items() if side is Side.ABOVE and key not in records)]
    return {
        key: _next(
            records.get(key) or AlertRecord(rule, key, AlertState.RESOLVED, now),
            sides.get(key, seen.absent),
            seen.patience,
            now,
        )
        for key in keys
    }


def baseline(rule: str, seen: Seen, now: int) -> dict[str, AlertRecord]:
    """What the rule knows after its first look where nobody is told of what there is already."""
    found = evaluated(rule, {}, seen, now)
    changes = {reading.key: reading.change for reading in seen.readings}
    return {key: replace(one, changes=(changes[key],)) if _fires(one) else one for key, one in found.items()}


def last_told(records: Iterable[AlertRecord], due: Callable[[int], int], now: int) -> int:
    """When people were told of a rule last, 0: never; of what still waits for its time, when it was decided.

    `due`: when what is decided at a time is told.
    """
    decided = [record.told_at for record in records if record.told_at]
    return max((at if due(at) > now else due(at) for at in decided), default=0)


def telling(
    name: RuleName, records: Mapping[str, AlertRecord], seen: Seen, next_at: int, now: int
) -> Sequence[AlertRecord]:
    """The records that changed, each with the message to send; none before `next_at`, when the rule may tell again."""
    if now < next_at:
        return ()
    readings = {reading.key: reading for reading in seen.readings}
    return [
        told(record, message(name, record, readings.get(key), now), change)
        for key, record in records.items()
        if (change := _change(record, readings.get(key))) is not None
    ]


def told(record: AlertRecord, alert: Alert, change: str) -> AlertRecord:
    """The record once a message of it is under way."""
    changes = (*record.changes, change) if record.state is AlertState.FIRING else ()
    return replace(record, changes=changes, number=record.number + 1, told=alert, told_at=alert.at)


def message(name: RuleName, record: AlertRecord, reading: RuleReading | None, now: int) -> Alert:
    """The message of a record's state; without a reading it repeats what was told last."""
    last = record.told
    if reading is not None:
        severity, title, facts = reading.severity, reading.title, reading.facts
        text, link = reading.text, reading.link
    elif last is not None:
        severity, title, facts, text, link = last.severity, last.title, (), _GONE, last.link
    else:
        raise ValueError("nobody was told of what is not seen")
    return Alert(
        alert_id(name, record.key, record.number + 1),
        name.project, name.rule, record.key, record.state, severity, title, text, facts, link, now,
    )  # fmt: skip


def alert_id(name: RuleName, key: str, number: int) -> str:
    """The same for the same change, whichever process tells it: receivers drop repeats by it."""
    text = "\0".join((name.project, name.rule, key, str(number))).encode("utf-8", "surrogatepass")
    return f"alert_{hashlib.blake2b(text, digest_size=16).hexdigest()}"


def _next(record: AlertRecord, side: Side, patience: int | None, now: int) -> AlertRecord:
    if side is Side.ABOVE:
        since = record.since if _fires(record) else now
        return replace(record, state=AlertState.FIRING, since=since, calm_since=0)
    record = replace(record, calm_since=record.calm_since or now)
    is_over = side is Side.BELOW or (patience is not None and now - record.calm_since >= patience)
    if not (_fires(record) and is_over):
        return record
    changes = record.changes if _was_told(record) else ()
    return replace(record, state=AlertState.RESOLVED, since=now, changes=changes)


def _change(record: AlertRecord, reading: RuleReading | None) -> str | None:
    """What is to be told of it; None: nothing."""
    if _fires(record):
        is_news = reading is not None and reading.side is Side.ABOVE and reading.change not in record.changes
        return reading.change if reading is not None and is_news else None
    return "" if _was_told(record) else None


def _fires(record: AlertRecord) -> bool:
    return record.state is AlertState.FIRING


def _was_told(record: AlertRecord) -> bool:
    """Whether the last message was that it fires."""
    return record.told is not None and record.told.state is AlertState.FIRING
