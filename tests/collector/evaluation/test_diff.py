"""Reports of two versions, compared."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trail_folder import error, write

from tracejury.collector.evaluation.diff import judges_diff, read_version
from tracejury.collector.evaluation.diff_tables import diff_json, diff_tables
from tracejury.collector.evaluation.judges_options import JudgesOptions
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.files import BrokenFileError

A, B, C = "a" * 32, "b" * 32, "c" * 32


def said(number: int, confidence: float = 0.9) -> dict[str, Any]:
    return {
        "id": f"f{number}",
        "span_id": f"{number:016x}",
        "judge": "tool-calling",
        "dimensions": ["TC"],
        "category": "Formatting Errors",
        "severity": "HIGH",
        "confidence": confidence,
        "elsewhere": [],
    }


def stored(path: Path, findings: dict[str, list[dict[str, Any]]], score: int | None, **changes: Any) -> str:
    """A report as `--format json` writes it, as far as a comparison reads it."""
    results = [
        {
            "trace": trace,
            "repetition": repetition,
            "runs": [{"run": "r", "verdicts": [{"judge": "tool-calling", "score": score}], "findings": own}],
        }
        for trace, own in findings.items()
        for repetition in (0, 1)
    ]
    path.write_text(
        json.dumps({"asked": {"versions": {"tool-calling": "v"}}, "results": results, "matches": None} | changes)
    )
    return str(path)


def test_figures_of_both_on_the_traces_that_both_judged(tmp_path: Path) -> None:
    """Errors parted by the versions, spans, scores; of several runs the first; C was judged by one of them only."""
    folder = write(tmp_path / "x", [A, B, C], {A: [error(3), error(4)], B: [error(5)], C: [error(3)]})
    a = stored(tmp_path / "a.json", {A: [said(3)], B: [], C: [said(3)]}, 1)
    b = stored(tmp_path / "b.json", {A: [said(3), said(4), said(5, 0.1)], B: [said(5)]}, 3)
    found = judges_diff(a, b, JudgesOptions(folder, LlmConfig()), lambda _stage, _done, _of: None)
    report = diff_json(found)
    assert (report["traces"], report["errors"]) == (2, 3)
    everything = report["rows"][0]
    assert everything["localised"] == {"both": 1, "only_a": 0, "only_b": 2, "neither": 0, "p": 0.5}
    assert everything["figures"]["span_precision"]["a"] == everything["figures"]["span_precision"]["b"] == 1.0
    assert everything["figures"]["localised"]["delta"] == pytest.approx(2 / 3)
    (score,) = report["scores"]
    assert (score["n"], score["mean_a"], score["mean_b"], score["higher"], score["lower"]) == (2, 1.0, 3.0, 2, 0)
    screen = io.StringIO()
    Console(file=screen, width=200).print(diff_tables(found))
    assert "+0.667" in screen.getvalue()


def test_matches_of_both_decide_what_is_caught(tmp_path: Path) -> None:
    """Each report's own; where only one has any, the table warns."""
    folder = write(tmp_path / "x", [A], {A: [error(3)]})
    a = stored(tmp_path / "a.json", {A: [said(4)]}, 1, matches={A: [[0, "f4"]]})
    b = stored(tmp_path / "b.json", {A: [said(4)]}, 1)
    found = judges_diff(a, b, JudgesOptions(folder, LlmConfig()), lambda _stage, _done, _of: None)
    caught = diff_json(found)["rows"][0]["figures"]["caught"]
    assert (caught["a"], caught["b"]) == (1.0, 0.0)
    screen = io.StringIO()
    Console(file=screen, width=200).print(diff_tables(found))
    assert "only one of the two was matched" in screen.getvalue()


@pytest.mark.parametrize(
    "document", [[], {}, {"results": 1}, {"results": [{"trace": "t"}], "matches": None, "asked": {"versions": {}}}]
)
def test_other_documents_are_refused(document: object) -> None:
    """By name."""
    with pytest.raises(BrokenFileError, match=r"x\.json is no report"):
        read_version("x.json", document)
