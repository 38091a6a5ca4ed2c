"""Alert rules and their messages as models of the API. Pure functions."""

from __future__ import annotations

from tracejury.schemas.alert_records import AlertRecord, AlertsAnswer, RuleStatus, ToldAlert
from tracejury.schemas.wire.alerts import (
    AlertFigureJson,
    AlertOutcomeJson,
    AlertRuleJson,
    AlertsJson,
    AlertStateJson,
    ToldAlertJson,
)
from tracejury.schemas.wire.base import fill


def present_alerts(answer: AlertsAnswer) -> AlertsJson:
    """The whole answer."""
    return AlertsJson(rules=list(map(_rule, answer.rules)), history=list(map(_told, answer.history)))


def _rule(status: RuleStatus) -> AlertRuleJson:
    look = status.look
    figures = [fill(AlertFigureJson, figure) for figure in look.figures]
    return fill(AlertRuleJson, look, looked_at=look.at, figures=figures, states=list(map(_state, status.records)))


def _state(record: AlertRecord) -> AlertStateJson:
    title, link = (record.told.title, record.told.link) if record.told else ("", "")
    return fill(AlertStateJson, record, title=title, link=link)


def _told(told: ToldAlert) -> ToldAlertJson:
    outcomes = [fill(AlertOutcomeJson, delivery) for delivery in told.outcomes]
    return fill(ToldAlertJson, told.alert, outcomes=outcomes, waits=told.waits)
