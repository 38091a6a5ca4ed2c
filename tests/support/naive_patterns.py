"""Patterns by a plain scan of the facts, run by run."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest

from tracejury.collector.store.client import Store
from tracejury.schemas.queries.patterns import PERIODS, WINDOW, PatternQuery, PatternRow
from tracejury.schemas.queries.reader import Confidence
from tracejury.schemas.taxonomy import Severity

COLUMNS = (
    "Service", "Version", "At", "Agent", "Known", "Detectors", "Judges", "Errors.Pattern", "Errors.Scopes",
    "Errors.Low", "Errors.Medium", "Errors.High", "Errors.Tool",
)  # fmt: skip
FACTS = (
    f"SELECT {', '.join(f'`{name}`' for name in COLUMNS)} FROM run_facts FINAL "
    "WHERE tenant = '' AND Unit = {unit:String} AND At >= {first:UInt64} AND At < {until:UInt64}"
)
OF_DETECTORS, OF_JUDGES = 1, 2


@dataclass
class Own:
    """The runs with errors of one pattern, with the index of each."""

    service: str = ""
    runs: dict[int, set[int]] = field(default_factory=lambda: defaultdict(set))
    severity: int = 0
    agents: set[str] = field(default_factory=set)
    tools: set[str] = field(default_factory=set)


def expected_patterns(store: Store, query: PatternQuery) -> dict[str, dict[str, Any]]:
    """By id: what each pattern's row is to say."""
    unit = "simulated-run" if query.simulated else "run"
    facts = store.rows(FACTS, {"unit": unit, "first": query.first, "until": query.until})
    facts = [fact for fact in facts if query.service in ("", fact[0])]
    least = Confidence.of(query.profile)
    found: defaultdict[str, Own] = defaultdict(Own)
    for index, (service, _, _, agent, known, _, _, *errors) in enumerate(facts):
        sure = least.recognised if known else least.unrecognised
        for pattern, scopes, low, medium, high, tool in zip(*errors, strict=True):
            if not pattern or low < sure or not scopes:
                continue
            one = found[pattern]
            one.service = service
            one.runs[index] |= {scope for scope in (OF_DETECTORS, OF_JUDGES) if scopes & scope}
            one.severity = max(one.severity, 2 if high >= sure else 1 if medium >= sure else 0)
            one.agents |= {agent} - {""}
            one.tools |= {tool} - {""}
    return {pattern: _row(own, facts, query) for pattern, own in found.items()}


def _row(own: Own, facts: list[Any], query: PatternQuery) -> dict[str, Any]:
    seen = any(OF_DETECTORS in scopes and facts[index][5] > 0 for index, scopes in own.runs.items())
    scope, column = (OF_DETECTORS, 5) if seen else (OF_JUDGES, 6)
    cells: defaultdict[tuple[str, int], list[tuple[float, bool]]] = defaultdict(list)
    for index, fact in enumerate(facts):
        if fact[0] == own.service and fact[column] > 0:
            hit = scope in own.runs.get(index, ())
            cells[fact[1], (fact[2] - query.first) // query.step].append((fact[column], hit))
    units, hits = [0.0] * PERIODS, [0.0] * PERIODS
    for (_, period), runs in cells.items():
        weights = sum(weight for weight, _ in runs)
        effective = weights**2 / sum(weight**2 for weight, _ in runs)
        units[min(period, PERIODS - 1)] += effective
        hits[min(period, PERIODS - 1)] += effective * sum(weight for weight, hit in runs if hit) / weights
    asked = [run for (_, period), runs in cells.items() for run in runs if period >= PERIODS - WINDOW]
    return {
        "service": own.service,
        "hits": sum(hit for _, hit in asked),
        "units": len(asked),
        "severity": list(Severity)[own.severity],
        "agents": sorted(own.agents),
        "tools": sorted(own.tools),
        "series": pytest.approx([hit / unit if unit else 0.0 for hit, unit in zip(hits, units, strict=True)]),
    }


def told_patterns(rows: list[PatternRow]) -> dict[str, dict[str, Any]]:
    """The same of an answer."""
    names = ("service", "hits", "units", "severity", "agents", "tools", "series")
    return {row.id: {name: getattr(row, name) for name in names} for row in rows}
