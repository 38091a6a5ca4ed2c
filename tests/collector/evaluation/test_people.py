"""Labels of an export in the place of a folder's annotations: what is read, what is refused, what is compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from trail_folder import error, write

from tracejury.collector.evaluation.diff import judges_diff
from tracejury.collector.evaluation.diff_tables import diff_json
from tracejury.collector.evaluation.judges_options import JudgesOptions
from tracejury.collector.evaluation.people import People, named, read_people, read_session_labels
from tracejury.collector.evaluation.rebuilt import rebuild_folder
from tracejury.collector.evaluation.run import evaluate_trail
from tracejury.collector.judging.model.config import LlmConfig
from tracejury.collector.otlp.files import BrokenFileError
from tracejury.judges.measures.scales import ScaleRating
from tracejury.schemas.errors import ConfigError

A, B, C = "a" * 32, "b" * 32, "c" * 32
RUN = "r"


def annotation(trace: str, span: int, opinion: str = "missed", **changes: Any) -> dict[str, Any]:
    """An annotation as an export has it."""
    return {
        "kind": "annotation", "id": f"{trace[0]}-{span}-{changes.get('annotator', 'ann')}", "opinion": opinion,
        "annotator": "ann", "trace_id": trace, "span_id": f"{span:016x}", "agent_run_id": RUN, "finding_id": None,
        "judge": None, "fingerprint": None, "taxonomy": "trail", "category": "Formatting Errors", "severity": "HIGH",
        "evidence": "quoted", "explanation": "said", "withdrawn": False, "changed_at": "2026-11-20T10:00:00.000000Z",
    } | changes  # fmt: skip


def review(trace: str, run: str = RUN, **changes: Any) -> dict[str, Any]:
    """A review."""
    return {"kind": "review", "annotator": "ann", "trace_id": trace, "agent_run_id": run} | changes


def score(trace: str, value: int | None, dimension: str = "GF") -> dict[str, Any]:
    """A score of the run."""
    return {
        "kind": "score", "annotator": "ann", "trace_id": trace, "agent_run_id": RUN, "dimension": dimension,
        "score": value,
    }  # fmt: skip


def export(path: Path, *rows: Mapping[str, Any]) -> Path:
    """A file of labels."""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_what_people_see_and_reviewed(tmp_path: Path) -> None:
    """Marked errors with their words, those that are disputed or withdrawn left out; the last change of each counts."""
    path = export(
        tmp_path / "labels.jsonl",
        annotation(A, 3),
        annotation(A, 4, "agree"),
        annotation(A, 4, "disagree", annotator="bob"),
        annotation(A, 5, withdrawn=True),
        annotation(B, 3, changed_at="2026-11-20T10:00:01.000000Z", withdrawn=True),
        annotation(B, 3),
        review(A),
        review(B),
        review(B, withdrawn=True, changed_at="2026-11-20T10:00:01.000000Z"),
        score(A, 2),
        score(B, None),
    )
    people = read_people(path)
    assert [(m.trace_id, m.run_id, int(m.span_id, 16), m.text) for m in people.marked] == [
        (A, RUN, 3, "quoted || said")
    ]
    assert people.reviewed == {A: frozenset({RUN})}
    assert people.scores == [ScaleRating(A, RUN, "goal-fulfilment", 2, "ann")]
    assert named(people.scores, {A: "first"}) == [ScaleRating("first", RUN, "goal-fulfilment", 2, "ann")]


def test_labelled_findings_of_one_cause_at_one_span_are_one_error(tmp_path: Path) -> None:
    """Whoever said what of which: the same twice counts once, the contrary of two of them is contested."""

    def on(span: int, judge: str, opinion: str, annotator: str = "ann") -> dict[str, Any]:
        own = {"finding_id": f"{span}-{judge}", "judge": judge, "fingerprint": f"{span}", "id": f"{span}-{judge}"}
        return annotation(A, span, opinion, annotator=annotator, **own)

    path = export(
        tmp_path / "labels.jsonl",
        on(3, "service-error", "agree"),
        on(3, "timeout-error", "agree"),
        on(4, "service-error", "agree"),
        on(4, "timeout-error", "disagree"),
        on(5, "service-error", "agree"),
        on(5, "first-tool-differs", "disagree"),
        review(A),
    )
    assert [int(m.span_id, 16) for m in read_people(path).marked] == [3, 5]


def test_a_list_of_scores_is_still_one(tmp_path: Path) -> None:
    """Without reviews, so that annotations stay those of the folder."""
    path = tmp_path / "scores.json"
    path.write_text(json.dumps([{"trace": "t", "judge": "LC", "score": 1}]))
    assert read_people(path) == People((ScaleRating("t", "", "logical-consistency", 1),))


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([annotation(A, 3)], "holds no review"),
        ([review(A), {"kind": "opinion"}], "labels.jsonl:2: no label: a known kind is missing"),
        ([review(A), annotation(A, 3, trace_id=None)], "labels.jsonl:2: no label: trace_id is missing"),
        ([review(A), annotation(A, 3, opinion="perhaps")], "'perhaps' is not a valid Opinion"),
        ([review(A), annotation(A, 3, severity="huge")], "'huge' is not a valid Severity"),
        ([review(A, changed_at="soon")], "'soon' is no point in time"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, rows: list[dict[str, Any]], told: str) -> None:
    """With the line, and no figures."""
    with pytest.raises(BrokenFileError, match=told):
        read_people(export(tmp_path / "labels.jsonl", *rows))


def test_labels_of_sessions(tmp_path: Path) -> None:
    """The last word of each annotator that was not withdrawn; a line needs no id, and other kinds are passed over."""

    def bad(session: str, **changes: Any) -> dict[str, Any]:
        return {"kind": "session", "annotator": "ann", "session_id": session, "good": False} | changes

    later = {"changed_at": "2026-11-20T10:00:01.000000Z"}
    path = export(
        tmp_path / "labels.jsonl",
        bad("one", good=True, service="shop", situation="correct", **later),
        bad("one", service="shop"),
        bad("one", annotator="bob", satisfied=True),
        bad("two", withdrawn=True, **later),
        bad("two"),
        annotation(A, 3),
        review(A),
    )
    found = [
        (one.session_id, one.annotator, one.good, one.satisfied, one.situation) for one in read_session_labels(path)
    ]
    assert sorted(found) == [("one", "ann", True, None, "correct"), ("one", "bob", False, True, "")]
    assert [m.trace_id for m in read_people(path).marked] == [A]
    for wrong, told in (
        (bad("one", good=None), "good: must be true or false"),
        (bad("one", annotator=""), "annotator is"),
    ):
        with pytest.raises(BrokenFileError, match=f"labels.jsonl:2: {told}"):
            read_session_labels(export(tmp_path / "labels.jsonl", bad("two"), wrong))


def test_detectors_are_scored_on_reviewed_runs_alone(tmp_path: Path) -> None:
    """The folder's annotations do not count, nor what was found and marked in a run that nobody reviewed."""
    folder = write(tmp_path / "x", [A, B], {A: [error(2)], B: [error(2)]})
    rebuilt = rebuild_folder(folder)
    (run,) = rebuilt.traces[0].runs
    span = int(rebuilt.detected[A][0].span_id, 16)
    labels = [annotation(A, span, agent_run_id=run.id), annotation(A, 9, agent_run_id="another"), review(A, run.id)]
    scored = evaluate_trail(folder, protocol="direct", people=read_people(export(tmp_path / "l", *labels, review(C))))
    assert (scored.agreement.traces, scored.agreement.errors) == (1, 1)
    assert (scored.traces_without_annotations, scored.annotations_without_trace) == (1, 1)
    assert scored.agreement.all.localised == 1.0
    nobody = evaluate_trail(folder, protocol="direct", people=read_people(export(tmp_path / "l", review(A, "another"))))
    assert nobody.agreement.all.findings_per_trace == 0


def test_scores_alone_are_nothing_for_detectors(tmp_path: Path) -> None:
    """They give none."""
    with pytest.raises(ConfigError, match="add --judges"):
        evaluate_trail(write(tmp_path / "x", [A], {}), protocol="direct", people=People())


def test_two_versions_on_the_runs_that_people_reviewed(tmp_path: Path) -> None:
    """Errors that people see and both versions' findings in reviewed runs, with the paired test of the two."""
    folder = write(tmp_path / "x", [A, B], {})
    labels = export(tmp_path / "l", annotation(A, 3), annotation(A, 4), annotation(B, 3), review(A), review(B))
    a = report(tmp_path / "a.json", {(A, RUN): [3], (B, RUN): []})
    b = report(tmp_path / "b.json", {(A, RUN): [3, 4], (B, RUN): [3], (B, "unseen"): [4, 5]})
    options = JudgesOptions(folder, LlmConfig(), labels=labels)
    found = diff_json(judges_diff(a, b, options, lambda _stage, _done, _of: None))
    assert (found["traces"], found["errors"]) == (2, 3)
    everything = found["rows"][0]
    assert everything["localised"] == {"both": 1, "only_a": 0, "only_b": 2, "neither": 0, "p": 0.5}
    assert everything["figures"]["span_precision"]["b"] == 1.0


def report(path: Path, spans: Mapping[tuple[str, str], list[int]]) -> str:
    """What a version found, by trace and run, as far as a comparison reads it."""
    results = [
        {
            "trace": trace,
            "repetition": 0,
            "runs": [
                {"run": run, "verdicts": [], "findings": [finding(f"{trace}{run}{n}", n) for n in found]}
                for (of, run), found in spans.items()
                if of == trace
            ],
        }
        for trace in {trace for trace, _ in spans}
    ]
    path.write_text(json.dumps({"asked": {"versions": {}}, "results": results, "matches": None}))
    return str(path)


def finding(finding_id: str, span: int) -> dict[str, Any]:
    """Of the tool-calling judge."""
    return {
        "id": finding_id, "span_id": f"{span:016x}", "judge": "tool-calling", "dimensions": ["TC"],
        "category": "Formatting Errors", "severity": "HIGH", "confidence": 0.9, "elsewhere": [],
    }  # fmt: skip
