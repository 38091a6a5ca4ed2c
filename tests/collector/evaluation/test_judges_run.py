"""Evaluations of LLM judges from the command line, through litellm and a server on loopback."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from fair_judge import over_http
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from trail_folder import error, write

from tracejury.collector.cli.root import root
from tracejury.judges.measures.dimension_labels import PAPER_SERVICE

A, B, C = "a" * 32, "b" * 32, "c" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two errors in A, of which the fair judge finds the one at span 5; a missing tag in B; C is not annotated."""
    missing = error(2, "Instruction Non-compliance", description="The plan lacks the <end_plan> tag.")
    folder = write(tmp_path / "x", [A, B, C], {A: [error(3), error(5, "Goal Deviation")], B: [missing]})
    (folder / "dimensions.json").write_text(json.dumps({A: [["TC"], ["LC", "PA"]]}))
    return folder


def command(*words: str | Path) -> Result:
    return CliRunner().invoke(root, list(map(str, words)), env={"COLUMNS": "400"})


def report(folder: Path, *options: str | Path) -> dict[str, Any]:
    done = command("evaluate", "trail", folder, "--format", "json", "--profile", "0", *options)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def model(server: LlmServer) -> list[str]:
    asked = ["--judges", "production", "--model", "openai/fair", "--api-base", server.base]
    return [*asked, "--retries", "0", "--verify", "off", "--no-hints"]


def test_an_evaluation_is_recorded_and_replayed_offline(folder: Path, tmp_path: Path) -> None:
    """All figures of one evaluation; then the same to the last digit from its cassette, with the server gone."""
    cassette, human = tmp_path / "c.jsonl", tmp_path / "human.json"
    more: list[str | Path] = ["--runs", "2", "--adjudicate", "--baseline", "--cassette", cassette, "--human", human]
    human.write_text(json.dumps({A: [], B: []}))
    with llm_server(over_http) as server:
        first = report(folder, *model(server), *more)
        calls = server.counts.calls
    judged, matched, baseline = 2 * 3 * 2, 2 + 2 * 1, 3 * 2  # plans and runs, twice; the baseline's variants, one error
    assert calls == judged + matched + baseline
    assert report(folder, "--cassette-mode", "replay", "--verify", "off", "--no-hints", *more) == first

    assert (first["traces"], first["errors"], first["judged_against"]) == (3, 3, 2)
    assert first["asked"]["versions"].keys() >= {"plan-quality", "tool-calling"}
    spans = first["spans"]
    assert spans["judges"]["localised"] == pytest.approx(1 / 3)
    assert spans["judges"]["span_precision"] == pytest.approx(1 / 2)  # B's finding is on no annotated span
    assert spans["both"]["localised"] == spans["detectors"]["localised"] == pytest.approx(2 / 3)
    assert spans["judges"]["grounding"] == {"span_exists": 1.0, "evidence_in_span": 1.0}
    rows = {(row["dimension"], row["impact"]): row for row in first["judges"]["judges"]}
    assert rows["LC", "all"]["caught"] | {"tp": 1, "fp": 0, "fn": 1, "tn": 1} == rows["LC", "all"]["caught"]
    assert rows["TC", "all"]["caught"]["fn"] == 1
    everything = next(row for row in first["judges"]["coverage"] if row["impact"] == "all")
    assert (everything["errors"], everything["caught"], everything["localised"]) == (3, 1, 1)
    assert next(row for row in first["judges_valid"]["coverage"] if row["impact"] == "all")["errors"] == 2
    assert first["labels"] == {"labelled": 2, "defaulted": 1}
    assert [len(first["matches"][name]) for name in (A, B)] == [1, 0]
    assert first["kappa"]["n"] == 2 + 1
    assert first["answered"]["dropped"] == {"no-evidence": 3}
    assert first["answered"]["unscored"] == {}
    assert first["spend"]["calls"] == 6
    assert first["spend"]["unpriced"] == 6
    assert first["spend"]["input_tokens"] > first["spend"]["output_tokens"] > 0
    assert first["repeatability"]["goal-fulfilment"]["scores"]["spread"]["mean"] == 0.0
    baseline = first["baseline"]["without-architecture"]
    assert baseline["localised"] == pytest.approx(1 / 3)
    assert baseline["answered"]["dropped"] == {"unknown-span": 3}
    against = baseline["against_annotators"]
    assert (against["traces"], against["all"]["basis"]) == (2, "adjudicated")
    covered = {row["impact"]: (row["errors"], row["caught"]) for row in against["all"]["coverage"]}
    assert covered["all"] == (3, 1)
    assert sum(errors for errors, _ in covered.values()) == 6  # all of them, and by impact


def test_failures_are_unscored_and_tried_again(folder: Path, tmp_path: Path) -> None:
    """A server that fails some calls: the others count; the next evaluation asks only what is missing."""
    cassette = tmp_path / "c.jsonl"

    def unwell(call: Call) -> Play:
        return Play(status=400) if B in call.prompt else over_http(call)

    with llm_server(unwell) as server:
        first = report(folder, *model(server), "--cassette", cassette)
        assert first["answered"]["unscored"]["tool-calling"] == 1
        assert first["spend"]["failed"] >= 1
        assert first["spans"]["judges"]["localised"] == pytest.approx(1 / 3)
        before = server.counts.calls
        server.script = over_http
        second = report(folder, *model(server), "--cassette", cassette)
        assert server.counts.calls == before + 2
    assert second["answered"]["unscored"] == {}


def test_two_versions_are_compared(folder: Path, tmp_path: Path) -> None:
    """A stored report beside criteria that are put before the model now."""
    with llm_server(over_http) as server:
        stored = tmp_path / "a.json"
        stored.write_text(json.dumps(report(folder, *model(server), "--only-judges")))
        done = command("judges", "diff", stored, "paper", folder, "--format", "json", *model(server)[2:])
    assert done.exit_code == 0, done.stderr
    difference = json.loads(done.stdout)
    assert (difference["traces"], difference["errors"]) == (2, 3)
    assert difference["versions_a"] != difference["versions_b"]
    assert difference["rows"][0]["figures"]["localised"]["delta"] == 0.0
    assert {s["judge"]: (s["n"], s["higher"], s["lower"]) for s in difference["scores"]}["tool-calling"] == (3, 0, 0)


def test_tables_for_people(folder: Path, tmp_path: Path) -> None:
    """Every table of a full report, and of a comparison, can be read."""
    labels, cassette = tmp_path / "labels.json", tmp_path / "c.jsonl"
    labels.write_text(json.dumps([{"trace": t, "judge": "TC", "score": n} for t, n in ((A, 2), (B, 1))]))
    with llm_server(over_http) as server:
        asked: list[str | Path] = [*model(server), "--cassette", cassette]
        full = command("evaluate", "trail", folder, *asked, "--runs", "2", "--baseline", "--labels", labels)
        difference = command("judges", "diff", "production", "production", folder, *asked[2:])
    assert full.exit_code == 0, full.stderr
    for told in ("3 traces, 3 annotated errors; criteria production", "coverage, valid", "alpha"):
        assert told in full.stdout
    assert "paper's labels" not in full.stdout
    trail = write(tmp_path / "trail", [A], {A: [error(3)]}, service=PAPER_SERVICE)
    of_trail = command("evaluate", "trail", trail, *asked, "--cassette-mode", "replay", "--only-judges")
    assert "paper's labels" in of_trail.stdout
    for told in (
        "baseline without architecture",
        "beside people's scores",
        "claims dropped: no-evidence",
        "nobody",
        "coverage beside one judge",
        "reasons are compared by",
    ):
        assert told in full.stdout
    assert difference.exit_code == 0, difference.stderr
    assert "3 annotated errors" in difference.stdout


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--judges", "production"], "give --model"),
        (["--judges", "nowhere", "--model", "openai/x"], "no criteria set"),
        (["--model", "openai/x", "--judge", "nobody"], "no judge named 'nobody'"),
        (["--model", "openai/x", "--cassette-mode", "replay"], "name the --cassette"),
        (["--model", "openai/x", "--api-base", "ftp://x"], "api_base: an http"),
        (["--model", "openai/x", "--api-key-env", "TRACEJURY_TEST_NO_SUCH_KEY"], "TRACEJURY_TEST_NO_SUCH_KEY"),
        (["--model", "openai/x", "--architecture", "/no/such/file"], "cannot read the architecture"),
        (["--model", "openai/x", "--profile", "lenient"], "unknown profile"),
    ],
)
def test_what_cannot_work_is_said_at_once(folder: Path, options: list[str], told: str) -> None:
    """In one line, before anything is asked."""
    done = CliRunner().invoke(root, ["evaluate", "trail", str(folder), *options])
    assert done.exit_code == 2
    assert told in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("tracejury:")]) == 1
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--limit", "1"], "--limit needs --judges and --model"),
        (["--judge", "tool-calling"], "--judge needs --judges and --model"),
        (["--only-judges"], "needs --judges and --model"),
        (["--model", "openai/x", "--shuffle", "1"], "--shuffle is for detectors alone"),
        (["--tokens", "--protocol", "direct"], "--protocol is for detectors alone"),
    ],
)
def test_an_option_that_would_not_be_looked_at_is_refused(folder: Path, options: list[str], told: str) -> None:
    """Else all traces' figures would pass for those of the first ones."""
    done = CliRunner().invoke(root, ["evaluate", "trail", str(folder), *options])
    assert done.exit_code == 2
    assert told in done.stderr


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model", "openai/x"], "openai/x cannot be reached at http://127.0.0.1:9/v1"),
        (["--model", "openai/gpt-4o", "--budget", "0"], "judges.budget usd_per_day"),
    ],
)
def test_an_evaluation_without_a_single_score_fails(folder: Path, options: list[str], told: str) -> None:
    """The exit code and a line on stderr say that nothing was judged; a report would be all zeros."""
    asked = [*options, "--api-base", "http://127.0.0.1:9/v1", "--retries", "0", "--only-judges"]
    done = CliRunner().invoke(root, ["evaluate", "trail", str(folder), *asked])
    assert done.exit_code == 1
    assert f"no agent run has a score: {told}" in done.stderr
    assert done.stdout == ""
