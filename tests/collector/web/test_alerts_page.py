"""The page of alerts, `tracejury alerts list` and `/api/alerts`: the same, whatever texts say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from alert_parts import SAMPLE, an_alert
from browsing import Watched
from click.testing import CliRunner
from served_api import NOW, Api

from tracejury.collector.cli.root import root
from tracejury.collector.store.alerts import StoredAlerts
from tracejury.schemas.alert_records import AlertDelivery, AlertFigure, AlertLook, AlertOutcome, AlertRecord
from tracejury.schemas.alerts import AlertState

HOSTILE = "<script>alert(1)</script>\x1b[2J\u202e"
LOOK = AlertLook("rates", "rate", ["chat"], [AlertFigure("shop", "7.4 %", "2 %")], "", NOW, NOW)


def stored(api: Api) -> None:
    """A rule that fires, one that is quiet, and one that cannot look; one message is on its way."""
    alerts = StoredAlerts(api.store)
    fires = an_alert(rule="rates", key=HOSTILE, title=HOSTILE, text=HOSTILE)
    alerts.save([AlertRecord("rates", HOSTILE, AlertState.FIRING, NOW, 0, ("",), 1, fires, NOW)])
    alerts.save(
        [AlertRecord("rates", "told", AlertState.RESOLVED, NOW, 0, (), 1, replace(SAMPLE, key="told"), NOW - 1)]
    )
    alerts.settle([AlertDelivery("rates", "told", 1, "chat", AlertOutcome.GIVEN_UP, NOW, f"HTTP 404 {HOSTILE}")])
    alerts.save_look(LOOK)
    alerts.save_look(replace(LOOK, rule="quiet", kind="judging_lag"))
    alerts.save_look(replace(LOOK, rule="wrong", figures=[], problem=HOSTILE))


def test_without_rules_it_says_so(api: Api) -> None:
    assert "No rule has looked yet" in api.client.get("/alerts").text
    assert api.get("/api/alerts") == {"rules": [], "history": []}


def test_rules_and_messages_are_shown_and_nothing_in_them_acts(api: Api) -> None:
    stored(api)
    said = api.get("/api/alerts")
    assert [rule["rule"] for rule in said["rules"]] == ["quiet", "rates", "wrong"]
    assert [(told["title"], told["outcomes"]) for told in said["history"]] == [
        (HOSTILE, []), (SAMPLE.title, [{"channel": "chat", "outcome": "given up", "why": f"HTTP 404 {HOSTILE}"}]),
    ]  # fmt: skip
    page = api.client.get("/alerts").text
    assert "<script>alert" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "\x1b" not in page
    assert "judging lag" in page
    assert "cannot look" in page
    assert "chat: given up" in page
    assert page.count("HTTP 404") == 1


def test_the_command_shows_the_same_as_text(api: Api) -> None:
    stored(api)
    told = CliRunner().invoke(root, ["alerts", "list", "--url", api.url], env={"COLUMNS": "250"})
    assert told.exit_code == 0, told.output
    assert "\x1b[2J" not in told.output
    assert "firing" in told.output
    assert "chat: given up (HTTP 404" in told.output


def test_the_page_with_rules_is_accessible_and_fits(api: Api, open_site: Callable[[str], Watched]) -> None:
    stored(api)
    site = open_site(api.url)
    for width in (1400, 390):
        site.page.set_viewport_size({"width": width, "height": 900})
        site.open("/alerts")
        assert site.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
        site.check_accessible()
    site.check_quiet()
