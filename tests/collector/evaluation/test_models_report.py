"""Several models beside each other, from cassettes alone."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from trail_folder import error, write

from tracejury.collector.cli.root import root

A, B, C = "a" * 32, "b" * 32, "c" * 32
OPTIONS = ["--verify", "off", "--lookup", "off"]


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(root, list(map(str, words)), env={"COLUMNS": "400"})


def record(folder: Path, cassette: Path, server: LlmServer, model: str) -> None:
    options = ["--judges", "production", "--model", f"openai/{model}", "--api-base", server.base, "--retries", "0"]
    done = command("evaluate", "trail", folder, *options, *OPTIONS, "--only-judges", "--cassette", cassette)
    assert done.exit_code == 0, done.stderr


def script(call: Call) -> Play:
    """The model "mute" finds nothing."""
    return Play(findings=0 if call.body["model"] == "mute" else 1)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A folder with three outcomes, one cassette with two models, and one of other judges."""
    base = tmp_path_factory.mktemp("models")
    folder = write(base / "x", [A, B, C], {A: [error(3)], B: [error(5, "Goal Deviation")], C: []})
    for name, outcome in ((A, False), (B, True), (C, True)):
        path = folder / "annotations" / f"{name}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"outcome": outcome}))
    both, other = base / "both.jsonl", base / "other.jsonl"
    with llm_server(script) as server:
        record(folder, both, server, "keen")
        record(folder, both, server, "mute")
        other.write_text("")
        small = write(base / "y", ["d" * 32], {"d" * 32: []})
        record(small, other, server, "keen")
    return folder, both, other


def test_a_table_has_a_row_a_model_of_every_cassette(recorded: tuple[Path, Path, Path], tmp_path: Path) -> None:
    """The server is gone; a cassette without answers to these prompts is named, and costs no other one its row."""
    folder, both, other = recorded
    done = command("evaluate", "models", folder, both, other, *OPTIONS, "--format", "json")
    assert done.exit_code == 0, done.stderr
    report = json.loads(done.stdout)
    keen, mute = report["models"]
    assert (keen["model"], mute["model"]) == ("openai/keen", "openai/mute")
    assert keen["answered"]["scored"] == mute["answered"]["scored"] > 0
    assert keen["spans"]["findings"] > mute["spans"]["findings"] == 0
    assert keen["caught"].keys() >= {"precision", "recall", "f1", "f2", "accuracy"}
    assert mute["consistency"]["reason"] == "every score is the same"
    assert keen["traces"] == 3
    assert report["silent"] == [f"{other}: openai/keen has no score for these prompts"]

    labels = tmp_path / "scores.json"
    labels.write_text(json.dumps([{"trace": A, "judge": "TC", "score": 1, "points": 3}]))
    shown = command("evaluate", "models", folder, both, *OPTIONS, "--labels", labels, "--split", "3").stdout
    assert sum(line.startswith("openai/keen ") for line in shown.splitlines()) == 4
    assert sum(line.startswith("openai/mute tool-calling") for line in shown.splitlines()) == 1


def test_without_any_answer_and_with_a_model_to_ask_it_is_refused(recorded: tuple[Path, Path, Path]) -> None:
    """One line that names what is wrong."""
    folder, both, other = recorded
    done = command("evaluate", "models", folder, other, *OPTIONS)
    assert done.exit_code == 2
    assert "has no score for these prompts" in done.stderr
    done = command("evaluate", "models", folder, both, "--model", "m")
    assert done.exit_code == 2
    assert "--model is what the cassettes hold" in done.stderr
