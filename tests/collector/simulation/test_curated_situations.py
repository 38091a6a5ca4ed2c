"""The sessions written by hand, as `tracejury situations generate --examples` writes them."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.folder import TrailFolder, load
from tracejury.judges.evidence import OwnText
from tracejury.judges.packs.emitted_states import AFTER, BEFORE
from tracejury.judges.situations.situation_types import all_situations, named_situations
from tracejury.judges.situations.tool_groups import tool_groups
from tracejury.processors.transcript import session_record


@pytest.fixture(scope="module")
def out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("curated") / "sessions"
    result = CliRunner().invoke(root, ["situations", "generate", "--examples", "--out", str(out)])
    assert (result.exit_code, result.stderr) == (0, f"34 sessions in {out}\n")
    return out


@pytest.fixture(scope="module")
def folder(out: Path) -> TrailFolder:
    return load(out)


def labels(out: Path, kind: str) -> list[dict[str, Any]]:
    lines = map(json.loads, (out / "labels.jsonl").read_text().splitlines())
    return [line for line in lines if line["kind"] == kind]


def test_there_is_one_session_of_each_situation_and_a_correct_one_of_each_tool_group(out: Path) -> None:
    said = labels(out, "session")
    assert Counter(label["situation"] for label in said) == {
        situation.name: 9 if situation.good else 1 for situation in named_situations()
    }
    assert {label["service"] for label in said if label["good"]} == {f"{g.name}-assistant" for g in tool_groups()}
    for label in said:
        situation = all_situations()[label["situation"]]
        assert (label["good"], label["satisfied"]) == (situation.good, situation.user == "satisfied")
    assert {label["annotator"] for label in said} == {"curator"}


def test_each_bad_session_goes_wrong_at_a_step_whose_own_text_has_the_quote(out: Path, folder: TrailFolder) -> None:
    """It is a call's result where the agent does nothing wrong, else what the agent says or calls."""
    traces = {trace.trace_id: trace for trace in folder.received.traces()}
    errors = labels(out, "annotation")
    assert len(errors) == 25
    for error in errors:
        trace, situation = traces[error["trace_id"]], all_situations()[error["category"]]
        steps = session_record("", [trace]).transcript.steps
        (step,) = [step for step in steps if step.span_id == error["span_id"]]
        quote = error["evidence"]
        assert OwnText(trace).holds(step.span_id, quote), quote
        assert (" tool " in step.text.split("\n")[0]) == (situation.conduct == "appropriate"), step.text
        assert (error["severity"] == "HIGH") == (situation.user == "satisfied")


def test_no_span_tells_what_it_was_written_for(folder: TrailFolder) -> None:
    told = b"".join(request.SerializeToString() for request in folder.requests)
    names = [situation.name for situation in named_situations() if not situation.good]
    assert [name for name in (*names, "situation", "curator") if name.encode() in told] == []


def test_states_stand_where_only_they_tell_and_in_correct_sessions_too(out: Path, folder: TrailFolder) -> None:
    situations = {label["session_id"]: label["situation"] for label in labels(out, "session")}
    shown = Counter(
        situations[span.attributes["session.id"]]
        for trace in folder.received.traces()
        for span in (one.raw for one in trace.spans.values())
        if BEFORE in span.attributes or AFTER in span.attributes
    )
    assert {*shown} == {"correct", "wrong-action-silent", "trusted-wrong-fact"}


@pytest.mark.parametrize("more", [["--each", "2"], ["--tools", __file__]])
def test_examples_take_no_tools_and_no_folder_is_overwritten(out: Path, tmp_path: Path, more: list[str]) -> None:
    before = (out / "labels.jsonl").read_bytes()
    for place, args, told in ((tmp_path / "new", more, "leave --tools and --each out"), (out, [], "there already")):
        result = CliRunner().invoke(root, ["situations", "generate", "--examples", "--out", str(place), *args])
        assert (result.exit_code, told in result.stderr, len(result.stderr.splitlines())) == (2, True, 1)
    assert (out / "labels.jsonl").read_bytes() == before
    assert not (tmp_path / "new").exists()
