"""The share of judged runs with an error, as a rule sees it."""

from __future__ import annotations

from typing import Final

from tracejury.collector.alerting.config import RateRule
from tracejury.collector.alerting.evaluate import RuleReading, Seen, Side
from tracejury.collector.alerting.words import errors_of, interval, last, name, of_service, percent, percent_exactly
from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.rates import By, Population, Rate, RateQuery
from tracejury.schemas.taxonomy import Severity
from tracejury.schemas.text.counting import counted
from tracejury.schemas.text.moments import parse_length

from .look import RuleLook

SERVICES: Final = 100


def see_rate(rule: RateRule, look: RuleLook) -> Seen:
    """The share, of each service where the rule says so. Raises as `Rates.ask`."""
    length = parse_length(rule.over)
    query = RateQuery(
        look.now - length,
        look.now,
        by=By.SERVICE if rule.by_service else None,
        population=rule.population,
        profile=rule.profile,
        service=rule.service,
        agent=rule.agent,
        judge=rule.judge,
        category=rule.category,
        severity=rule.severity,
        limit=SERVICES,
    )
    answer = look.reader.rates.ask(query)
    rates = [(row.key, row.rate) for row in answer.rows] if rule.by_service else [(rule.service, answer.total)]
    readings = [_reading(rule, look, service, rate, answer.population) for service, rate in rates]
    return Seen(readings, Side.BETWEEN, length)


def side_of(rule: RateRule, rate: Rate) -> Side:
    """Where a share lies, by the ends of its Wilson interval that are each right with the rule's certainty.

    An interval that both ends miss with probability 1 - c has ends of certainty (1 + c) / 2 each, so the level asked
    for is 2 * certainty - 1.
    """
    if rate.share is None or rate.judged < rule.least:
        return Side.BETWEEN
    low, high = wilson_of(rate.share.value, rate.effective, level=2 * rule.certainty - 1)
    return Side.ABOVE if low > rule.above else Side.BELOW if high < rule.above else Side.BETWEEN


def _link(rule: RateRule, look: RuleLook, service: str, population: Population) -> str:
    """To the figure, or to the traces that count where the overview cannot narrow the figure as the rule does."""
    since = look.now - parse_length(rule.over)
    narrowed = {"agent": rule.agent, "judge": rule.judge, "category": rule.category}
    if rule.severity != Severity.LOW or any(narrowed.values()):
        narrowed["severity"] = rule.severity
        return look.page("/traces", since, service=service, profile=rule.profile, **narrowed)
    return look.page("/", since, service=service, profile=rule.profile, population=population)


def _reading(rule: RateRule, look: RuleLook, service: str, rate: Rate, population: Population) -> RuleReading:
    what, allowed = errors_of(Severity(rule.severity)), percent_exactly(rule.above)
    more = [f"of agent {name(rule.agent)}"] if rule.agent else []
    more += [f"by {name(rule.judge)}"] if rule.judge else []
    more += [f"in {name(rule.category)}"] if rule.category else []
    where = of_service(service)
    words = " ".join([f"Share of runs{where} with {what}", *more])
    if rate.share is None:
        text = f"No run{where} was judged in {last(rule.over)}; the rule allows {allowed}."
        figure = "no run was judged"
    else:
        figure = f"{percent(rate.share.value)} ({interval(rate.share)}) of {counted(rate.judged, 'run')}"
        text = (
            f"{percent(rate.share.value)} of {counted(rate.judged, 'run')}{where} had {' '.join([what, *more])} in "
            f"{last(rule.over)} (95 % interval {interval(rate.share)}); the rule allows {allowed}."
        )
    return RuleReading(
        key=service,
        side=side_of(rule, rate),
        severity=look.urgency,
        title=f"{words}: {allowed} allowed",
        text=text,
        facts=[("Share", figure), ("Allowed", f"{allowed}, with {percent_exactly(rule.certainty)} certainty")],
        link=_link(rule, look, service, population),
        figure=figure,
        allowed=allowed,
    )
