"""What alert rules know is a project's own, and comes back as it was stored."""

from __future__ import annotations

from alert_parts import RESOLVED, SAMPLE, an_alert
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from served_api import NOW

from tracejury.collector.store.alerts import SHOWN, StoredAlerts
from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.alert_records import (
    AlertDelivery,
    AlertFigure,
    AlertLook,
    AlertOutcome,
    AlertRecord,
    AlertsAnswer,
)
from tracejury.schemas.alerts import AlertState

LOOK = AlertLook("error-rate", "rate", ["team"], [AlertFigure("checkout", "31 %", "2 %")], "", NOW, NOW + 5)
NAME = ("error-rate", "checkout", 1)
FIRED = AlertRecord("error-rate", "checkout", AlertState.FIRING, NOW, 0, ("",), 1, SAMPLE, NOW)
SENT = AlertDelivery("error-rate", "checkout", 1, "team", AlertOutcome.SENT, NOW, "sent, but not to all")


def test_what_is_stored_is_what_is_known(store: SharedStore) -> None:
    """The latest number of a key counts; the history has all messages, and what became of them."""
    alerts = StoredAlerts(store)
    assert not alerts.looked("error-rate")
    later = AlertRecord("error-rate", "checkout", AlertState.RESOLVED, NOW + 1, NOW, (), 2, RESOLVED, NOW + 1)
    alerts.save([FIRED])
    alerts.save([later])
    alerts.save_look(LOOK)
    alerts.settle([SENT])
    assert alerts.looked("error-rate")
    assert alerts.records("error-rate") == [later]
    assert alerts.told("error-rate", 0) == [FIRED, later]
    assert alerts.told("error-rate", NOW + 1) == [later]
    assert alerts.settled([NAME]) == {NAME: {"team": SENT}}
    answer = alerts.answer(10, NOW)
    assert [(status.look, list(status.records)) for status in answer.rules] == [(LOOK, [later])]
    assert [(told.alert, list(told.outcomes)) for told in answer.history] == [
        (RESOLVED, []), (SAMPLE, [SENT]),
    ]  # fmt: skip
    assert len(alerts.answer(1, NOW).history) == 1


def test_another_project_knows_nothing_of_it(store: SharedStore) -> None:
    own, other = StoredAlerts(store, "acme"), StoredAlerts(store, "globex")
    own.save([FIRED])
    own.save_look(LOOK)
    own.settle([SENT])
    assert other.answer(10, NOW) == AlertsAnswer([], [])
    assert other.records("error-rate") == []
    assert not other.looked("error-rate")
    assert other.settled([NAME]) == {NAME: {}}


def test_at_most_a_hundred_keys_of_a_rule_are_shown(store: SharedStore) -> None:
    """Those that fire first."""
    alerts = StoredAlerts(store)
    quiet = [AlertRecord("error-rate", f"q{n}", AlertState.RESOLVED, NOW, 0, (), 1, SAMPLE, NOW) for n in range(SHOWN)]
    alerts.save([*quiet, FIRED])
    alerts.save_look(LOOK)
    (status,) = alerts.answer(10, NOW).rules
    assert len(status.records) == SHOWN
    assert status.records[0] == FIRED


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(st.text(max_size=50), st.text(max_size=50))
def test_hostile_words_come_back_as_they_were(store: SharedStore, key: str, words: str) -> None:
    said = an_alert(key=key, title=words, text=words, facts=((words, key),))
    record = AlertRecord("hostile", key, AlertState.FIRING, NOW, 0, (words,), 1, said, NOW)
    alerts = StoredAlerts(store)
    alerts.save([record])
    assert {one.key: one for one in alerts.records("hostile")}[key] == record
