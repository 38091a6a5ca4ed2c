"""The table, the JSON and the list of an evaluation, and the command that prints them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from framework_folder import run_spans, truth, write

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.frameworks.items import Measure, ScoredFact
from tracejury.collector.evaluation.frameworks.report import MeasureRow, as_json, rows
from tracejury.collector.evaluation.frameworks.run import ReconstructionEvaluation, evaluate_frameworks
from tracejury.collector.otlp.files import BrokenFileError


def row(e: ReconstructionEvaluation, measure: str) -> MeasureRow:
    """The line of that measure."""
    return next(r for r in rows(e) if r.measure == measure)


def evaluation(*items: ScoredFact) -> ReconstructionEvaluation:
    """An evaluation of two captures, of these items."""
    return ReconstructionEvaluation(items, {"a/S1": "S1", "b/S1": "S1"}, spans=10)


def agent(capture: str, *, ok: bool, stated: bool = True) -> ScoredFact:
    """An item of one agent."""
    return ScoredFact(
        capture, Measure.AGENTS, "manager", 1, int(ok), ok, stated=stated, rules=() if stated else ("why",)
    )


def test_a_share_counts_what_is_stated() -> None:
    """What is not stated counts in no share, but is listed where it was made up."""
    e = evaluation(agent("a/S1", ok=True), agent("a/S1", ok=False), agent("b/S1", ok=False, stated=False))
    counted = row(e, "agents with their number of runs")
    assert (counted.goal, counted.value, counted.n, counted.met) == ("97%", 0.5, 2, False)
    assert row(e, "invented beyond what exports state").value == 1
    assert (row(e, "captures that do not state all").value, len(e.scenarios)) == (1, 2)


def test_a_capture_is_right_where_all_its_agents_are() -> None:
    """And is left out where one of them is not stated."""
    whole = "agents exactly right, by capture"
    assert row(evaluation(agent("a/S1", ok=True), agent("b/S1", ok=False), agent("b/S1", ok=True)), whole).value == 0.5
    partly = evaluation(agent("a/S1", ok=True), agent("b/S1", ok=True), agent("b/S1", ok=True, stated=False))
    assert (row(partly, whole).value, row(partly, whole).n) == (1.0, 1)


@pytest.mark.parametrize(("found", "value", "met"), [([], 0.0, True), (["x"], 0.5, False)])
def test_findings_on_happy_runs_are_counted_by_run(found: list[str], value: float, *, met: bool) -> None:
    """The goal is at most a fifth of a finding a run."""
    items = [ScoredFact(c, Measure.FINDINGS, "S1", 0, got, not got) for c, got in (("a/S1", found), ("b/S1", []))]
    counted = row(evaluation(*items), "findings a run, happy S1 runs")
    assert (counted.value, counted.n, counted.met) == (value, 2, met)


def test_nothing_measured_is_neither_met_nor_missed() -> None:
    """A folder without killed runs says nothing of their managers."""
    manager = row(evaluation(), "manager of a killed run, announced")
    assert (manager.value, manager.n, manager.met) == (None, 0, None)


def test_every_miss_is_in_the_json(tmp_path: Path) -> None:
    """With its capture, item, what was expected and what came, for others to work from."""
    meta = truth()
    meta["ground_truth"]["tool_calls_by_agent"]["researcher"][0]["executed"] = False
    report = json.loads(json.dumps(as_json(evaluate_frameworks(write(tmp_path, meta, run_spans())))))
    (miss,) = report["misses"]
    assert (miss["capture"], miss["measure"], miss["item"], miss["kind"]) == (
        "some/S1",
        "tool calls",
        "researcher.search #0",
        "executed",
    )
    assert (miss["expected"]["executed"], miss["got"]["executed"]) == (False, True)
    assert report["labels"] == {"some": {"tool calls: executed": 1}}


def test_the_command_prints_the_table_the_json_and_the_list(tmp_path: Path) -> None:
    """Of all labels or of one."""
    write(tmp_path, truth(), run_spans()[1:], label="rootless")
    folder = str(write(tmp_path, truth(), run_spans()))
    table = CliRunner().invoke(root, ["evaluate", "frameworks", folder, "--shuffle", "3"])
    assert table.exit_code == 0
    assert "2 captures, 15 spans, shuffled with seed 3" in table.output
    one = CliRunner().invoke(root, ["evaluate", "frameworks", folder, "--label", "some", "--format", "json"])
    assert (json.loads(one.output)["captures"], json.loads(one.output)["misses"]) == (1, [])
    listed = CliRunner().invoke(root, ["evaluate", "frameworks", folder, "--list"])
    assert "rootless/S1" in listed.output
    assert "some/S1" not in listed.output


def test_a_folder_without_captures_is_named(tmp_path: Path) -> None:
    """As is a label that is not there, and a truth that holds none."""
    with pytest.raises(BrokenFileError, match="no captures in"):
        evaluate_frameworks(tmp_path)
    folder = write(tmp_path, truth(), run_spans())
    with pytest.raises(BrokenFileError, match="no captures of label other"):
        evaluate_frameworks(folder, label="other")
    (folder / "some" / "S1.meta.json").write_text("{}")
    with pytest.raises(BrokenFileError, match=r"S1\.meta\.json holds no ground truth"):
        evaluate_frameworks(folder)
