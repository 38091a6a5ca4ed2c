"""What each kind of rule sees in the store, and what people are told."""

from __future__ import annotations

from typing import Any

import pytest
from alert_bench import BASE, MINUTE, Bench, traces
from listed_traces import Listed, Mark
from served_api import NOW

from tracejury.collector.alerting.config import RateRule
from tracejury.collector.alerting.evaluate import Side
from tracejury.collector.alerting.figures.rate import side_of
from tracejury.collector.alerting.words import percent_exactly, usd
from tracejury.judges.measures.wilson import wilson_of
from tracejury.schemas.alerts import AlertState
from tracejury.schemas.annotations import PatternLabel, PatternMark
from tracejury.schemas.errors import ConfigError, RetryableError
from tracejury.schemas.queries.ledger import JudgesStatus
from tracejury.schemas.rates import Estimate, Rate
from tracejury.schemas.taxonomy import Severity

RATE = {"rate": {"above": 0.02, "service": "support", "severity": "HIGH", "over": "1h"}}


async def test_a_rate_fires_once_with_its_figures_and_is_resolved(bench: Bench) -> None:
    bench.keep(traces(0, 256, 38, NOW))
    await bench.start(RATE)
    (alert,) = await bench.look()
    assert alert.text == (
        "7.4 % of 512 runs of support had a HIGH error in the last hour (95 % interval 5.5 to 10.0 %); "
        "the rule allows 2 %."
    )
    assert (alert.state, alert.severity, alert.key) == (AlertState.FIRING, Severity.HIGH, "support")
    assert alert.link.startswith(f"{BASE}/traces?service=support&severity=HIGH&from=")
    assert not await bench.look(5)
    assert bench.metric("tracejury_alerts_firing") == {'tracejury_alerts_firing{rule="rule-0"}': 1.0}
    assert not await bench.look(60)
    (resolved,) = await bench.look(60)
    assert (resolved.state, resolved.key) == (AlertState.RESOLVED, "support")
    assert resolved.text == "No run of support was judged in the last hour; the rule allows 2 %."
    assert not await bench.look(120)
    assert bench.metric("tracejury_alerts_sent_total") == {
        'tracejury_alerts_sent_total{channel="ops",rule="rule-0"}': 2.0
    }


async def test_an_error_of_less_severity_or_another_service_is_not_counted(bench: Bench) -> None:
    bench.keep(traces(0, 60, 60, NOW, severity=Severity.LOW))
    bench.keep(traces(100, 60, 60, NOW, service="shop"))
    await bench.start(RATE)
    assert not await bench.look()


async def test_each_service_has_an_alert_of_its_own_in_one_message(bench: Bench) -> None:
    """A pager gets them one by one, each to be closed by itself."""
    bench.keep(traces(0, 60, 40, NOW) + traces(100, 60, 40, NOW, "shop") + traces(200, 60, 0, NOW, "calm"))
    rule = {"rate": {"above": 0.02, "by_service": True}, "channels": ["ops", "pager"]}
    await bench.start(rule)
    await bench.look()
    (message,) = bench.channels["ops"].messages
    assert {alert.key for alert in message} == {"support", "shop"}
    assert [len(message) for message in bench.channels["pager"].messages] == [1, 1]


@pytest.mark.parametrize(("hits", "side"), [(9, Side.ABOVE), (8, Side.BETWEEN), (0, Side.BELOW)])
def test_certainty_is_that_of_one_end_of_the_interval(hits: int, side: Side) -> None:
    """Of 200 runs at 95 %: the ends of Wilson's 90 % interval, each passed by chance once in twenty."""
    share = hits / 200
    low, high = wilson_of(share, 200, level=0.9)
    rate = Rate(200, hits, hits, 200.0, False, Estimate(share, *wilson_of(share, 200)), None)  # noqa: FBT003  a field
    rule = RateRule(above=0.0245, certainty=0.95)
    assert side_of(rule, rate) is side, (low, high)
    assert side_of(RateRule(above=0.0245, certainty=0.95, least=201), rate) is Side.BETWEEN


async def test_a_rate_is_of_the_population_that_is_asked_for(bench: Bench) -> None:
    """Detectors looked at all runs, LLM judges at none."""
    bench.keep(traces(0, 60, 40, NOW))
    await bench.start({"rate": {"above": 0.1, "population": "judges"}}, {"rate": {"above": 0.1}})
    assert [alert.rule for alert in await bench.look()] == ["rule-1"]
    assert bench.answer().rules[0].figures[0].figure == "no run was judged"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (percent_exactly(0.0125), "1.25 %"),
        (percent_exactly(0.9999), "99.99 %"),
        (percent_exactly(0.02), "2 %"),
        (usd(12.3), "12.30 USD"),
        (usd(0.0042), "0.0042 USD"),
        (usd(0), "0.00 USD"),
    ],
)
def test_what_is_allowed_is_told_as_it_was_written(words: str, told: str) -> None:
    assert words == told


async def test_patterns_are_told_once_for_each_change_and_old_ones_not_at_all(bench: Bench) -> None:
    """What there is at the first look is known; a new one is told with its share, since when, and examples."""
    day = 24 * 60
    bench.keep([one for n in range(200) for one in _pattern(n, 34.0 - n / 6, "old" if n % 10 == 0 else "")])
    await bench.start({"pattern": {}})
    assert not await bench.look()
    bench.keep([one for n in range(200, 260) for one in _pattern(n, 0.5, "fresh")])
    (alert,) = await bench.look()
    assert alert.state is AlertState.FIRING
    assert alert.title == "Pattern new: search: Call timed out"
    assert alert.link == f"{BASE}/patterns/{alert.key}?range=7d"
    facts = dict(alert.facts)
    assert facts["State"] == "new"
    assert [facts[f"Example {n}"].startswith(f"{BASE}/errors/") for n in (1, 2, 3)] == [True] * 3
    assert not await bench.look(day)
    await bench.restart()
    assert not await bench.look(day)


def _pattern(number: int, days: float, fault: str) -> list[Listed]:
    marks = (Mark(at_tool=True, explanation=fault, judge="timeout-error"),) if fault else ()
    return [Listed(number, service="shop", marks=marks, received=NOW - round(days * 24 * 60 * MINUTE))]


async def test_a_pattern_that_somebody_ignores_is_closed_and_then_silent(bench: Bench) -> None:
    await bench.start({"pattern": {"severity": "LOW"}})
    bench.keep([one for n in range(100) for one in _pattern(n, 20.0 - n / 10, "")])
    assert not await bench.look()
    bench.keep([one for n in range(200, 260) for one in _pattern(n, 0.5, "fresh")])
    (alert,) = await bench.look()
    label = PatternLabel(pattern=alert.key, mark=PatternMark.IGNORED, annotator="ann", changed_at=bench.now)
    bench.reader.labels.save([label])
    (closed,) = await bench.look(20)
    assert (closed.key, closed.state) == (alert.key, AlertState.RESOLVED)
    assert not await bench.look(60)


async def test_new_errors_are_told_together_each_once(bench: Bench) -> None:
    """Those before the first look are not; the rest of an interval is one message."""
    bench.keep(_errors(bench, 0, 5))
    await bench.start({"errors": {"severity": "HIGH"}})
    assert not await bench.look()
    bench.now += MINUTE
    bench.keep(_errors(bench, 10, 7) + _errors(bench, 30, 3, severity=Severity.LOW))
    (alert,) = await bench.look(2)
    assert alert.title == "7 new errors (HIGH)"
    assert alert.text.count("(support, planner)") == 5
    assert alert.text.endswith("and 2 more.")
    assert len([name for name, _ in alert.facts if name.startswith("Error ")]) == 5
    bench.keep(_errors(bench, 40, 1))
    assert not await bench.look(5)
    (later,) = await bench.look(6)
    assert later.title == "1 new error (HIGH)"
    assert later.link == f"{BASE}/errors/{later.key}"
    await bench.restart()
    assert not await bench.look(20)


def _errors(bench: Bench, first: int, count: int, severity: Severity = Severity.HIGH) -> list[Listed]:
    marks = (Mark(severity=severity),)
    return [Listed(first + n, service="support", received=bench.now, marks=marks) for n in range(count)]


async def test_latency_and_cost_are_those_of_the_time(bench: Bench) -> None:
    """With fewer runs than the rule's least nothing is said of durations; a tenth below what is allowed is clear."""
    latency = {"above_seconds": 30, "percentile": 50, "service": "support", "least": 10}
    await bench.start({"latency": latency}, {"cost": {"above_usd": 5, "over": "1h"}})
    bench.keep_runs(0, 9, 45.5, 0.1)
    assert not await bench.look()
    bench.keep_runs(20, 2, 45.5, 3.0)
    slow, costly = await bench.look()
    assert slow.title == "Duration (p50) of runs of support: 30 seconds allowed"
    assert slow.text == (
        "50 % of 11 runs of support in the last hour took at most 45.5 seconds; the rule allows 30 seconds."
    )
    assert costly.text == "LLM calls of 11 runs cost 6.90 USD in the last hour; the rule allows 5.00 USD."
    bench.keep_runs(40, 12, 20.0, 0.0)
    (faster,) = await bench.look(20)
    assert (faster.rule, faster.state) == ("rule-0", AlertState.RESOLVED)
    (cheaper,) = await bench.look(45)
    assert (cheaper.rule, cheaper.state) == ("rule-1", AlertState.RESOLVED)


async def test_traces_that_wait_for_judging_are_told_with_the_oldest(bench: Bench) -> None:
    await bench.start({"judging_lag": {"above_seconds": 300}})
    bench.keep([Listed(1, received=bench.now)])
    names = ("TraceId", "ServiceName", "State", "JudgedAt", "ReceivedAt")
    bench.store.insert("traces", names, [["9" * 32], ["shop"], ["open"], [0], [bench.now]])
    assert not await bench.look(4)
    (alert,) = await bench.look(2)
    assert alert.text == "1 trace waits to be judged, the oldest for 6 minutes; the rule allows 5 minutes."
    assert alert.link == f"{BASE}/traces?judged=waiting&range=30d"
    bench.keep([Listed(2, received=bench.now)])
    bench.store.command("DELETE FROM traces WHERE TraceId = {id:String}", {"id": "9" * 32})
    (resolved,) = await bench.look(10)
    assert resolved.state is AlertState.RESOLVED


async def test_the_spend_of_judges_is_a_part_of_its_cap(bench: Bench) -> None:
    """Without the cap nothing is seen."""
    await bench.start({"spend": {"cap": "usd_per_day", "above": 0.9}}, {"spend": {"cap": "tokens_per_day"}})
    bench.judges = JudgesStatus(on=True, caps={"usd_per_day": 10.0})
    assert not await bench.look()
    spent, none = bench.answer().rules
    assert spent.figures[0].figure == "0 % (0.00 of 10.00)"
    assert none.figures == []


async def test_a_rule_that_cannot_look_says_so_and_stops_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.keep(traces(0, 60, 40, NOW))
    await bench.start({"judging_lag": {}}, {"rate": {"above": 0.1}})

    def refuse() -> None:
        raise ConfigError("no such thing")

    monkeypatch.setattr(bench.reader, "waiting", refuse)
    assert len(await bench.look()) == 1
    assert bench.answer().rules[0].problem == "no such thing"


@pytest.mark.parametrize("failure", [RetryableError("busy"), ZeroDivisionError("a defect")])
async def test_a_rule_that_fails_fails_no_other(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    bench.keep(traces(0, 60, 40, NOW))
    await bench.start({"judging_lag": {}}, {"rate": {"above": 0.1}})

    def fail() -> None:
        raise failure

    monkeypatch.setattr(bench.reader, "waiting", fail)
    with pytest.raises(type(failure)):
        await bench.look()
    await bench.send()
    assert len(bench.channels["ops"].alerts) == 1


@pytest.mark.parametrize(
    ("rule", "path"),
    [
        ({"rate": {"above": 0.1, "profile": "0.2"}}, "/?profile=0.2&population=detectors&"),
        ({"rate": {"above": 0.1, "population": "detectors"}}, "/?population=detectors&"),
        ({"rate": {"above": 0.1, "severity": "HIGH", "agent": "planner"}}, "/traces?agent=planner&severity=HIGH&"),
        ({"latency": {"above_seconds": 1, "least": 1, "model": "gpt"}}, "/services?unit=run&model=gpt&"),
        ({"cost": {"above_usd": 1, "service": "support"}}, "/services?service=support&"),
    ],
)
async def test_a_link_leads_to_what_the_rule_looked_at(bench: Bench, rule: dict[str, Any], path: str) -> None:
    bench.keep(traces(0, 60, 40, NOW))
    bench.keep_runs(100, 5, 45.0, 1.0)
    await bench.start(rule)
    (alert,) = await bench.look()
    assert alert.link.startswith(f"{BASE}{path}from=2026-11-")
