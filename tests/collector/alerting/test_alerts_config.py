"""Rules as files have them: the example of the docs, and what they are filled with."""

from __future__ import annotations

import textwrap
from pathlib import Path

from tracejury.collector.alerting.config import AlertsConfig, RateRule
from tracejury.collector.alerting.evaluate import Seen
from tracejury.collector.alerting.rule_evaluation import SEE
from tracejury.collector.config import CollectorConfig, Role, load_config, misfits

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


def test_a_tool_is_one_of_tool_calls() -> None:
    rule = {"name": "a", "channels": ["x"], "latency": {"above_seconds": 1, "tool": "search"}}
    config = AlertsConfig.model_validate({"rules": [rule]})
    assert list(config.misfits(["x"])) == [
        "alerts.rules.0.latency.tool: only tool calls are of a tool: set of to tool_call"
    ]
