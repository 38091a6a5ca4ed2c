"""What is shipped for Prometheus and Grafana, as tests read it; and Grafana's ClickHouse macros, expanded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import yaml

DEPLOY = Path(__file__).parents[2] / "deploy"
PROMETHEUS = DEPLOY / "prometheus"
_NAME = re.compile(r"\b(?:tracejury|otelcol)_[a-z_0-9]+\b")
_INSIDE = r"[^()]*"
for _ in range(5):  # brackets in brackets
    _INSIDE = rf"[^()]*(?:\({_INSIDE}\)[^()]*)*"
_MACRO = re.compile(rf"\$__(\w+)(?:\(({_INSIDE})\))?")


def rules() -> Iterator[tuple[str, str]]:
    """(name, expression) of each rule and alert."""
    for file in ("rules.yaml", "alerts.yaml"):
        for group in yaml.safe_load((PROMETHEUS / file).read_text())["groups"]:
            for rule in group["rules"]:
                yield rule.get("record") or rule["alert"], rule["expr"]


def dashboards() -> dict[str, Any]:
    """Each dashboard by the name of its file."""
    return {path.name: json.loads(path.read_text()) for path in sorted((DEPLOY / "grafana").glob("*.json"))}


def targets(board: Any) -> Iterator[tuple[str, Any]]:
    """(title of the panel, target) of each query."""
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target


def metric_names(expression: str) -> set[str]:
    """The metrics that a PromQL expression names; those of recording rules are not among them."""
    return set(_NAME.findall(re.sub(r'"[^"]*"', '""', expression)))


def sql(text: str, *, database: str, since: int, until: int, service: str = "") -> str:
    """SQL of a dashboard as Grafana's ClickHouse data source sends it (its pkg/macros). Times in unix seconds.

    `service`: one of two that are chosen, "" for all. Grafana's format `queryparam` is the only one that leaves nothing
    in a value that could end a string of ClickHouse's, where a backslash escapes.
    """
    chosen = "&".join(
        f"var-service={quote(name, safe='')}" for name in (("other & more", service) if service else "ab")
    )
    text = text.replace("${database}", database).replace("${service:queryparam}", chosen)

    def expand(match: re.Match[str]) -> str:
        name, argument = match[1], match[2] or ""
        match name:
            case "timeFilter":
                return f"{argument} >= toDateTime({since}) AND {argument} <= toDateTime({until})"
            case "timeInterval":
                return f"toStartOfInterval(toDateTime({argument}), INTERVAL 60 second)"
            case "interval_s":
                return "60"
            case "fromTime":
                return f"toDateTime({since})"
            case "toTime":
                return f"toDateTime({until})"
            case "conditionalAll":
                condition, _, variable = argument.rpartition(",")
                assert variable.strip() == "$service"
                return condition if service else "1=1"
        raise AssertionError(f"Grafana knows no macro {match[0]}")

    expanded = _MACRO.sub(expand, text)
    assert "$" not in expanded, expanded
    return expanded
