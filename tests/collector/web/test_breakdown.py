"""Rows of break-downs and where they lead."""

from __future__ import annotations

import pytest
from served_api import Api

from tracejury.collector.web.breakdown import break_down
from tracejury.collector.web.window import HOUR, Window
from tracejury.schemas.rates import By, Estimate, Population, Rate, RateAnswer, RateRow, ToolRates, Unjudged

WINDOW = Window(0, HOUR, "1h", "shop")
RATE = Rate(4, 2, 2, 4.0, sampled=False, share=Estimate(0.5, 0.2, 0.8), mean=None)


def link(by: By, key: str, profile: str = "", window: Window = WINDOW) -> str:
    answer = RateAnswer(Population.DETECTORS, RATE, (RateRow(key, 0, RATE),), Unjudged())
    return break_down(answer, by, window, {"profile": profile}).rows[0].href


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("talk", "/sessions/talk?"),
        ("a/b?c#d", "/sessions/a%2Fb%3Fc%23d?"),
        ("..", "/session?range=1h&service=shop&id=.."),
        (".", "/session?range=1h&service=shop&id=."),
        ("../x", "/sessions/..%2Fx?"),
        ("%2e", "/sessions/%252e?"),
    ],
)
def test_a_session_is_linked_whatever_it_is_called(name: str, path: str) -> None:
    """Nothing in its id is taken for a part of the address; the service goes along."""
    assert link(By.SESSION, name).startswith(path)
    assert "service=shop" in link(By.SESSION, name)


def test_links_keep_the_profile() -> None:
    """The list shows what the rate counted."""
    assert link(By.TOOL, "book", "recall") == "/traces?range=1h&service=shop&profile=recall&tool=book&severity=LOW"
    assert link(By.SESSION, "talk", "recall") == "/sessions/talk?range=1h&service=shop&profile=recall"
    assert "profile" not in link(By.TOOL, "book")


def test_names_that_rates_cut_are_not_linked() -> None:
    """They may be the beginning of several."""
    assert link(By.AGENT, "x" * 255).endswith("severity=LOW")
    assert [link(by, "x" * 256) for by in (By.AGENT, By.TOOL, By.SESSION)] == ["", "", ""]


def test_a_group_without_a_name_leads_nowhere() -> None:
    """A list cannot be asked for it."""
    assert (link(By.SESSION, ""), link(By.AGENT, "")) == ("", "")


def test_the_page_hands_its_profile_on(api: Api) -> None:
    """From the address to each link; and where no group has a link there is a table all the same."""
    api.reader.rates.given["calls"] = ToolRates(Population.DETECTORS, (RateRow("book", 0, RATE),))
    assert "profile=recall&amp;tool=book" in api.client.get("/overview/by/tool?profile=recall").text
    api.reader.rates.given["ask"] = RateAnswer(Population.DETECTORS, RATE, (RateRow("", 0, RATE),), Unjudged())
    assert "unnamed agent" in api.client.get("/overview/by/agent").text
