"""`tracejury situations generate` against a server that plays a model."""

from __future__ import annotations

import json
import os
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from situation_scripts import SITUATIONS, TOOLS, session, sound

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.folder import load
from tracejury.judges.situations.session_prompts import situation_texts

ONE_TOOL = SITUATIONS - 2
"""Situations that need no second tool."""
SESSIONS = ONE_TOOL + SITUATIONS


def plays(change: Callable[[Call], str | None] = lambda _: None) -> Callable[[Call], Play]:
    return lambda call: Play(text=change(call) or sound(call.schema, call.prompt))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with llm_server(plays(), keep=True) as server:
        yield server


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    file = tmp_path / "tools.json"
    file.write_text(json.dumps(TOOLS))
    return file


def run(*args: str | Path, model: LlmServer | None = None) -> Result:
    by = ["--model", "openai/scripted", "--api-base", model.base, "--retries", "0"] if model else []
    return CliRunner().invoke(root, ["situations", "generate", *map(str, args), *by])


def told(result: Result) -> list[str]:
    """What a command says besides how far it is."""
    return [line for line in result.stderr.splitlines() if not line.startswith("sessions: ")]


def lines(out: Path, kind: str) -> list[dict[str, Any]]:
    said = map(json.loads, (out / "labels.jsonl").read_text().splitlines())
    return [line for line in said if line["kind"] == kind]


def contents(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.rglob("*.json*")}


def test_a_session_of_each_situation_and_group_from_four_texts_and_one_example(
    model: LlmServer, tools: Path, tmp_path: Path
) -> None:
    """Two kinds of wrong tools need a second tool; all are sampled; the same cassette gives the same bytes."""
    out, again = tmp_path / "out", tmp_path / "again"
    result = run("--out", out, "--tools", tools, model=model)
    assert (result.exit_code, told(result)) == (0, [f"{SESSIONS} sessions in {out}"])
    labels, errors = lines(out, "session"), lines(out, "annotation")
    assert Counter(label["service"] for label in labels) == {
        "kitchen-assistant": ONE_TOOL, "garden-assistant": SITUATIONS
    }  # fmt: skip
    assert {label["annotator"] for label in (*labels, *errors)} == {"generator"}
    assert (len(errors), sum(label["good"] for label in labels)) == (SESSIONS - 2, 2)
    spans = {(t.trace_id, span): t.spans[span].raw.name for t in load(out).received.traces() for span in t.spans}
    at = Counter(spans[error["trace_id"], error["span_id"]].split()[0] for error in errors)
    assert at == {"execute_tool": 2 * 4, "chat": SESSIONS - 2 - 8}  # by the tool: 17, 18, 22, 23
    assert {(body["temperature"], body["top_p"]) for body in model.bodies} == {(1.0, 0.99)}
    prompts = [Call(0, body, "").prompt for body in model.bodies]
    (correct, _) = [text for text in prompts if situation_texts()["correct"].whole in " ".join(text.split())]
    assert "=== example" not in correct
    assert sum("=== example" in text for text in prompts) == SESSIONS - 2
    assert sum('"verify_identity"' in text.split("=== example")[0] for text in prompts) == 4  # 7 and 11
    assert len(prompts) == SESSIONS + 2
    replayed = ("--cassette", out / "generate.cassette", "--cassette-mode", "replay")
    assert run("--out", again, "--tools", tools, *replayed).exit_code == 0
    assert contents(again) == contents(out)


def test_each_session_of_several_is_asked_for_by_itself(model: LlmServer, tools: Path, tmp_path: Path) -> None:
    """Of equal sessions one is left: the scripted model tells the two of a plan alike."""
    result = run("--out", tmp_path / "out", "--tools", tools, "--each", "2", "--temperature", "none", model=model)
    assert (result.exit_code, model.counts.calls) == (0, 2 * (SESSIONS + 2))
    assert not any({"temperature", "top_p"} & body.keys() for body in model.bodies)
    assert told(result) == [f"{SESSIONS} sessions in {tmp_path / 'out'}"]


def test_what_cannot_be_read_twice_is_left_out_and_told(model: LlmServer, tools: Path, tmp_path: Path) -> None:
    wrong = situation_texts()["info-overload"].whole

    def change(call: Call) -> str | None:
        asked = wrong in " ".join(call.prompt.split()) and "preheat" in call.prompt
        deciding = {"step": 9, "quote": "\x1b[31m", "why": "x"}
        return session(call.schema, call.prompt, deciding=deciding) if asked else None

    model.script = plays(change)
    result = run("--out", tmp_path / "out", "--tools", tools, model=model)
    assert result.exit_code == 0
    assert told(result) == [
        "left out: info-overload, kitchen: no usable answer: deciding.step: there are 6 steps",
        f"{SESSIONS - 1} sessions in {tmp_path / 'out'}",
    ]


def test_a_session_that_the_model_refuses_is_left_out_and_told(model: LlmServer, tools: Path, tmp_path: Path) -> None:
    """Nothing is written where it refuses all, such as without a key that holds."""
    refused = situation_texts()["trace-leak"].whole

    def script(call: Call) -> Play:
        asked = refused in " ".join(call.prompt.split())
        return Play(status=400) if asked else Play(text=sound(call.schema, call.prompt))

    out = tmp_path / "out"
    model.script = lambda _: Play(status=401)
    stopped = run("--out", out, "--tools", tools, model=model)
    (line,) = told(stopped)
    assert (stopped.exit_code, (out / "labels.jsonl").exists()) == (1, False)
    assert line.startswith("tracejury: no session is left, nothing is written: correct, kitchen: openai/scripted")
    model.script = script
    result = run("--out", out, "--tools", tools, model=model)
    assert (result.exit_code, [line.split(":")[1] for line in told(result)[:-1]]) == (
        0, [" trace-leak, kitchen", " trace-leak, garden"]
    )  # fmt: skip
    assert len(lines(out, "session")) == SESSIONS - 2


@pytest.mark.parametrize("cause", ["a cap", "an outage"])
def test_what_stops_it_is_one_line_and_the_same_command_asks_for_the_rest(
    model: LlmServer, tools: Path, tmp_path: Path, cause: str
) -> None:
    out, config = tmp_path / "out", tmp_path / "config.yaml"
    settings, command = "max_answer_tokens: 2000, concurrency: 1", ("--out", out, "--tools", tools, "--config", config)
    config.write_text(f"judges: {{{settings}, budget: {{tokens_per_day: 30000}}}}")
    if cause == "an outage":
        config.write_text(f"judges: {{{settings}}}")
        sound_once = plays()
        model.script = lambda call: sound_once(call) if call.number < 5 else Play(status=500)
    stopped = run(*command, model=model)
    (line,) = told(stopped)
    assert (stopped.exit_code, line.endswith("; the same command goes on")) == (1, True), line
    assert [path.name for path in out.iterdir()] == ["generate.cassette"]
    model.script, known = plays(), len((out / "generate.cassette").read_text().splitlines()) - 1
    assert known > 0
    before = model.counts.calls
    config.write_text(f"judges: {{{settings}}}")
    assert run(*command, model=model).exit_code == 0
    assert model.counts.calls - before == SESSIONS + 2 - known
    assert run(*command, model=model).exit_code == 2


def test_ctrl_c_leaves_what_was_written_for_the_next_time(model: LlmServer, tools: Path, tmp_path: Path) -> None:
    def script(call: Call) -> Play:
        if call.number == 4:
            os.kill(os.getpid(), signal.SIGINT)
        return Play(stall=True) if call.number > 3 else Play(text=sound(call.schema, call.prompt))

    model.script, out = script, tmp_path / "out"
    result = run("--out", out, "--tools", tools, model=model)
    assert (result.exit_code, told(result)) == (130, ["tracejury: stopped; the same command goes on"])
    assert len((out / "generate.cassette").read_text().splitlines()) > 1  # what it is of, and the names
    assert not (out / "labels.jsonl").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("[]", "a mapping"), ("groups: []", "groups"), ("groups: [{name: a, tools: [{name: 'x y'}]}]", "name"),
        ("{", "is not YAML"), ("groups: 7", "groups"), ("tools: {}", "tools"),
        ("groups: [{name: a, tools: [{name: b, description: c, parameters: {d: 2026-03-10}}]}]", "it is no JSON"),
        (json.dumps({"groups": [TOOLS["groups"][0]] * 2}), "two have the name 'kitchen'"),
    ],
)  # fmt: skip
def test_a_file_of_tools_in_another_form_is_one_line(tmp_path: Path, content: str, told: str) -> None:
    file = tmp_path / "tools.yaml"
    file.write_text(content)
    result = run("--out", tmp_path / "out", "--tools", file, "--model", "openai/x")
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert str(file) in result.stderr
    assert told in result.stderr or "object" in result.stderr
    assert not (tmp_path / "out").exists()
