"""Rules, alerts and PromQL of dashboards: valid, tested, and of metrics that there are."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml
from collecting import asking, configured, scripted, send
from dashboards import PROMETHEUS, dashboards, metric_names, rules, targets
from hook_server import SECRET, hook_server
from llm_server import llm_server
from panel_requests import request

from tracejury.collector.app.service import Collector
from tracejury.collector.rates.gauges import build

PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="promtool (Debian: prometheus) is not installed")
PATIENCE = 60


def promtool(*arguments: str, folder: Path = PROMETHEUS) -> None:
    """Run it; what it complains about is the test's message."""
    assert PROMTOOL
    done = subprocess.run(  # noqa: S603  promtool
        [PROMTOOL, *arguments], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def promql() -> list[str]:
    """Every expression of the dashboards, variables filled in."""
    found = []
    for board in dashboards().values():
        for _, target in targets(board):
            if "expr" in target:
                text = target["expr"].replace("$__rate_interval", "5m")
                found.append(text.replace("$instance", ".*").replace("$service", ".*"))
    return found


@needs_promtool
def test_rules_and_alerts_are_valid_and_do_what_they_say() -> None:
    """Syntax by `check rules`, behaviour on series by `test rules`."""
    promtool("check", "rules", "rules.yaml", "alerts.yaml")
    promtool("check", "config", "prometheus.yaml")
    promtool("test", "rules", "rules_test.yaml")


def test_every_alert_is_tested_and_explained() -> None:
    """One that no test names may never fire; one that no page explains helps nobody at night."""
    alerts = [name for name, _ in rules() if ":" not in name]
    tested = (PROMETHEUS / "rules_test.yaml").read_text()
    explained = (PROMETHEUS.parents[1] / "docs" / "alerts.md").read_text()
    assert alerts
    for name in alerts:
        assert name in tested or name.endswith("GivesUp"), name
        assert f"`{name}`" in explained, name


def test_recorded_names_are_defined() -> None:
    """What an alert or a dashboard takes from a recording rule, rules.yaml records."""
    recorded = {name for name, _ in rules() if ":" in name}
    used = {w for _, e in [*rules(), *((None, e) for e in promql())] for w in e.replace("(", " ").split() if ":" in w}
    assert {w for w in used if w.startswith("tracejury:")} <= recorded


@needs_promtool
def test_promql_of_the_dashboards_parses(tmp_path: Path) -> None:
    """Each expression is made a rule."""
    expressions = promql()
    assert len(expressions) > 30
    made = [{"record": f"test:{number}", "expr": text} for number, text in enumerate(expressions)]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "dashboards", "rules": made}]}))
    promtool("check", "rules", "rules.yaml", folder=tmp_path)


async def test_every_metric_that_is_named_exists(served_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """In /metrics of a collector with everything on, once it has judged a trace."""
    wanted = set().union(*(metric_names(e) for e in [*(e for _, e in rules()), *promql()]))
    monkeypatch.setenv("SCRIPTED_KEY", "sk-not-to-be-told")
    monkeypatch.setenv("HOOK_SECRET", SECRET)
    for name, seconds in (("EVERY", 0.2), ("PERFORMANCE_EVERY", 0.2), ("SHARE", 0)):
        monkeypatch.setattr(build, name, seconds)
    with llm_server() as model, hook_server() as receiver:
        hooks = [{"name": "ops", "url": receiver.url, "secret": "${HOOK_SECRET}", "profile": "0"}]
        export = {"otlp": [{"name": "nobody", "endpoint": "http://127.0.0.1:1"}]}
        config = configured(served_dsn, judges=scripted(model), webhooks=hooks, export=export)
        async with Collector(config) as collector, asking(collector) as client:
            await send(collector, request(1, 3, 200))
            missing = set(wanted)
            for _ in range(PATIENCE * 2):
                answer = await client.get("/metrics")
                missing -= metric_names(answer.text)
                if not missing:
                    break
                await asyncio.sleep(0.5)
    assert not missing
