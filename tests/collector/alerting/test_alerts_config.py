"""Rules as files have them: the example of the docs, and what they are filled with."""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import Any

import pytest
import yaml

from tracejury.collector.alerting.config import AlertsConfig, RateRule
from tracejury.collector.alerting.evaluate import Seen
from tracejury.collector.alerting.rule_evaluation import SEE
from tracejury.collector.config import CollectorConfig, Role, load_config, misfits
from tracejury.schemas.errors import ConfigError

CATEGORIES = {"formatting errors": "Formatting Errors", "trail/Tool-related": "Tool-related", "own/Mine": "own/Mine"}
PAGE = Path(__file__).parents[3] / "docs" / "alerts.md"


def test_the_example_of_the_docs_is_a_configuration(tmp_path: Path) -> None:
    text = PAGE.read_text("utf-8").partition("## Rules\n\n")[2].partition("\n\n`tracejury validate")[0]
    (file := tmp_path / "tracejury.yaml").write_text(textwrap.dedent(text))
    config = load_config(file)
    assert [rule.kind for rule in config.alerts.rules] == ["rate", "pattern", "latency", "cost"]
    assert config.alerts.rules[0].on == RateRule(service="support", severity="HIGH", above=0.02, over="1h")
    assert all(f"`{name}: " in PAGE.read_text("utf-8") for name in ("errors", "judging_lag", "spend"))


def test_every_kind_of_rule_but_errors_has_its_figure() -> None:
    """Errors are told by another way, as they have none."""
    kinds = {kind.__name__ for kind in SEE}
    assert kinds == {"PatternRule", "RateRule", "LatencyRule", "CostRule", "JudgingLagRule", "SpendRule"}
    assert all(see.__annotations__["return"] == Seen.__name__ for see in SEE.values())


def test_receivers_and_pages_ignore_rules() -> None:
    """A worker has to know where pages are, for links."""
    rules = {"rules": [{"name": "a", "channels": ["x"], "pattern": {}}]}
    for role, ignores in ((Role.RECEIVE, True), (Role.WEB, True), (Role.WORK, False), (Role.ALL, False)):
        store = {"dsn": "clickhouse://db:8123"}
        config = CollectorConfig.model_validate({"role": role, "store": store, "alerts": rules})
        assert ("alerts" in config.ignored) is ignores
    (told,) = (one for one in misfits(config.model_copy(update={"role": Role.WORK})) if one.startswith("api"))
    assert "give the address of the web process" in told


@pytest.mark.parametrize("endpoint", ["0.0.0.0:8321", "[::]:8321", "127.0.0.1:8321"])
def test_links_need_an_address_that_people_reach(endpoint: str) -> None:
    """All addresses of a machine are none of them."""
    rules = {"rules": [{"name": "a", "channels": ["x"], "pattern": {}}]}
    config = CollectorConfig.model_validate({"api": {"endpoint": endpoint}, "alerts": rules})
    told = [one for one in misfits(config) if one.startswith("api.public_url: ")]
    assert bool(told) is (endpoint != "127.0.0.1:8321")
    named = config.model_copy(update={"api": config.api.model_copy(update={"public_url": "https://jury.example"})})
    assert not [one for one in misfits(named) if one.startswith("api.public_url: ")]


def test_a_tool_is_one_of_tool_calls() -> None:
    rule = {"name": "a", "channels": ["x"], "latency": {"above_seconds": 1, "tool": "search"}}
    config = AlertsConfig.model_validate({"rules": [rule]})
    assert list(config.misfits(["x"], ())) == [
        "alerts.rules.0.latency.tool: only tool calls are of a tool: set of to tool_call"
    ]


def test_a_cap_is_one_of_the_budget() -> None:
    """Else nothing is ever spent of it."""
    config = AlertsConfig.model_validate({"rules": [{"name": "a", "channels": ["x"], "spend": {}}]})
    assert not list(config.misfits(["x"], ("usd_per_day",)))
    assert list(config.misfits(["x"], ("usd_per_hour",))) == [
        "alerts.rules.0.spend.cap: judges.budget sets no usd_per_day; the caps are usd_per_hour"
    ]


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ({"rate": {"above": 0.1, "category": "nonsense"}}, "rate.category: 'nonsense' is no category of TRAIL"),
        ({"errors": {"category": "trail/nonsense"}}, "errors.category: 'nonsense' is no category of TRAIL"),
        ({"judging_lag": {"above_seconds": math.inf}}, "judging_lag.above_seconds: must be a finite number"),
        ({"cost": {"above_usd": math.inf}}, "cost.above_usd: must be a finite number"),
        ({"latency": {"above_seconds": 1e300}}, "latency.above_seconds: must be less than or equal to 2592000"),
        ({"pattern": {"states": ["gone"]}}, "pattern.states.0: must be 'new', 'back' or 'more frequent'"),
        ({"spend": {"above": 90}}, "spend.above: must be less than or equal to 1"),
        ({"errors": {}, "every_minutes": 1e300}, "every_minutes: must be less than or equal to 10080"),
    ],
)
def test_a_mistake_is_one_line_that_names_its_place(tmp_path: Path, rule: dict[str, Any], told: str) -> None:
    data = {"alerts": {"rules": [{"name": "a", "channels": ["x"], **rule}]}}
    (file := tmp_path / "tracejury.yaml").write_text(yaml.safe_dump(data))
    with pytest.raises(ConfigError) as caught:
        load_config(file)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{file}: alerts.rules.0.{told}")


def test_a_category_is_stored_as_its_taxonomy_writes_it() -> None:
    rules = [{"name": f"r{n}", "channels": ["x"], "errors": {"category": c}} for n, c in enumerate(CATEGORIES)]
    config = AlertsConfig.model_validate({"rules": rules})
    assert [rule.errors.category for rule in config.rules if rule.errors] == list(CATEGORIES.values())
