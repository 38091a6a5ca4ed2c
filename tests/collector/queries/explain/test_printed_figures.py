"""Every figure that a table prints is explained by the name that stands above it."""

from __future__ import annotations

from types import ModuleType

import pytest

from tracejury.collector.evaluation import (
    confusion_tables,
    diff_tables,
    judges_tables,
    models_report,
    report,
    steps_report,
)
from tracejury.collector.queries.explain.glossary import explain, find_term
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.packs.rut.figures import figures

TABLES = (confusion_tables, diff_tables, judges_tables, models_report, report, steps_report)
MEASURES = (
    "mean",
    "95 %",
    "difference",
    "of",
    "n/a",
    "unscored",
    "ungrounded",
    "AVG",
    "trials",
    "max@k",
    "pass@k",
    "pass^k",
)
RATES = ("with errors", "errors each", "95 %", "of", "difference", "p-value")
WORDS = {"figure", "rule", "reason", "a", "b"}
"""Headers that are no figures."""


def headers(module: ModuleType) -> set[str]:
    """Of the columns that a module declares."""
    declared = [value for name, value in vars(module).items() if name.isupper() and isinstance(value, tuple)]
    columns = [column for value in declared for column in value]
    return {column[0] if isinstance(column, tuple) else column.replace("_", " ") for column in columns}


def test_every_column_of_an_evaluation_is_explained() -> None:
    """And every headline."""
    shown = {header for module in TABLES for header in headers(module)} | set(report.HEADLINES.values())
    shown |= {column if isinstance(column, str) else column[0] for column in confusion_tables._columns("caught")}
    assert len(shown) > 60
    assert sorted(name for name in shown - WORDS if find_term(name) is None) == []


def test_every_figure_of_measures_and_rates_is_explained() -> None:
    """By its letter, as a pack's own, and as a column."""
    letters = {check.measure for pack in known_packs()[0] for check in pack.checks}
    own = {name for row in figures({"ideal": {(): [[]]}}).values() for name in row} | {"drop", "calls", "modes"}
    assert {"S", "SR", "H", "C", "T"} <= letters
    printed = {*letters, *own, *MEASURES, *RATES, "invalid", "tasks", "difference by task", "mean (95 %)"}
    assert sorted(name for name in printed if find_term(name) is None) == []


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("F2", "5PR / (4P + R)"),
        ("alpha", "1 less observed by expected disagreement"),
        ("\u03b1", "1 less observed by expected disagreement"),
        ("SCI", "mean similarity of all pairs"),
        ("SR", "task"),
        ("A", "call"),
        ("drop", "(ideal - group) / ideal"),
        ("off by one", "at most one point"),
        ("NMAE", "from 0 (best) to 1"),
        ("pass^k", "that all do"),
    ],
)
def test_a_figure_is_told_with_its_formula(name: str, said: str) -> None:
    """In plain words."""
    assert said in explain(name).text
