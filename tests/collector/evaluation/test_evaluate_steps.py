"""`tracejury evaluate steps` over small folders: figures, notes, and what it refuses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from terminal_traces import terminal_trace
from trail_folder import error, write

from tracejury.collector.cli.root import root

A, B, C = "a" * 32, "b" * 32, "c" * 32
STEPS = Path(__file__).parents[4] / "shared" / "data" / "steps"


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(root, ["evaluate", "steps", *map(str, words)], env={"COLUMNS": "250"})


def report(*words: str | Path) -> dict[str, Any]:
    done = run(*words, "--format", "json")
    assert done.exit_code == 0, done.output
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def annotate(folder: Path, name: str, *errors: dict[str, str], **keys: Any) -> None:
    (folder / "annotations" / f"{name}.json").write_text(json.dumps({"errors": list(errors), **keys}))


@pytest.fixture
def failed(tmp_path: Path) -> Path:
    """Two traces in which reading a file fails (3, 4) and the answer (5) is invented; one label each."""
    return write(tmp_path / "failed", [A, B], {A: [error(3)], B: [error(5)]})


@pytest.fixture
def healthy(tmp_path: Path) -> Path:
    """The same run, of which people said that there is no error, twice."""
    return write(tmp_path / "healthy", [C, "d" * 32], {C: [], "d" * 32: []})


def test_each_folder_is_a_data_set_and_all_are_one(failed: Path, healthy: Path) -> None:
    """Counts of "all" are the sums."""
    figures = report(failed, healthy, "--profile", "0")["claims"]
    assert list(figures) == ["failed", "healthy", "all"]
    assert (figures["failed"]["traces"], figures["failed"]["errors"], figures["failed"]["error_free"]) == (2, 2, 0)
    assert (figures["healthy"]["traces"], figures["healthy"]["errors"], figures["healthy"]["error_free"]) == (2, 0, 2)
    assert figures["all"]["claims"] == figures["failed"]["claims"] + figures["healthy"]["claims"] > 0
    assert figures["failed"]["localisation"] > 0
    assert figures["healthy"]["localisation"] is None
    assert figures["healthy"]["false_alarms_any"] == 1.0
    assert figures["healthy"]["intervals"]["false_alarms_any"] == [pytest.approx(0.342, abs=0.001), 1.0]


def test_a_profile_that_shows_nothing_has_no_claims_and_no_false_alarms(failed: Path, healthy: Path) -> None:
    """Rules keep their records: those are of all claims."""
    found = report(failed, healthy, "--profile", "1", "--rules")
    assert found["claims"]["all"]["claims"] == 0
    assert found["claims"]["failed"]["f1"] == 0.0
    assert found["claims"]["healthy"]["false_alarms_any"] == 0.0
    assert found["rules"]


def test_baselines_are_scored_like_claims(failed: Path) -> None:
    """The author of the failed call is span 3, labelled in one of the two; LLM calls are 2, 3 and 5."""
    found = report(failed)
    first = found["author of the first failed execution"]["failed"]
    assert (first["named"], first["localisation"], first["precision"]) == (2, 0.5, 0.5)
    every = found["every LLM call"]["failed"]
    assert (every["named"], every["localisation"], every["precision"]) == (6, 1.0, 2 / 6)


def test_rules_have_records_by_data_set_and_elsewhere(failed: Path, healthy: Path) -> None:
    """In the data set without errors every claim is wrong; elsewhere is the other one."""
    rules = report(failed, healthy, "--rules")["rules"]
    assert any(rows["failed"]["in"]["right"] for rows in rules.values())
    for rows in rules.values():
        assert rows["healthy"]["in"]["right"] == rows["failed"]["elsewhere"]["right"] == 0
        assert rows["healthy"]["elsewhere"] == rows["failed"]["in"]
        assert rows["failed"]["in"]["agents"]
    assert "rules" not in report(failed)


def test_who_and_when(tmp_path: Path) -> None:
    """The writer's call is to blame, which the baseline finds; the speaker is the source's, not the run's."""
    folder = write(tmp_path / "team", [], {})
    (folder / "traces" / "x.json").write_text(json.dumps(terminal_trace(A, "exitcode: 1 (execution failed)")))
    steps = [[0, "Writer_Expert", f"{11:016x}"], [1, "Terminal", f"{13:016x}"]]
    annotate(folder, "x", error(11), steps=steps, label={"agent": "Writer_Expert", "step": 0})
    row = report(folder)["author of the first failed execution"]["team"]
    assert (row["answers"], row["agent_accuracy"], row["step_accuracy"]) == (1, 1.0, 1.0)


def test_tables_show_every_data_set(failed: Path, healthy: Path) -> None:
    """Each with the tables that it has something for."""
    shown = run(failed, healthy, "--rules").stdout
    own = shown.split("\n\n")
    assert [text.splitlines()[0] for text in own[1:]] == [
        "failed: 2 traces, 0 without errors; 2 labelled errors",
        "healthy: 2 traces, 2 without errors; 0 labelled errors",
        "all: 4 traces, 2 without errors; 2 labelled errors",
    ]
    assert [("precision of all spans" in text, "error-free traces with" in text) for text in own[1:]] == [
        (True, False),
        (False, True),
        (True, True),
    ]
    assert "in the other sets" in shown
    assert "who and when" not in shown  # nobody said


def test_hostile_names_are_shown_as_text(tmp_path: Path) -> None:
    """Names of folders and agents may hold what a terminal would obey."""
    folder = write(tmp_path / "evil\x1b[2J", [A, B], {A: [error(99)]})
    shown = run(folder, "--rules", "--profile", "0").stdout
    assert "\x1b" not in shown
    assert "1 labels are on spans" in shown


def test_tables_without_labels_or_findings(healthy: Path) -> None:
    """One data set without errors, in a profile that shows nothing: no line for all."""
    shown = run(healthy, "--profile", "1").stdout
    assert "0.000  0.000 to 0.658" in shown
    assert "\nall:" not in shown


def test_data_sets_with_runs_in_common_are_told(failed: Path, tmp_path: Path) -> None:
    """By trace id, and by what a model wrote at length where the ids differ; "all" counts the run once."""
    same = write(tmp_path / "same", [A], {A: []})
    shown = run(failed, same).stdout
    assert "1 traces of failed are runs that same holds, too" in shown
    for name, trace_id in (("one", A), ("two", B)):
        document = terminal_trace(trace_id, "exitcode: 1", "exitcode: 1")
        text = document["spans"][0]["child_spans"][0]["child_spans"][0]["span_attributes"]
        text["llm.output_messages.0.message.content"] = "The file has a header and 12 rows. " * 5
        folder = write(tmp_path / name, [], {})
        (folder / "traces" / "x.json").write_text(json.dumps(document))
        annotate(folder, "x")
    found = report(tmp_path / "one", tmp_path / "two")
    assert found["overlaps"] == [{"first": "one", "second": "two", "traces": ["x"]}]
    assert found["claims"]["all"]["traces"] == 1


def test_independent_data_sets_have_nothing_in_common(failed: Path, healthy: Path) -> None:
    """Short replies may be alike."""
    assert report(failed, healthy)["overlaps"] == []


def test_a_label_on_a_span_that_the_trace_does_not_have_is_told(failed: Path) -> None:
    """It counts as an error that nobody found."""
    annotate(failed, A, error(99), error(3))
    found = report(failed, "--profile", "0")
    assert found["data_sets"]["failed"]["labels_on_unknown_spans"] == [[A, f"{99:016x}"]]
    assert found["every LLM call"]["failed"]["localised"] == 2
    assert found["every LLM call"]["failed"]["errors"] == 3
    assert "failed: 1 labels are on spans that their trace does not have" in run(failed).stdout


def test_invalid_annotations_are_left_out(failed: Path) -> None:
    annotate(failed, A, error(2, description="The plan does not end with the required <end_plan> tag."))
    found = report(failed)
    assert (found["claims"]["failed"]["errors"], found["claims"]["failed"]["error_free"]) == (1, 0)
    assert found["data_sets"]["failed"]["invalid_annotations"] == 1


def test_traces_without_annotations_are_not_scored(failed: Path) -> None:
    (failed / "annotations" / f"{B}.json").unlink()
    found = report(failed)
    assert (found["claims"]["failed"]["traces"], found["data_sets"]["failed"]["traces_without_annotations"]) == (1, 1)


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        pytest.param({"steps": [[1, "x"]]}, '"steps" are not [[number, speaker, span id], ...]', id="steps"),
        pytest.param({"steps": 7}, '"steps" are not', id="no list"),
        pytest.param({"label": "writer"}, '"label" is not {"agent": name, "step": number}', id="label"),
        pytest.param({"label": {"agent": "a", "step": 4}}, 'blames step 4, which "steps" does not have', id="no step"),
    ],
)
def test_malformed_labels_are_refused_in_one_line(failed: Path, keys: dict[str, Any], says: str) -> None:
    annotate(failed, A, **keys)
    done = run(failed)
    assert done.exit_code == 1
    assert says in done.stderr
    assert f"{A}.json" in done.stderr
    assert sum("annotations" in line for line in done.stderr.splitlines()) == 1
    assert "Traceback" not in done.stderr


def test_a_folder_without_annotations_is_refused(tmp_path: Path) -> None:
    done = run(write(tmp_path / "bare", [A], {}))
    assert (done.exit_code, "no annotations in" in done.stderr) == (1, True)


def test_two_folders_of_one_name_are_refused(failed: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other" / "failed", [A], {A: []})
    done = run(failed, other)
    assert done.exit_code != 0
    assert "two data sets are named failed" in done.stderr


def test_a_folder_named_as_all_together_is_refused(tmp_path: Path) -> None:
    done = run(write(tmp_path / "all", [A], {A: []}))
    assert done.exit_code != 0
    assert 'a data set cannot be named "all"' in done.stderr


def test_an_unknown_profile_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    done = run(tmp_path, "--profile", "lenient")
    assert "unknown profile" in done.stderr


@pytest.mark.skipif(not STEPS.exists(), reason="needs the shared traces with labelled steps")
def test_the_shared_data_sets() -> None:
    """Every label is on a span; two data sets share 18 logs; the baseline has the figures that were measured before."""
    names = ["agentrx-magentic", "whowhen-hand", "whowhen-algorithm"]
    found = report(*(STEPS / name for name in names))
    assert [found["claims"][name]["traces"] for name in names] == [18, 29, 52]
    assert all(not found["data_sets"][name]["labels_on_unknown_spans"] for name in names)
    (overlap,) = found["overlaps"]
    assert (overlap["first"], overlap["second"], len(overlap["traces"])) == ("agentrx-magentic", "whowhen-hand", 18)
    assert found["claims"]["all"]["traces"] == 29 + 52
    baseline = found["author of the first failed execution"]["whowhen-algorithm"]
    assert (baseline["localised"], baseline["named"], baseline["right"]) == (10, 28, 10)
