"""`tracejury judges list` and `show`, and figures as JSON."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from tracejury.collector.cli.model_options import Temperature
from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.plain import plain
from tracejury.judges.measures.confusion import Confusion
from tracejury.schemas.taxonomy import Severity


def run(*words: str) -> str:
    result = CliRunner().invoke(root, ["judges", *words], env={"COLUMNS": "400"})
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.mark.parametrize("criteria", ["production", "paper"])
def test_the_judges_of_a_set(criteria: str) -> None:
    """Their names, codes, versions, and what they look at; for programs all of their criteria."""
    listed = json.loads(run("list", "--set", criteria, "--format", "json"))
    assert listed["set"] == criteria
    assert {j["dimension"] for j in listed["judges"]} == {"PQ", "PA", "GF", "LC", "EE", "TS", "TC"}
    table = run("list", "--set", criteria)
    assert all(j["name"] in table and j["id"] in table for j in listed["judges"])


def test_a_version_depends_on_the_model() -> None:
    """It is part of what is stored with a verdict."""
    ids = {
        model: [j["id"] for j in json.loads(run("list", "--model", model, "--format", "json"))["judges"]]
        for model in ("openai/a", "openai/b")
    }
    assert not set(ids["openai/a"]) & set(ids["openai/b"])


def test_what_a_judge_is_told() -> None:
    """By name or code; with the rules all that stands before a transcript."""
    by_code = run("show", "TC")
    assert by_code == run("show", "tool-calling")
    assert by_code.startswith("## TC ")
    whole = run("show", "TC", "--rules")
    assert by_code.strip() in whole
    assert "# Rules" in whole


def test_an_unknown_judge_is_one_line() -> None:
    """With those that there are."""
    result = CliRunner().invoke(root, ["judges", "show", "nobody"])
    assert result.exit_code == 2
    assert "it has plan-quality" in result.stderr


@pytest.mark.parametrize(("text", "number"), [("0", 0.0), ("1.5", 1.5), ("2", 2.0), ("none", None), ("None", None)])
def test_a_temperature_or_none(text: str, number: float | None) -> None:
    """Some models refuse to be sent any."""
    assert Temperature().convert(text, None, None) == number


@pytest.mark.parametrize("text", ["-1", "2.1", "warm", ""])
def test_other_temperatures_are_refused(text: str) -> None:
    """By click, before anything runs."""
    with pytest.raises(click.UsageError):
        Temperature().convert(text, None, None)


@dataclass(frozen=True)
class Row:
    """A figure with parts."""

    severity: Severity
    counts: Counter[tuple[str, str]]
    confusion: Confusion


def test_figures_as_json() -> None:
    """Derived figures stand beside the counts that they are of; enums and pairs become texts."""
    row = plain([Row(Severity.LOW, Counter({("a", "b"): 2}), Confusion(tp=1, fn=1))])[0]
    assert (row["severity"], row["counts"]) == ("LOW", {"a/b": 2})
    assert row["confusion"] | {"tp": 1, "recall": 0.5, "precision": 1.0, "total": 2} == row["confusion"]
    assert json.loads(json.dumps(row)) == row
