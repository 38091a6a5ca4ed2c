"""Latency and cost, as a rule sees them."""

from __future__ import annotations

from typing import Final

from tracejury.collector.alerting.config import CostRule, LatencyRule
from tracejury.collector.alerting.evaluate import RuleReading, Seen, Side
from tracejury.collector.alerting.words import duration, last, name, of_service, usd
from tracejury.schemas.queries.performance import PerformanceQuery, PerformanceUnit
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import parse_length

from .look import RuleLook

CLEARLY: Final = 0.9
"""A figure without an interval is clearly below what is allowed at this part of it."""
SECOND: Final = 1_000_000_000
_NOUNS: Final = {
    PerformanceUnit.RUN: "run",
    PerformanceUnit.LLM_CALL: "LLM call",
    PerformanceUnit.TOOL_CALL: "tool call",
}


def exact_side(value: float, allowed: float) -> Side:
    """Where a figure without an interval lies."""
    return Side.ABOVE if value > allowed else Side.BELOW if value <= CLEARLY * allowed else Side.BETWEEN


def see_latency(rule: LatencyRule, look: RuleLook) -> Seen:
    """The percentile of durations; with fewer than the rule's least it lies nowhere."""
    length, allowed = parse_length(rule.over), rule.above_seconds * SECOND
    query = PerformanceQuery(
        look.now - length,
        look.now,
        unit=rule.of,
        service=rule.service,
        agent=rule.agent,
        model=rule.model,
        tool=rule.tool,
    )
    total = look.reader.performance.ask(query).total
    value: float | None = getattr(total, f"p{rule.percentile}")
    side = Side.BETWEEN if value is None or total.units < rule.least else exact_side(value, allowed)
    units = counted(total.units, _NOUNS[rule.of])
    of = "".join(f" of {name(one)}" for one in (rule.tool, rule.model, rule.agent, rule.service) if one)
    figure = "none was timed" if value is None else duration(value)
    reading = RuleReading(
        key=rule.service,
        side=side,
        severity=look.urgency,
        title=f"Duration (p{rule.percentile}) of {_NOUNS[rule.of]}s{of}: {duration(allowed)} allowed",
        text=f"{rule.percentile} % of {units}{of} in {last(rule.over)} took at most {figure}; the rule allows "
        f"{duration(allowed)}."
        if value is not None
        else f"None of {units}{of} in {last(rule.over)} was timed; the rule allows {duration(allowed)}.",
        facts=[(f"p{rule.percentile}", figure), ("Allowed", duration(allowed)), ("Of", units)],
        link=look.page(
            "/services", look.now - length, unit=rule.of, service=rule.service, agent=rule.agent, model=rule.model
        ),
        figure=f"{figure} of {units}",
        allowed=duration(allowed),
    )
    return Seen([reading], Side.BETWEEN, length)


def see_cost(rule: CostRule, look: RuleLook) -> Seen:
    """The cost of agents' LLM calls."""
    length = parse_length(rule.over)
    query = PerformanceQuery(look.now - length, look.now, service=rule.service, agent=rule.agent, model=rule.model)
    total = look.reader.performance.ask(query).total
    of = "".join(f" of {name(one)}" for one in (rule.model, rule.agent) if one) + of_service(rule.service)
    unpriced = f"{counted(total.unpriced, 'call')} without a known price" if total.unpriced else ""
    reading = RuleReading(
        key=rule.service,
        side=exact_side(total.cost, rule.above_usd),
        severity=look.urgency,
        title=f"Cost of LLM calls{of}: {usd(rule.above_usd)} allowed in {last(rule.over).removeprefix('the last ')}",
        text=f"LLM calls of {counted(total.units, 'run')}{of} cost {usd(total.cost)} in {last(rule.over)}; the rule "
        f"allows {usd(rule.above_usd)}.{f' Not in it: {unpriced}.' if unpriced else ''}",
        facts=[("Cost", usd(total.cost)), ("Allowed", usd(rule.above_usd)), ("Runs", f"{total.units:,}")],
        link=look.page("/services", look.now - length, service=rule.service, agent=rule.agent, model=rule.model),
        figure=f"{usd(total.cost)}{f', and {unpriced}' if unpriced else ''}",
        allowed=usd(rule.above_usd),
    )
    return Seen([reading], Side.BETWEEN, length)
