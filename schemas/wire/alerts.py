"""The JSON of alerts. From the first release on, keys are only ever added."""

from __future__ import annotations

from .base import Time, WireModel


class AlertFigureJson(WireModel):
    """What a rule saw of a key when it last looked, and what it allows, in words."""

    key: str
    figure: str
    allowed: str


class AlertStateJson(WireModel):
    """What a rule knows of a key, such as a service or a pattern. `state`: firing or resolved, since `since`.

    `told_at`: when the last message of it was made, null for none; `title` and `link` are of that message.
    """

    key: str
    state: str
    since: Time
    told_at: Time
    title: str
    link: str


class AlertRuleJson(WireModel):
    """A rule at its last look. `kind`: pattern, rate, errors, latency, cost, judging_lag or spend.

    `problem`: why it sees nothing, "" where it does; `next_at`: when it may tell people again. `states`: of the keys
    that fire, then of those that were told of last, at most a hundred.
    """

    rule: str
    kind: str
    channels: list[str]
    problem: str
    looked_at: Time
    next_at: Time
    figures: list[AlertFigureJson]
    states: list[AlertStateJson]


class AlertOutcomeJson(WireModel):
    """What became of a message on a channel: sent or given up; `why`: what is to be fixed, "" where nothing is."""

    channel: str
    outcome: str
    why: str


class ToldAlertJson(WireModel):
    """A message. `outcomes`: of channels that took it or gave it up; on others it waits, or a later one replaced it.

    `waits`: it has no outcome yet and may still be sent.
    """

    id: str
    rule: str
    key: str
    state: str
    severity: str
    title: str
    text: str
    link: str
    at: Time
    outcomes: list[AlertOutcomeJson]
    waits: bool


class AlertsJson(WireModel):
    """All alert rules that have looked, by name, and the latest messages, the last one first."""

    rules: list[AlertRuleJson]
    history: list[ToldAlertJson]
