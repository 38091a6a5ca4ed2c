"""How far judging lags behind, and what LLM judges spend, as a rule sees them."""

from __future__ import annotations

from tracejury.collector.alerting.config import JudgingLagRule, SpendRule
from tracejury.collector.alerting.evaluate import RuleReading, Seen, Side
from tracejury.collector.alerting.words import duration, percent, percent_exactly
from tracejury.collector.queries.present_llm import day_start, present_spend
from tracejury.schemas.text.counting import counted

from .look import RuleLook
from .performance import SECOND, exact_side


def see_judging_lag(rule: JudgingLagRule, look: RuleLook) -> Seen:
    """For how long the oldest trace waits that lists show as not judged yet."""
    waiting, oldest = look.reader.waiting()
    waited, allowed = max(look.now - oldest, 0) if waiting else 0, rule.above_seconds * SECOND
    oldest_for, traces = duration(round(waited / SECOND) * SECOND), counted(waiting, "trace")
    reading = RuleReading(
        key="",
        side=exact_side(waited, allowed),
        severity=look.urgency,
        title=f"Traces wait for judging: {duration(allowed)} allowed",
        text=f"{traces} {'waits' if waiting == 1 else 'wait'} to be judged, the oldest for {oldest_for}; the rule "
        f"allows {duration(allowed)}.",
        facts=[("Oldest", oldest_for), ("Allowed", duration(allowed)), ("Waiting", f"{waiting:,}")],
        link=look.page("/traces", judged="waiting", range="30d"),
        figure=f"{oldest_for}, {traces}",
        allowed=duration(allowed),
    )
    return Seen([reading], Side.BELOW, None)


def see_spend(rule: SpendRule, look: RuleLook) -> Seen:
    """The part of a cap that is spent; nothing is seen where there is no such cap."""
    status = look.judges()
    cap = status.caps.get(rule.cap)
    if not cap:
        return Seen([], Side.BELOW, None)
    used = present_spend(look.reader.ledger.spend(day_start(look.now)), status, look.now).used.get(rule.cap, 0.0)
    spent, allowed = f"{used:,.2f} of {cap:,.2f}", percent_exactly(rule.above)
    reading = RuleReading(
        key=rule.cap,
        side=exact_side(used / cap, rule.above),
        severity=look.urgency,
        title=f"LLM judges' spend of {rule.cap}: {allowed} allowed",
        text=f"LLM judges have spent {percent(used / cap)} of {rule.cap} ({spent}); the rule allows {allowed}.",
        facts=[("Spent", spent), ("Part", percent(used / cap)), ("Allowed", allowed)],
        link=look.page("/judges"),
        figure=f"{percent(used / cap)} ({spent})",
        allowed=allowed,
    )
    return Seen([reading], Side.BELOW, None)
