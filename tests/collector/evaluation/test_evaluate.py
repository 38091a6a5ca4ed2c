"""Scoring of what was found in a folder, its report, and the whole way through a collector."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from trail_folder import error, write

from tracejury.collector.evaluation.folder import load
from tracejury.collector.evaluation.predictions import Predictions
from tracejury.collector.evaluation.report import as_json, as_tables
from tracejury.collector.evaluation.run import evaluate_trail
from tracejury.collector.evaluation.score import evaluate
from tracejury.judges.agreement import Predicted
from tracejury.schemas.errors import ConfigError

A, B, C = "a" * 32, "b" * 32, "c" * 32
GAIA = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev"
needs_trail = pytest.mark.skipif(not GAIA.exists(), reason="needs the shared TRAIL traces")

HEADLINES = [
    "traces",
    "errors",
    "findings_per_trace",
    "localised",
    "localised_valid",
    "invalid_annotations",
    "span_precision",
    "span_recall",
    "span_f1",
    "weighted_category_f1",
    "location_accuracy",
    "joint_accuracy",
]
MISSING_TAG = "The plan does not end with the required <end_plan> tag."


def found(trace: str, number: int, confidence: float = 0.9, evidence: str = "No such file") -> Predicted:
    return Predicted(trace, f"{number:016x}", "Formatting Errors", "rule", confidence, ("TC",), evidence=evidence)


def score(folder: Path, *findings: Predicted, profile: str = "0.5") -> dict[str, Any]:
    return as_json(evaluate(load(folder), Predictions(findings), profile=profile, protocol="direct"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three traces: two annotated errors in A, a missing tag at a plan and an error nowhere in B, C not annotated."""
    nowhere = error(99, location="")
    return write(
        tmp_path / "x",
        [A, B, C],
        {A: [error(3), error(4, "Resource Not Found")], B: [error(2, description=MISSING_TAG), nowhere]},
    )


def test_headline_figures_come_first(folder: Path) -> None:
    """The keys that programs read, at the top and in order; counts are whole numbers."""
    report = score(folder, found(A, 3), found(A, 5))
    assert list(report)[: len(HEADLINES)] == HEADLINES
    assert (report["traces"], report["errors"], report["invalid_annotations"]) == (2, 4, 1)
    assert report["localised"] == pytest.approx(1 / 4)
    assert report["localised_valid"] == pytest.approx(1 / 3)
    assert report["span_precision"] == pytest.approx(1 / 2)
    assert report["findings_per_trace"] == 1.0
    assert json.loads(json.dumps(report)) == report


def test_both_kinds_of_localisation_are_reported(folder: Path) -> None:
    """By primary span and by any named span, each with its precision, in JSON and in the table."""
    beside = replace(found(A, 5), elsewhere=(f"{3:016x}", f"{4:016x}"))
    evaluation = evaluate(load(folder), Predictions((beside,)), profile="0", protocol="direct")
    report = as_json(evaluation)
    assert (report["localised"], report["span_precision"]) == (0.0, 0.0)
    assert (report["localised_any"], report["span_precision_any"]) == (2 / 4, pytest.approx(2 / 3))
    assert report["valid"]["localised_any"] == pytest.approx(2 / 3)
    screen = io.StringIO()
    Console(file=screen, width=160, force_terminal=False).print(as_tables(evaluation))
    assert "localised by any named span" in screen.getvalue()
    assert "precision of all named spans" in screen.getvalue()


def test_errors_are_scored_before_findings(folder: Path) -> None:
    """At their primary span, and in the `_any` figures at all they name; those below the profile do not count."""
    one = replace(found(A, 5), elsewhere=(f"{3:016x}", f"{4:016x}"))
    errors = (one, found(A, 3, 0.2), found(C, 3))
    evaluation = evaluate(load(folder), Predictions((one,), errors=errors), profile="0.5", protocol="direct")
    shown = as_json(evaluation)["as_errors"]
    assert (shown["errors"], shown["all"]["findings_per_trace"]) == (2, 0.5)
    assert (shown["all"]["localised"], shown["all"]["span_precision"]) == (0.0, 0.0)
    assert (shown["all"]["localised_any"], shown["all"]["span_precision_any"]) == (2 / 4, pytest.approx(2 / 3))
    assert shown["valid"]["localised_any"] == pytest.approx(2 / 3)
    screen = io.StringIO()
    Console(file=screen, width=160, force_terminal=False).print(as_tables(evaluation))
    assert 0 < screen.getvalue().index("as errors") < screen.getvalue().index("as findings")
    assert shown["intervals"]["localised_any"][0] <= 2 / 4 <= shown["intervals"]["localised_any"][1]
    assert score(folder, found(A, 3))["as_errors"] is None


def test_invalid_annotations_are_listed(folder: Path) -> None:
    """The one that blames the absence of a stop sequence of its call, with the reason."""
    (invalid,) = score(folder)["invalid"]
    assert (invalid["trace_id"], invalid["span_id"]) == (B, f"{2:016x}")
    assert "<end_plan>" in invalid["reason"]


def test_the_same_words_about_a_call_without_that_stop_sequence_are_valid(tmp_path: Path) -> None:
    """The trace decides, not the annotation: span 3 had no stop sequences."""
    assert score(write(tmp_path / "x", [A], {A: [error(3, description=MISSING_TAG)]}))["invalid"] == []


def test_traces_without_annotations_are_counted_and_not_scored(folder: Path) -> None:
    """Their findings are no false alarms, and no part of the figures."""
    report = score(folder, found(A, 3), found(C, 3), found(C, 4))
    assert (report["traces"], report["traces_without_annotations"], report["findings"]) == (2, 1, 3)
    assert (report["span_precision"], report["findings_per_trace"]) == (1.0, 0.5)


@pytest.mark.parametrize(("profile", "counted"), [("0.49", 2), ("0.5", 2), ("0.51", 1), ("0.9", 1), ("0.91", 0)])
def test_a_profile_is_a_threshold(folder: Path, profile: str, counted: int) -> None:
    """Findings at the threshold count."""
    report = score(folder, found(A, 3, 0.9), found(A, 4, 0.5), profile=profile)
    assert report["findings"] == counted


def test_an_unknown_profile_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    """Although the folder does not exist either."""
    with pytest.raises(ConfigError, match="unknown profile"):
        evaluate_trail(tmp_path / "nowhere", profile="lenient")


def test_grounding_is_checked_against_what_was_sent(folder: Path) -> None:
    """A span that was not sent, and a quote that stands in no string of its span, are told apart."""
    report = score(folder, found(A, 4), found(A, 4, evidence="no  SUCH\nfile"), found(A, 3), found(A, 77))
    assert report["grounding"] == {"span_exists": 0.75, "evidence_in_span": 0.5}


def test_quotes_inside_json_values_count(folder: Path) -> None:
    """Arguments are JSON text in the attribute; a quote of one of its strings stands in the span."""
    assert score(folder, found(A, 3, evidence="data.csv"))["grounding"]["evidence_in_span"] == 1.0


def test_tables_show_the_figures(folder: Path) -> None:
    """Everything a reader of the table needs, and annotators' text only after it was made safe."""
    (folder / "annotations" / f"{A}.json").write_text(json.dumps({"errors": [error(3, "Evil \x1b[2J category")]}))
    evaluation = evaluate(load(folder), Predictions((found(A, 3),)), profile="balanced", protocol="grpc", shuffle=7)
    screen = io.StringIO()
    Console(file=screen, width=160, force_terminal=False).print(as_tables(evaluation))
    text = screen.getvalue()
    assert "2 traces, 3 annotated errors; profile balanced, over grpc, shuffled with seed 7" in text
    assert "1 traces without annotations" in text
    assert "localised" in text
    assert "\x1b" not in text
    assert "Evil" in text


@pytest.mark.parametrize("protocol", ["direct", "json"])
def test_spans_that_the_receiver_refuses_are_counted(tmp_path: Path, protocol: str) -> None:
    """A span without a valid id costs itself only; the folder is judged all the same."""
    folder = write(tmp_path / "x", [A], {A: [error(4)]})
    trace = json.loads((folder / "traces" / f"{A}.json").read_text())
    trace["spans"][0]["child_spans"].append(trace["spans"][0]["child_spans"][0] | {"span_id": "0" * 16})
    (folder / "traces" / f"{A}.json").write_text(json.dumps(trace))
    report = run(folder, "--profile", "0", "--protocol", protocol)
    assert (report["items_refused"], report["traces"]) == (1, 1)
    assert report["findings"] > 0


def test_a_folder_without_any_finding_or_error(tmp_path: Path) -> None:
    """All figures are 0 and the report can still be written."""
    report = score(write(tmp_path / "x", [A], {A: []}))
    assert (report["traces"], report["errors"], report["localised"], report["span_f1"]) == (1, 0, 0.0, 0.0)


def run(folder: Path, *options: str) -> dict[str, Any]:
    """`tracejury evaluate trail` in a process of its own (an embedded engine is one a process)."""
    command = "from tracejury.collector.cli import main; main()"
    words = [sys.executable, "-c", command, "evaluate", "trail", str(folder), "--format", "json", *options]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=False)  # noqa: S603  our own
    assert done.returncode == 0, done.stderr
    report: dict[str, Any] = json.loads(done.stdout)
    assert report.pop("protocol") == (options[options.index("--protocol") + 1] if "--protocol" in options else "grpc")
    report.pop("shuffle")
    return report


@pytest.mark.parametrize(
    "options",
    [("--shuffle", "3"), ("--protocol", "http"), ("--protocol", "json", "--shuffle", "1")],
    ids=["gRPC shuffled", "HTTP", "JSON shuffled"],
)
def test_every_protocol_and_order_gives_the_same_report(folder: Path, options: tuple[str, ...]) -> None:
    """Over gRPC, HTTP protobuf, HTTP JSON, shuffled, and without any collector: the same to the last digit."""
    direct = as_json(evaluate_trail(folder, profile="0", protocol="direct"))
    assert direct["findings"] >= direct["as_errors"]["errors"] > 0
    for own in ("protocol", "shuffle"):
        direct.pop(own)
    assert run(folder, "--profile", "0", *options) == json.loads(json.dumps(direct))


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    """All findings in the development traces, in the order of their files."""
    return as_json(evaluate_trail(GAIA, profile="0", protocol="direct"))


@pytest.mark.trail
@needs_trail
def test_invalid_annotations_of_the_development_traces(report: dict[str, Any]) -> None:
    """56 traces, 278 errors, 21 of which blame a tag that the call had to stop at; every finding is grounded."""
    assert (report["traces"], report["errors"], report["invalid_annotations"]) == (56, 278, 21)
    assert {i["reason"].split()[4] for i in report["invalid"]} == {"<end_plan>,"}
    assert report["grounding"] == {"span_exists": 1.0, "evidence_in_span": 1.0}


@pytest.mark.trail
@needs_trail
def test_the_order_of_arrival_does_not_change_the_figures(report: dict[str, Any]) -> None:
    """On the development traces, all findings, shuffled over all traces."""
    mixed = as_json(evaluate_trail(GAIA, profile="0", protocol="direct", shuffle=1))
    assert mixed | {"shuffle": None} == report


@pytest.mark.trail
@needs_trail
def test_naming_every_span_is_what_location_accuracy_cannot_see() -> None:
    """The figures of TRAIL that ignore precision come out perfect but for the two traces without errors (0 there)."""
    folder = load(GAIA)
    spans = folder.received.spans
    everything = Predictions(tuple(Predicted(s.trace_id, s.span_id, "", "all", 1.0, evidence=s.name) for s in spans))
    report = as_json(evaluate(folder, everything, profile="0", protocol="direct"))
    assert report["localised"] == 1.0
    assert report["location_accuracy"] == pytest.approx(54 / 56)
    assert report["joint_accuracy"] == 0.0
    assert report["span_precision"] < 0.2
