"""`tracejury situations filter` against a server that plays a model."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from sizes import sized

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.labelled_sessions import labelled_sessions
from tracejury.collector.simulation.situation_folder import write_sessions
from tracejury.collector.simulation.situation_traces import labelled_traces
from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.situations.session_fit import SessionFit
from tracejury.judges.situations.session_prompts import situation_texts
from tracejury.judges.situations.situation_session import curated_sessions
from tracejury.judges.situations.situation_types import UNSURE, all_situations
from tracejury.judges.situations.tool_groups import tool_groups

PARTS = ("whole", "user", "tools", "agent")
UNFIT = {"trace-leak", "info-overload", "wrong-action-silent"}
"""What the scripted model finds does not fit."""


def fit(**wrong: str) -> str:
    return json.dumps({part: {"reason": wrong.get(part, "E1.S1."), "fits": part not in wrong} for part in PARTS})


def situation_of(call: Call) -> str:
    prompt = " ".join(call.prompt.split())
    (name,) = [name for name, texts in situation_texts().items() if texts.whole in prompt]
    return name


def judged(call: Call) -> Play:
    return Play(text=fit(agent="It\nsums up.") if situation_of(call) in UNFIT else fit())


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with llm_server(judged, keep=True) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The curated sessions as if a model had written them."""
    groups = {group.name: group for group in tool_groups()}
    made = (labelled_traces(one, groups[one.group].offered(one.situation), "generator") for one in curated_sessions())
    assert write_sessions(tmp_path / "sessions", made) == 34
    return tmp_path / "sessions"


def lines(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]


def of(folder: Path, situation: str) -> dict[str, Any]:
    """The generator's label of one session."""
    return next(line for line in lines(folder) if line.get("situation") == situation)


def people(folder: Path, meant: str, name: str = "ada", **said: Any) -> None:
    """Somebody labels the session of a situation; as it was meant, but for what is `said`."""
    label = of(folder, meant) | {"annotator": name} | said
    with (folder / "labels.jsonl").open("a") as file:
        file.write(json.dumps(label) + "\n")


def run(folder: Path, *args: str, model: LlmServer | None = None) -> Result:
    by = ["--model", "openai/scripted", "--api-base", model.base, "--retries", "0"] if model else []
    return CliRunner().invoke(root, ["situations", "filter", str(folder), *args, *by])


def withdrawn(folder: Path, kind: str) -> set[str]:
    rows = (line for line in lines(folder) if line.get("withdrawn") and line["kind"] == kind)
    return {line["situation" if kind == "session" else "category"] for line in rows}


def test_a_mismatch_withdraws_the_label_and_some_situations_are_never_silver(model: LlmServer, folder: Path) -> None:
    before = lines(folder)
    result = run(folder, model=model)
    gone = UNFIT | UNSURE
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, f"{34 - len(gone)} of 34 labels stand")
    assert withdrawn(folder, "session") == withdrawn(folder, "annotation") == gone
    told = f"withdrawn: {of(folder, 'trace-leak')['session_id']}, trace-leak: agent: It sums up."
    assert told in result.stdout.splitlines()
    assert model.counts.calls == 34 - len(UNSURE)
    assert {(body["temperature"], body["top_p"]) for body in model.bodies} == {(0.0, 0.99)}
    kept = [{**line, "withdrawn": None, "changed_at": None} for line in lines(folder)]
    assert kept == [{**line, "withdrawn": None, "changed_at": None} for line in before]
    counted = labelled_sessions(folder)
    assert {one.label.situation for one in counted.sessions} == set(situation_texts()) - gone
    after = (folder / "labels.jsonl").read_bytes()
    assert run(folder, model=model).exit_code == 0  # what stands is on its cassette, what is withdrawn stays so
    assert (model.counts.calls, (folder / "labels.jsonl").read_bytes()) == (34 - len(UNSURE), after)


def test_where_people_label_a_session_only_their_labels_count_and_tell_the_precision(
    model: LlmServer, folder: Path
) -> None:
    people(folder, "trace-leak")  # accepted, though the model finds a mismatch
    people(folder, "trusted-wrong-fact")  # accepted, and the model agrees
    people(folder, "bad-parse-silent", situation="correct", good=True)  # the model is wrong here
    people(folder, "partial-answer", situation="", satisfied=None)  # bad is all that they say
    people(folder, "null-response", name="bob", situation="", satisfied=True)
    people(folder, "null-response", name="ada")  # contested: it counts nowhere
    with (folder / "labels.jsonl").open("a") as file:
        file.write('{"kind": "annotation", "annotator": "generator", "trace_id": [1]}\n')  # of no session
    result = run(folder, model=model)
    assert result.exit_code == 0, result.exception
    assert result.stderr.endswith("; precision 0.67: people accept 2 of 3 that fit\n")
    gone = (UNFIT | UNSURE | {"bad-parse-silent"}) - {"trace-leak", "trusted-wrong-fact"}
    assert withdrawn(folder, "session") == withdrawn(folder, "annotation") == gone
    assert "bad-parse-silent: people say otherwise\n" in result.stdout
    counted = {one.label.situation: one.label for one in labelled_sessions(folder).sessions}
    assert counted["trace-leak"].by_people
    assert not counted["security-overkill"].by_people
    assert labelled_sessions(folder).left_out == {"sessions-contested": 1}


def test_the_state_and_the_whole_session_are_shown_as_data(model: LlmServer, folder: Path) -> None:
    people(folder, "wrong-action-silent")
    assert run(folder, model=model).exit_code == 0
    prompts = {situation_of(call): call.prompt for call in (Call(0, body, "") for body in model.bodies)}
    told = prompts["wrong-action-silent"]
    assert '\n after: {"account": {"name": "Joris Peeters", "plan": "plus", "next_plan": "family"' in told
    assert "=== state" not in prompts["trace-leak"]
    assert "\n  GET /v2/alarms HTTP/1.1 -> 200 OK\n" in prompts["trace-leak"]
    assert not any(name in text for text in prompts.values() for name in all_situations() if "-" in name)


def interrupted(call: Call) -> Play:
    if call.number == 0:
        os.kill(os.getpid(), signal.SIGINT)
    return Play(stall=True)


@pytest.mark.parametrize(
    ("script", "told"),
    [
        (lambda call: Play(status=500) if call.number > 3 else judged(call), "openai/scripted answered 500"),
        (lambda call: Play(status=400) if call.number > 3 else judged(call), "session "),
        (interrupted, "stopped"),
    ],
)
def test_what_stops_it_changes_no_label_and_the_same_command_goes_on(
    model: LlmServer, folder: Path, script: Callable[[Call], Play], told: str
) -> None:
    before = (folder / "labels.jsonl").read_bytes()
    model.script = script
    stopped = run(folder, model=model)
    (line,) = [line for line in stopped.stderr.splitlines() if line.startswith("tracejury: ")]
    assert (stopped.exit_code, line.endswith("; the same command goes on")) == (130 if told == "stopped" else 1, True)
    assert line.startswith(f"tracejury: {told}")
    assert (folder / "labels.jsonl").read_bytes() == before
    model.script, known = judged, len((folder / "filter.cassette").read_text().splitlines()) - 1
    calls = model.counts.calls
    assert run(folder, model=model).exit_code == 0
    assert model.counts.calls - calls == 34 - len(UNSURE) - known


def test_an_answer_of_no_use_vouches_for_nothing(model: LlmServer, folder: Path) -> None:
    model.script = lambda call: Play(text="Fits!") if situation_of(call) == "correct" else judged(call)
    result = run(folder, model=model)
    assert result.exit_code == 0
    assert "correct" in withdrawn(folder, "session")
    assert "correct: no usable answer: " in result.stdout


def test_folders_that_cannot_be_filtered_are_one_line(model: LlmServer, folder: Path, tmp_path: Path) -> None:
    curated = tmp_path / "curated"
    CliRunner().invoke(root, ["situations", "generate", "--examples", "--out", str(curated)])
    (tmp_path / "none").mkdir()
    broken = folder / "labels.jsonl"
    broken.write_text(broken.read_text() + "{\n")
    for place, told in (
        (curated, "has no session of the generator"), (tmp_path / "none", "labels.jsonl"), (folder, "labels.jsonl:"),
    ):  # fmt: skip
        result = run(place, model=model)
        assert (result.exit_code != 0, len(result.stderr.splitlines())) == (True, 1), result.stderr
        assert told in result.stderr
    assert model.counts.calls == 0


VALUES = st.booleans() | st.text() | st.integers() | st.none()
FITS = st.dictionaries(st.sampled_from(["reason", "fits", "x"]), VALUES)


@settings(max_examples=sized(100, 2000), deadline=None)
@given(st.dictionaries(st.sampled_from([*PARTS, "other"]), FITS | VALUES) | st.text())
def test_hostile_answers_are_refused_or_whole(said: Any) -> None:
    try:
        read = SessionFit.read(said if isinstance(said, str) else json.dumps(said))
    except AnswerError:
        return
    assert {*said} == {*PARTS}
    assert bool(read.mismatch) == any(said[part]["fits"] is False for part in PARTS)
    assert "\n" not in read.mismatch
