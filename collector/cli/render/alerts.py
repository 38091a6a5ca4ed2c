"""Alert rules for people. Their words are made of texts of spans: plain text, made safe, never markup."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from tracejury.schemas.wire.alerts import AlertRuleJson, AlertsJson, ToldAlertJson

from .tables import SEVERITY_STYLE, content, moment, rows_table

_WORDS = 100
_FIRING = "bold red"


def alerts_table(answer: AlertsJson) -> RenderableType:
    """A line a rule, then a line a message."""
    rules = rows_table(
        answer.rules,
        "no alert rule has looked yet",
        {
            "rule": lambda rule: content(rule.rule),
            "looks at": lambda rule: rule.kind.replace("_", " "),
            "state": _state,
            "figure": lambda rule: content("; ".join(figure.figure for figure in rule.figures[:3]) or "-", _WORDS),
            "allowed": lambda rule: content(next((figure.allowed for figure in rule.figures), "-")),
            "looked": lambda rule: moment(rule.looked_at),
            "channels": lambda rule: content(", ".join(rule.channels)),
        },
    )
    told = rows_table(
        answer.history,
        "nobody was told anything yet",
        {
            "told": lambda one: moment(one.at),
            "state": lambda one: Text(one.state, _FIRING if one.state == "firing" else ""),
            "severity": lambda one: Text(one.severity, SEVERITY_STYLE.get(one.severity, "")),
            "what": lambda one: content(one.title, _WORDS),
            "rule": lambda one: content(one.rule),
            "by channel": _outcomes,
        },
    )
    return Group(rules, told)


def _state(rule: AlertRuleJson) -> Text:
    if rule.problem:
        return content(f"cannot look: {rule.problem}", _WORDS)
    firing = sum(one.state == "firing" for one in rule.states)
    return Text(f"firing ({firing})" if firing > 1 else "firing", _FIRING) if firing else Text("quiet")


def _outcomes(one: ToldAlertJson) -> Text:
    found = [f"{each.channel}: {each.outcome}{f' ({each.why})' if each.why else ''}" for each in one.outcomes]
    return content(", ".join(found) or ("waits" if one.waits else "not sent"))
