"""What an evaluation tells of verification, through litellm and a server on loopback: what it removed, and its cost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from fair_judge import over_http
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from trail_folder import error, write
from verifying import REFUTED, STANDS, verifying

from tracejury.collector.cli.root import root
from tracejury.judges.llm.client import Prompt, PromptMessage

A, B = "a" * 32, "b" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An error in A where the fair judge finds one; in B the same finding is on no annotated span."""
    return write(tmp_path / "x", [A, B], {A: [error(5, "Goal Deviation")], B: [error(2)]})


def with_verifier(call: Call) -> Play:
    """The fair judge; as verifier it refutes what it is asked of B."""
    if "# verification" not in call.prompt:
        return over_http(call)
    asked = Prompt((PromptMessage("user", str(call.body["messages"][-1]["content"])),))
    return Play(text=verifying(asked, REFUTED if B in call.prompt else STANDS))


def evaluated(folder: Path, *options: str | Path, style: str = "json") -> str:
    words = ["evaluate", "trail", folder, "--format", style, *options]
    done = CliRunner().invoke(root, list(map(str, words)), env={"COLUMNS": "400"})
    assert done.exit_code == 0, done.stderr
    return done.stdout


def report(folder: Path, *options: str | Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(evaluated(folder, *options))
    return found


def model(server: LlmServer) -> list[str]:
    asked = ["--judges", "production", "--model", "openai/fair", "--api-base", server.base]
    return [*asked, "--retries", "0", "--only-judges"]


def test_what_verification_removes_and_costs_is_reported(folder: Path, tmp_path: Path) -> None:
    """The refuted finding of B leaves the profile; from its cassette the same comes again, as a table, too."""
    cassette = tmp_path / "c.jsonl"
    with llm_server(with_verifier) as server:
        before = report(folder, *model(server), "--verify", "off")
        first = report(folder, *model(server), "--cassette", cassette)
    replayed: list[str | Path] = ["--only-judges", "--cassette-mode", "replay", "--cassette", cassette]
    assert report(folder, *replayed) == first
    assert before["verification"] == {}
    assert before["spans"]["judges"]["span_precision"] == pytest.approx(1 / 2)
    assert first["spans"]["judges"]["span_precision"] == 1.0
    assert first["asked"]["verify"] == "high"
    rows = {answer: (row["findings"], row["on_span"]) for answer, row in first["verification"].items()}
    assert rows == {"verified": (1, 1), "refuted": (1, 0)}
    purposes = first["spend"]["by_purpose"]
    assert purposes["verify"]["calls"] == 2
    assert purposes["verify"]["input_tokens"] > 0
    assert "verify" not in before["spend"]["by_purpose"]
    table = " ".join(evaluated(folder, *replayed, style="table").split())
    assert "verified 1 1 0" in table
    assert "refuted 1 0 1" in table


def test_a_verifier_that_gives_no_answer_removes_nothing(folder: Path) -> None:
    """A finding that nobody could verify counts as it was made."""

    def silent(call: Call) -> Play:
        return Play(status=400) if "# verification" in call.prompt else over_http(call)

    with llm_server(silent) as server:
        off = report(folder, *model(server), "--verify", "off")
        failed = report(folder, *model(server))
    assert failed["verification"]["unverified"]["findings"] == 2
    assert failed["spans"] == off["spans"]
