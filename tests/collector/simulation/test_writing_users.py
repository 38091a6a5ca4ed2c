"""`tracejury talk draft` and `talk rewrite` against a server that plays a model."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner, Result
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from processes import COMMAND
from user_scripts import CARD, checks, sound, user_of

from tracejury.collector.cli.root import root
from tracejury.judges.packs.cards.task_cards import load_cards
from tracejury.judges.packs.cards.user_turns import Behaviour


def plays(change: Callable[[Call], str | None] = lambda _: None) -> Callable[[Call], Play]:
    return lambda call: Play(text=change(call) or sound(call.schema, call.prompt))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with llm_server(plays(), keep=True) as server:
        yield server


def run(model: LlmServer, *args: str | Path) -> Result:
    by = ["--model", "openai/scripted", "--api-base", model.base]
    return CliRunner().invoke(root, ["talk", *map(str, args), *by], env={"COLUMNS": "400"})


def written(folder: Path, *cards: Any, name: str = "cards.json") -> Path:
    path = folder / name
    path.write_text(json.dumps(cards))
    return path


def test_draft_then_rewrite_makes_cards_with_seven_users(model: LlmServer, tmp_path: Path) -> None:
    cards = written(tmp_path, {**CARD, "id": 7}, {**CARD, "id": "b"})
    before = cards.read_bytes()
    drafted, whole = tmp_path / "drafted.yaml", tmp_path / "whole.yml"
    result = run(model, "draft", cards, "--turns", "2", "--out", drafted)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, f"2 of 2 tasks in {drafted}")
    result = run(model, "rewrite", drafted, "--out", whole, "--format", "json")
    assert result.exit_code == 0
    assert [
        (one["task"], one["complete"], len(one["users"])) for one in sorted(json.loads(result.stdout), key=str)
    ] == [("7", True, 7), ("b", True, 7)]
    made = load_cards([str(whole)])
    assert {len(turns) for card in made.values() for turns in card.user_turns.values()} == {2}
    assert all({*card.user_turns} == {*Behaviour} for card in made.values())
    assert cards.read_bytes() == before
    carried = {**CARD, "id": "", "carries": [["look"], ["pay"]], "user_turns": ""}
    assert {**yaml.safe_load(whole.read_text())[0], "id": "", "user_turns": ""} == carried
    for name, card in load_cards([str(cards)]).items():
        assert made[name].model_copy(update={"user_turns": {}, "carries": ()}) == card


def test_turns_that_a_card_has_stay_and_cost_no_call(model: LlmServer, tmp_path: Path) -> None:
    turns = {one: ["My order A-1042, please."] for one in Behaviour}
    cards, out = written(tmp_path, {**CARD, "user_turns": turns}), tmp_path / "out.yaml"
    assert run(model, "draft", cards, "--out", out).exit_code == 0
    assert run(model, "rewrite", out, "--out", tmp_path / "two.yaml").exit_code == 0
    assert model.counts.calls == 0
    assert load_cards([str(out)]) == load_cards([str(tmp_path / "two.yaml")]) == load_cards([str(cards)])


@pytest.mark.parametrize("partial", [False, True])
def test_a_user_that_fails_takes_its_task_along_unless_partial(
    model: LlmServer, tmp_path: Path, *, partial: bool
) -> None:
    def change(call: Call) -> str | None:
        hopeless = '"order": 9' in call.prompt and user_of(call.prompt) is Behaviour.GOAL_SWITCHING
        return checks(intent="turn 1 \x1b[31mwanders") if hopeless and "intent" in call.schema["properties"] else None

    model.script = plays(change)
    ideal = {"user_turns": ["My order A-1042, please."]}
    oracle = {"steps": [{"id": "s", "tool": "refund", "arguments": {"order": 9}}]}
    cards = written(tmp_path, {**CARD, **ideal}, {**CARD, **ideal, "id": "b", "oracle": oracle})
    out = tmp_path / "out.yaml"
    result = run(model, "rewrite", cards, "--out", out, *["--partial"] * partial)
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (0, f"{1 + partial} of 2 tasks in {out}")
    row = next(line for line in result.stdout.splitlines() if "left out" in line)
    assert row.split()[:3] == ["b", "goal-switching", "left"]
    assert row.endswith("INTENT: turn 1 [31mwanders")
    made = load_cards([str(out)])
    assert {*made} == {"refund-7", "b"} if partial else {"refund-7"}
    assert not partial or {*Behaviour} - {*made["b"].user_turns} == {Behaviour.GOAL_SWITCHING}


def test_what_cannot_be_written_is_told_and_leaves_no_file(model: LlmServer, tmp_path: Path) -> None:
    cards = written(tmp_path, {"id": "a"}, {**CARD, "id": "b"}, {"id": "c", "oracle": {"type": "refuse_or_scope"}})
    out = tmp_path / "out.yaml"
    result = run(model, "rewrite", cards, "--out", out)
    assert (result.exit_code, result.stderr) == (1, "tracejury: no task is left: nothing written\n")
    assert "it has no oracle" in result.stdout
    assert "it has no turns of an ideal user" in result.stdout
    result = run(model, "draft", cards, "--out", out)
    assert "it has neither an instruction nor steps" in result.stdout
    assert [*load_cards([str(out)])] == ["b"]


def test_no_file_is_overwritten_and_no_call_is_made_for_it(model: LlmServer, tmp_path: Path) -> None:
    cards = written(tmp_path, CARD, name="cards.yaml")
    before = cards.read_bytes()
    for out, told in (
        (cards, "is there already"),
        (tmp_path / "x.json", "must end in .yaml"),
        (tmp_path / "no/x.yml", ""),
    ):
        result = run(model, "draft", cards, "--out", out)
        assert result.exit_code == 2
        assert told in result.stderr
        assert len(result.stderr.splitlines()) == 1
    assert cards.read_bytes() == before
    assert model.counts.calls == 0


def test_a_model_that_is_away_and_one_that_is_not_named(model: LlmServer, tmp_path: Path) -> None:
    cards, out = written(tmp_path, CARD), tmp_path / "out.yaml"
    model.script = lambda _: Play(status=400)
    result = run(model, "draft", cards, "--out", out)
    assert result.exit_code == 1
    assert "refund-7" in result.stdout
    unnamed = CliRunner().invoke(root, ["talk", "draft", str(cards), "--out", str(out)])
    assert (unnamed.exit_code, "no model is named: give --model" in unnamed.stderr) == (2, True)
    assert not out.exists()


def test_a_cap_on_spend_leaves_tasks_out(model: LlmServer, tmp_path: Path) -> None:
    cards, out, config = written(tmp_path, CARD), tmp_path / "out.yaml", tmp_path / "config.yaml"
    config.write_text("judges: {budget: {tokens_per_day: 10}}")
    result = run(model, "draft", cards, "--out", out, "--config", config)
    assert result.exit_code == 1
    assert model.counts.calls == 0
    assert "tokens_per_day" in result.stdout or "budget" in result.stdout


def test_a_cassette_writes_the_same_turns_without_a_model(model: LlmServer, tmp_path: Path) -> None:
    cards, cassette = written(tmp_path, CARD), tmp_path / "c.jsonl"
    assert run(model, "draft", cards, "--out", tmp_path / "one.yaml", "--cassette", cassette).exit_code == 0
    again = ["talk", "draft", str(cards), "--out", str(tmp_path / "two.yaml")]
    result = CliRunner().invoke(root, [*again, "--cassette", str(cassette), "--cassette-mode", "replay"])
    assert (result.exit_code, model.counts.calls) == (0, 2)
    assert (tmp_path / "one.yaml").read_text() == (tmp_path / "two.yaml").read_text()


def test_turns_are_written_by_people_in_rounds(tmp_path: Path) -> None:
    """Each round ends with the prompts that wait, and leaves no file of cards."""
    cards, out, prompts = written(tmp_path, CARD), tmp_path / "out.yaml", tmp_path / "prompts"
    asked = ["talk", "draft", cards, "--out", out, "--model", "people", "--cassette", tmp_path / "c.jsonl"]
    for _ in ("the turns", "their checks"):
        result = CliRunner().invoke(root, [*map(str, asked), "--cassette-mode", "ask", "--prompts", str(prompts)])
        assert (result.exit_code, out.exists()) == (1, False)
        assert "1 prompt waits for its reply" in result.stderr
        (waiting,) = [path for path in prompts.glob("*.md") if not path.with_suffix(".json").exists()]
        text, _, schema = waiting.read_text().rpartition("# JSON schema of the answer\n")
        waiting.with_suffix(".json").write_text(sound(json.loads(schema), text))
    result = CliRunner().invoke(root, [*map(str, asked), "--cassette-mode", "ask", "--prompts", str(prompts)])
    assert (result.exit_code, [*load_cards([str(out)])]) == (0, ["refund-7"])


@pytest.mark.parametrize(("options", "usd"), [([], 0.5), (["--budget", "0"], 0.0)])
def test_options_go_before_the_file_of_the_configuration(
    model: LlmServer, tmp_path: Path, options: list[str], usd: float
) -> None:
    """Options that are not given, and have a default, do not."""
    config = tmp_path / "config.yaml"
    config.write_text("judges: {temperature: 0.5, input_usd_per_million: 1, budget: {usd_per_day: 0.5}}")
    result = run(model, "draft", written(tmp_path, CARD), "--out", tmp_path / "out.yaml", "--config", config, *options)
    assert (result.exit_code, "usd_per_day" in result.stdout) == (0 if usd else 1, not usd)
    assert {body["temperature"] for body in model.bodies} == ({0.5} if usd else set())


def test_ctrl_c_keeps_the_cards_that_are_finished(model: LlmServer, tmp_path: Path) -> None:
    model.script = lambda call: (
        Play(stall=True) if "slowly" in call.prompt else Play(text=sound(call.schema, call.prompt))
    )
    cards, out = written(tmp_path, CARD, {**CARD, "id": "b", "instruction": "slowly"}), tmp_path / "out.yaml"
    command = ["talk", "draft", str(cards), "--out", str(out), "--model", "openai/x", "--api-base", model.base]
    with subprocess.Popen(  # noqa: S603  our own command
        [*COMMAND, *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        model.wait_until(lambda _: out.exists() and out.stat().st_size > 0)
        process.send_signal(signal.SIGINT)
        told, problem = process.communicate(timeout=60)
    assert (process.returncode, problem) == (1, f"tracejury: stopped: 1 of 2 tasks in {out}\n")
    assert "refund-7" in told
    assert [*load_cards([str(out)])] == ["refund-7"]
