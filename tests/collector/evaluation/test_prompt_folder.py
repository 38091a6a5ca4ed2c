"""Evaluations whose model is a folder: prompts are written there, and replies read from there."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from trail_folder import error, write

from tracejury.collector.cli.root import root
from tracejury.collector.judging.model.prompt_folder import PromptFolder
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.llm.scripted import answer
from tracejury.schemas.errors import RetryableError

A, B = "a" * 32, "b" * 32


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "x", [A, B], {A: [error(3)], B: []})


def evaluate(folder: Path, tmp_path: Path, *more: str) -> Result:
    words = ["evaluate", "trail", str(folder), "--judges", "production", "--no-hints", "--format", "json"]
    words += ["--cassette", str(tmp_path / "c.jsonl"), *more]
    return CliRunner().invoke(root, words, env={"COLUMNS": "400"})


def ask(folder: Path, tmp_path: Path) -> Result:
    return evaluate(folder, tmp_path, "--model", "reader", "--cassette-mode", "ask", "--prompts", str(tmp_path / "p"))


def unanswered(prompts: Path) -> list[Path]:
    return sorted(path for path in prompts.glob("*.md") if not path.with_suffix(".json").exists())


def fill(prompt: Path) -> None:
    """Write a well-formed answer, by nothing but what the file says."""
    schema: dict[str, Any] = json.loads(prompt.read_text().rpartition("# JSON schema of the answer\n")[2])
    prompt.with_suffix(".json").write_text(answer(Prompt((), schema=schema)))


def test_prompts_are_answered_by_hand_in_rounds(folder: Path, tmp_path: Path) -> None:
    """Each round stops with the number left; a repair is a prompt of the next; the cassette alone then replays it."""
    done = ask(folder, tmp_path)
    first = unanswered(tmp_path / "p")
    assert len(first) == 4
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("tracejury: 4 prompts wait for their replies in")
    text = first[0].read_text()
    assert "# message 1 of" in text
    assert f"{first[0].stem}.json" in text

    for prompt in (first[0], *first[2:]):
        fill(prompt)
    first[1].with_suffix(".json").write_text("I cannot say.")
    done = ask(folder, tmp_path)
    assert "1 prompt waits for its reply" in done.stderr.splitlines()[-1]
    (repair,) = unanswered(tmp_path / "p")
    assert "I cannot say." in repair.read_text()

    fill(repair)
    done = ask(folder, tmp_path)
    assert done.exit_code == 0, done.stderr
    replayed = evaluate(folder, tmp_path, "--cassette-mode", "replay")
    assert json.loads(replayed.stdout)["answered"] == json.loads(done.stdout)["answered"]
    assert json.loads(replayed.stdout)["asked"]["model"] == "reader"


@pytest.mark.parametrize("lacking", ["--model", "--prompts"])
def test_what_it_needs_is_named(folder: Path, tmp_path: Path, lacking: str) -> None:
    """One line."""
    given = {"--model": "reader", "--prompts": str(tmp_path / "p")}
    more = [word for name, value in given.items() if name != lacking for word in (name, value)]
    done = evaluate(folder, tmp_path, "--cassette-mode", "ask", *more)
    assert done.exit_code == 2
    assert "--cassette-mode ask needs --prompts DIR, --cassette FILE and --model" in done.stderr


def test_a_reply_that_is_begun_is_not_taken(tmp_path: Path) -> None:
    """An empty file is somebody's who has not written yet."""
    client = PromptFolder(tmp_path, "reader", len)
    prompt = Prompt((PromptMessage("user", "\ud800 <b>"),))
    for _ in range(2):
        with pytest.raises(RetryableError):
            asyncio.run(client.complete(prompt))
        (written,) = tmp_path.glob("*.md")
        written.with_suffix(".json").write_text("")
    written.with_suffix(".json").write_text("\ufeffFine.")
    reply = asyncio.run(client.complete(prompt))
    assert (reply.text, reply.input_tokens, reply.output_tokens) == ("Fine.", len("\ud800 <b>"), len("Fine."))


def test_every_repetition_has_one_reply_also_of_an_earlier_version(tmp_path: Path) -> None:
    """Whose name is another key."""
    client = PromptFolder(tmp_path, "canned", len)
    (tmp_path / "69523aa801e27cbc05b0345c06f80ec1.json").write_text("Fine.")
    asked = Prompt((PromptMessage("system", "rules"), PromptMessage("user", "one")))
    assert {asyncio.run(client.complete(replace(asked, repeat=run))).text for run in (0, 1)} == {"Fine."}
