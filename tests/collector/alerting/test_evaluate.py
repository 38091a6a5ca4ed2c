"""When a rule fires, is resolved, and tells: whatever its figure does."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from tracejury.collector.alerting.evaluate import (
    RuleName,
    RuleReading,
    Seen,
    Side,
    alert_id,
    baseline,
    evaluated,
    last_told,
    telling,
)
from tracejury.schemas.alert_records import AlertRecord
from tracejury.schemas.alerts import Alert, AlertState
from tracejury.schemas.taxonomy import Severity

MINUTE = 60 * 10**9
EVERY, PATIENCE = 10 * MINUTE, 60 * MINUTE
NAME = RuleName("", "rule")
START = 10**18


def reading(side: Side, key: str = "", change: str = "") -> RuleReading:
    return RuleReading(key, side, Severity.HIGH, "title", "text", (), "https://pages/", "7 %", "2 %", change)


def seen(*readings: RuleReading, absent: Side = Side.BETWEEN, patience: int | None = PATIENCE) -> Seen:
    return Seen(readings, absent, patience)


@dataclass
class Rule:
    """A rule that looks once a minute, or as asked."""

    records: dict[str, AlertRecord]
    now: int = START

    def look(self, found: Seen, minutes: int = 1) -> list[Alert]:
        """What is told at the next look."""
        self.now += minutes * MINUTE
        self.records = evaluated("rule", self.records, found, self.now)
        next_at = last_told(self.records.values(), lambda at: at, self.now) + EVERY
        told = telling(NAME, self.records, found, next_at, self.now)
        self.records |= {record.key: record for record in told}
        return [record.told for record in told if record.told]


sides = st.sampled_from(list(Side))


@given(st.lists(st.tuples(sides, st.integers(1, 30)), max_size=80))
def test_a_figure_that_flaps_gives_one_message_an_interval_in_turns(looks: list[tuple[Side, int]]) -> None:
    """Firing and resolved alternate, beginning with firing, at least the interval apart, each with an id of its own."""
    rule = Rule({})
    told = [alert for side, minutes in looks for alert in rule.look(seen(reading(side)), minutes)]
    states = [alert.state for alert in told]
    assert states == [AlertState.FIRING, AlertState.RESOLVED] * (len(states) // 2) + [AlertState.FIRING] * (
        len(states) % 2
    )
    assert all(later.at - earlier.at >= EVERY for earlier, later in pairwise(told))
    assert len({alert.id for alert in told}) == len(told)


@given(st.lists(st.tuples(sides, st.integers(1, 30)), max_size=40), sides)
def test_what_was_told_last_becomes_what_holds(looks: list[tuple[Side, int]], end: Side) -> None:
    """Once the figure stays where it is, people are told of it: nothing that changed last is lost."""
    rule = Rule({})
    told = [alert for side, minutes in looks for alert in rule.look(seen(reading(side)), minutes)]
    told += rule.look(seen(reading(end)), 1) + rule.look(seen(reading(end)), 100) + rule.look(seen(reading(end)), 100)
    fires = told[-1].state is AlertState.FIRING if told else False
    assert fires is (end is Side.ABOVE)


@given(st.lists(st.tuples(st.sampled_from("abc"), sides), max_size=60))
def test_keys_of_a_rule_share_its_interval(looks: list[tuple[str, Side]]) -> None:
    """At each look all that changed is told at once, and then nothing for the interval."""
    rule, at = Rule({}), list[int]()
    current = dict.fromkeys("abc", Side.BELOW)
    for key, side in looks:
        current[key] = side
        told = rule.look(seen(*(reading(one, name) for name, one in current.items())), 3)
        at += [told[0].at] if told else []
    assert all(later - earlier >= EVERY for earlier, later in pairwise(at))


def test_between_the_bounds_it_stays_as_it_is_for_its_whole_time() -> None:
    """Then nothing is left in the figure of what it fired on."""
    rule = Rule({})
    assert [alert.state for alert in rule.look(seen(reading(Side.ABOVE)))] == [AlertState.FIRING]
    assert not rule.look(seen(reading(Side.BETWEEN)))
    assert not rule.look(seen(reading(Side.BETWEEN)), 59)
    (alert,) = rule.look(seen(reading(Side.BETWEEN)), 1)
    assert alert.state is AlertState.RESOLVED


def test_a_look_above_begins_that_time_anew() -> None:
    rule = Rule({})
    rule.look(seen(reading(Side.ABOVE)))
    rule.look(seen(reading(Side.BETWEEN)), 59)
    rule.look(seen(reading(Side.ABOVE)))
    assert not rule.look(seen(reading(Side.BETWEEN)), 1)
    assert not rule.look(seen(reading(Side.BETWEEN)), 59)


def test_without_patience_only_a_figure_below_resolves() -> None:
    rule = Rule({})
    rule.look(seen(reading(Side.ABOVE), patience=None))
    assert not rule.look(seen(reading(Side.BETWEEN), patience=None), 10_000)
    assert rule.look(seen(reading(Side.BELOW), patience=None))


def test_a_key_that_is_not_seen_lies_where_the_rule_says() -> None:
    """Its last message is told again, as resolved: it has no figure any more."""
    rule = Rule({})
    (fired,) = rule.look(seen(reading(Side.ABOVE, "a")))
    (resolved,) = rule.look(seen(absent=Side.BELOW), 10)
    assert (resolved.state, resolved.title, resolved.key) == (AlertState.RESOLVED, fired.title, "a")
    assert not rule.look(seen(absent=Side.BELOW), 10)


def test_each_change_of_a_pattern_is_told_once() -> None:
    """New, then more frequent, then new again; after it was gone all of it is news."""
    rule = Rule({})

    def look(change: str, side: Side = Side.ABOVE) -> int:
        return len(rule.look(seen(reading(side, "p", change), absent=Side.BELOW, patience=None), 10))

    assert [look("new"), look("more frequent"), look("new"), look("ongoing", Side.BETWEEN), look("new")] == [
        1, 1, 0, 0, 0,
    ]  # fmt: skip
    assert [look("gone", Side.BELOW), look("back"), look("new")] == [1, 1, 1]


def test_what_there_is_at_the_first_look_is_not_told() -> None:
    """Nor that it is over; but another change of it is, and so is whatever comes later."""
    found = seen(
        reading(Side.ABOVE, "old", "new"), reading(Side.ABOVE, "other", "new"), absent=Side.BELOW, patience=None
    )
    rule = Rule(baseline("rule", found, START))
    assert not rule.look(found, 10)
    changed = seen(
        reading(Side.ABOVE, "old", "more frequent"), reading(Side.BELOW, "other"), absent=Side.BELOW, patience=None
    )
    assert [alert.key for alert in rule.look(changed, 10)] == ["old"]
    again = seen(reading(Side.ABOVE, "other", "new"), absent=Side.BETWEEN, patience=None)
    assert [(alert.key, alert.state) for alert in rule.look(again, 10)] == [("other", AlertState.FIRING)]


def test_two_processes_that_see_the_same_send_the_same_id() -> None:
    """Whatever their clocks say; another project, rule, key or number has another one."""
    one, other = Rule({}), Rule({}, START + 7 * MINUTE)
    (first,), (second,) = one.look(seen(reading(Side.ABOVE))), other.look(seen(reading(Side.ABOVE)))
    assert first.id == second.id
    names = [(NAME, "", 1), (NAME, "", 2), (NAME, "a", 1), (replace(NAME, rule="b"), "", 1)]
    names.append((replace(NAME, project="b"), "", 1))
    assert len({alert_id(*name) for name in names}) == len(names)
