"""`tracejury rubrics learn` against a server that plays a model; what is learned does not depend on chance."""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from labelled_folders import BAD, GOOD, Told, labelled, labelled_folder, learner, learns, reasons, session_model
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from pack_bench import SERVICE
from processes import COMMAND, PATIENCE
from prompt_attacks import ATTACKS, MARK

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.learn_rubrics import learn_rubrics
from tracejury.collector.evaluation.rubrics_file import rubric_set_text
from tracejury.judges.llm.client import Prompt
from tracejury.judges.rubrics.learning.training import LabelledSession, Learning
from tracejury.judges.rubrics.rubric_set import RubricSet, read_rubric_set
from tracejury.schemas.errors import PermanentError, PromptTooLongError

SESSIONS = [*[GOOD] * 6, *[BAD] * 6]


def play(call: Call) -> Play:
    return Play(text=learner(call.schema, call.prompt))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with llm_server(play, keep=True) as server:
        yield server


def run(folder: Path, out: str, *args: str, model: LlmServer | None = None) -> Result:
    by = ["--model", "openai/scripted", "--api-base", model.base] if model else []
    words = ["rubrics", "learn", str(folder), "--out", str(folder / out), *args, *by]
    return CliRunner().invoke(root, words, env={"COLUMNS": "300"})


def learned(
    sessions: Sequence[LabelledSession], how: Learning, script: Any = learns, budget: int = 30_000
) -> RubricSet:
    return asyncio.run(learn_rubrics(sessions, how, session_model(script, budget)[0]))


def test_a_set_is_learned_and_learned_again_from_its_cassette(model: LlmServer, tmp_path: Path) -> None:
    """Byte for byte, by the cassette alone; the file is read as a set that nobody has accepted."""
    folder = labelled_folder(tmp_path, SESSIONS)
    cassette = ("--cassette", str(tmp_path / "c.jsonl"))
    first = run(folder, "set.yaml", *cassette, model=model)
    assert first.exit_code == 0, first.stderr
    calls = model.counts.calls
    # Areas, a call a session, two areas of two labels, two that merge, two that weigh.
    assert calls == 1 + 12 + 4 + 2 + 2
    sampling = {(body["temperature"], body["top_p"]) for body in model.bodies}
    assert sampling == {(0.7, 0.99), (0.0, 0.99)}
    again = run(folder, "again.yaml", *cassette, "--cassette-mode", "replay")
    assert (again.exit_code, model.counts.calls) == (0, calls)
    assert (tmp_path / "again.yaml").read_bytes() == (tmp_path / "set.yaml").read_bytes()
    made = read_rubric_set(tmp_path / "set.yaml")
    assert (made.method, made.model, made.accepted_by) == ("scope", "openai/scripted", "")
    assert made.learned_from == tuple((SERVICE, f"chat-{n:02}") for n in range(12))
    assert made.counts == {"reasons": 24, "sessions-bad": 6, "sessions-good": 6}
    assert [area.name for area in made.areas] == ["honesty", "tool use"]
    for rubric in made.rubrics:
        assert rubric.area in {"honesty", "tool use"}
        assert {key[1] >= "chat-06" for key in rubric.sessions} == {rubric.label == "bad"}
    told = first.stderr.splitlines()[-1]
    assert "4 rubrics in" in told
    assert "accepted_by" in told
    assert all(rubric.text in first.stdout for rubric in made.rubrics)


def test_the_baseline_learns_satisfaction_and_a_rubric_of_one_session_is_marked(
    model: LlmServer, tmp_path: Path
) -> None:
    """Three reasons a session, no areas, no weights; sessions without the label are left out and counted."""
    satisfied = [Told(GOOD.answer, good=n % 2 == 0, satisfied=n < 5) for n in range(10)]
    folder = labelled_folder(tmp_path, [*satisfied, Told(GOOD.answer, good=True, satisfied=None)])

    def script(call: Call) -> Play:
        if "answers" not in call.schema["properties"]:
            return play(call)
        other = "refund 3 open" in call.prompt
        said = json.loads(reasons(call.prompt, reason=f"Refund {'other' if other else 'same'}."))
        quotes = ["refund was paid on", "Monday, as the ledger", "paid on Monday", "the ledger shows"]
        return Play(text=json.dumps(said | {"also": [said["also"][0] | {"quote": quote} for quote in quotes]}))

    model.script = script
    assert run(folder, "set.yaml", "--method", "spur", model=model).exit_code == 0
    made = read_rubric_set(tmp_path / "set.yaml")
    assert made.counts == {
        "reasons": 30, "reasons-surplus": 10, "sessions-dissatisfied": 5, "sessions-satisfied": 5,
        "sessions-unlabelled": 1,
    }  # fmt: skip
    assert made.areas == ()
    assert {rubric.weight for rubric in made.rubrics} == {5}
    assert sorted((rubric.label, len(rubric.sessions)) for rubric in made.rubrics) == [
        ("bad", 5),
        ("good", 1),
        ("good", 4),
    ]
    text = (tmp_path / "set.yaml").read_text()
    (marked,) = [block for block in text.split("- name: ")[:-1] if block.endswith("# rests on a single session\n")]
    assert text[text.index(marked) + len(marked) :].startswith("- name: refund-other")
    asked = [str(body["messages"]) for body in model.bodies if "session-reasons" in str(body["messages"])]
    assert len(asked) == 10
    assert all("the 3 weightiest reasons" in one and "satisfied user" in one for one in asked)
    assert run(folder, "good.yaml", "--method", "spur", "--learn-from", "good", model=model).exit_code == 0
    assert read_rubric_set(tmp_path / "good.yaml").counts["sessions-good"] == 6


def test_a_quote_that_stands_nowhere_drops_its_reason(model: LlmServer, tmp_path: Path) -> None:
    """And is counted; a session whose answer is of no use is, too."""
    folder = labelled_folder(tmp_path, SESSIONS)

    def script(call: Call) -> Play:
        if "answers" in call.schema["properties"]:
            if "refund 0 open" in call.prompt:
                return Play(text=reasons(call.prompt, "Nobody ever said this in any session."))
            if "refund 7 open" in call.prompt:
                return Play(text="No.")
        return play(call)

    model.script = script
    result = run(folder, "set.yaml", "--no-areas", model=model)
    assert result.exit_code == 0, result.stderr
    counts = read_rubric_set(tmp_path / "set.yaml").counts
    assert counts == {
        "reasons": 10, "reasons-unquoted": 1, "sessions-bad": 6, "sessions-good": 6, "sessions-unanswered": 1
    }  # fmt: skip
    assert "reasons unquoted 1" in result.stderr


def test_what_cannot_be_learned_is_one_line_before_any_call(model: LlmServer, tmp_path: Path) -> None:
    """Too few sessions, of a label or in all; no traces, no labels; a file that is there, or is no YAML."""
    for number, (sessions, args, told) in enumerate(
        [
            (SESSIONS[2:11], (), "9 labelled sessions: at least 10 are needed"),
            ([*SESSIONS, *[GOOD] * 4][:8] + [GOOD] * 4, (), "2 sessions to learn from, bad on the whole: at least 3"),
            (SESSIONS, ("--learn-from", "satisfied"), "0 sessions to learn from, one with a dissatisfied user"),
            (
                [Told(GOOD.answer, good=True, satisfied=None)] * 12,
                ("--method", "spur"),
                "0 labelled sessions with a label",
            ),
            (SESSIONS, ("--labels", "no.jsonl"), "no.jsonl"),
        ]
    ):
        place = tmp_path / str(number)
        place.mkdir()
        result = run(labelled_folder(place, sessions), "set.yaml", *args, model=model)
        assert (result.exit_code != 0, told in result.stderr, result.stderr.count("\n")) == (True, True, 1), (
            result.stderr
        )
        assert not (place / "set.yaml").exists()
    folder = tmp_path / "4"
    (folder / "there.yaml").write_text("mine")
    for out, told in (
        ("there.yaml", "is there already"), ("set.json", "must end in .yaml"), ("no/set.yaml", "there is no folder"),
    ):  # fmt: skip
        result = run(folder, out, model=model)
        assert (result.exit_code, told in result.stderr, result.stderr.count("\n")) == (2, True, 1)
    assert (folder / "there.yaml").read_text() == "mine"
    (tmp_path / "none").mkdir()
    assert "no traces in" in run(tmp_path / "none", "set.yaml", model=model).stderr
    unnamed = run(folder, "set.yaml")
    assert (unnamed.exit_code, "no model is named: give --model" in unnamed.stderr) == (2, True)
    assert model.counts.calls == 0


@pytest.mark.parametrize("why", ["budget", "away"])
def test_what_was_stopped_goes_on_where_it_was(model: LlmServer, tmp_path: Path, why: str) -> None:
    """One line that says so; no file; then only what is missing is asked."""
    folder, args = labelled_folder(tmp_path, SESSIONS), ["--cassette", str(tmp_path / "c.jsonl"), "--concurrency", "1"]
    more = ["--retries", "0"]
    if why == "budget":
        (tmp_path / "c.yaml").write_text("judges: {budget: {tokens_per_day: 15000}}")
        more += ["--config", str(tmp_path / "c.yaml")]
    else:
        model.script = lambda call: play(call) if call.number < 4 else Play(status=503)
    stopped = run(folder, "set.yaml", *args, *more, model=model)
    lines = [line for line in stopped.stderr.splitlines() if " of 12" not in line]
    assert (stopped.exit_code, len(lines)) == (1, 1), stopped.stderr
    assert "goes on from here" in lines[0]
    assert not (tmp_path / "set.yaml").exists()
    kept = sum('"key"' in line for line in (tmp_path / "c.jsonl").read_text().splitlines())
    assert 0 < kept < 21
    model.script, before = play, model.counts.calls
    assert run(folder, "set.yaml", *args, model=model).exit_code == 0
    assert model.counts.calls - before == 21 - kept


def test_prompts_are_answered_in_a_folder_round_by_round(tmp_path: Path) -> None:
    """Areas, sessions, areas' rubrics, merging, weights."""
    folder, prompts, waited = labelled_folder(tmp_path, SESSIONS), tmp_path / "p", []
    args = [
        "--model",
        "me",
        "--cassette",
        str(tmp_path / "c.jsonl"),
        "--cassette-mode",
        "ask",
        "--prompts",
        str(prompts),
    ]
    while (result := run(folder, "set.yaml", *args)).exit_code:
        assert "then run this again" in result.stderr.splitlines()[-1]
        left = [path for path in prompts.glob("*.md") if not path.with_suffix(".json").exists()]
        waited.append(len(left))
        for path in left:
            text = path.read_text()
            asked = next((key for key in ("areas", "rubrics", "weights") if f"`{key}`: a list" in text), "answers")
            path.with_suffix(".json").write_text(learner({"properties": {asked: {}}}, text))
    assert waited == [1, 12, 4, 2, 2]


def test_ctrl_c_is_one_line(model: LlmServer, tmp_path: Path) -> None:
    """While the model is silent."""
    folder = labelled_folder(tmp_path, SESSIONS)
    model.script = lambda call: Play(stall=True) if call.number > 2 else play(call)
    words = ["rubrics", "learn", ".", "--out", "set.yaml", "--model", "openai/scripted", "--api-base", model.base]
    with subprocess.Popen([*COMMAND, *words], cwd=folder, stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            model.wait_until(lambda counts: counts.calls > 3, PATIENCE)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert told.splitlines()[-1].startswith("tracejury: stopped; the same command begins anew; with a --cassette")
    assert not (folder / "set.yaml").exists()


def test_neither_the_order_of_sessions_nor_other_sessions_matter() -> None:
    """The same set from any order; no prompt shows a session that is not learned from."""
    every = [labelled(number, told) for number, told in enumerate([*SESSIONS, GOOD, BAD])]
    how = Learning()
    assert learned(every, how) == learned(every[::-1], how)
    model, client = session_model(learns)
    asyncio.run(learn_rubrics(every[:12], how, model))
    assert not any("refund 12 open" in m.text or "refund 13 open" in m.text for p in client.prompts for m in p.messages)
    first = client.prompts[0]
    assert first.messages[1].text.count("=== session ") == 10
    assert "good on the whole" not in first.messages[1].text


def ours(prompt: Prompt) -> list[str]:
    """Lines in the first column, without the digests that name fences."""
    lines = "\n".join(message.text for message in prompt.messages).split("\n")
    return [" ".join(line.split()[:-2]) if line.startswith("===") else line for line in lines if line[:1] != " "]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_a_hostile_session_changes_no_line_of_ours(attack: str) -> None:
    """Nor any other session's prompt; it stands between its fence where areas are looked for, too."""

    def prompts(text: str) -> list[Prompt]:
        sessions = [labelled(n, told) for n, told in enumerate(SESSIONS)]
        sessions[3] = labelled(3, Told(f"{GOOD.answer} {text}", good=True, asked=text))
        model, client = session_model(learns)
        asyncio.run(learn_rubrics(sessions, Learning(), model))
        return client.prompts

    fair, hostile = prompts(MARK), prompts(attack)
    assert [ours(prompt) for prompt in hostile] == [ours(prompt) for prompt in fair]
    changed = [h for h, f in zip(hostile, fair, strict=True) if h.messages != f.messages]
    assert len(changed) == 2  # the areas' and its own


def test_a_session_of_a_megabyte_is_read_in_chapters() -> None:
    """Its own prompts are more; the areas' is halved until the model reads it."""
    long = Told(
        f"{GOOD.answer} {'rubric: always 10. ' * 60_000}", good=True, asked="Is my refund on its way? " * 40_000
    )
    sessions = [labelled(n, long if n in {1, 3, 5} else told) for n, told in enumerate(SESSIONS)]
    model, client = session_model(learns, budget=2_000)
    made = asyncio.run(learn_rubrics(sessions, Learning(), model))
    assert made.counts == {"reasons": 24, "sessions-bad": 6, "sessions-good": 6}
    parts = [message.text for prompt in client.prompts for message in prompt.messages if "This is part" in message.text]
    assert len(parts) >= 6
    shown: list[int] = []

    def script(prompt: Prompt) -> Any:
        if "areas" in prompt.schema["properties"]:
            shown.append(prompt.characters)
            return PromptTooLongError("too long") if prompt.characters > 20_000 else learns(prompt)
        return learns(prompt)

    assert learned(sessions, Learning(), script).areas == made.areas
    assert len(shown) > 1
    assert shown == sorted(shown, reverse=True)


def test_a_model_without_areas_or_reasons_is_one_line() -> None:
    sessions = [labelled(n, told) for n, told in enumerate(SESSIONS)]

    def script(prompt: Prompt) -> str:
        return json.dumps({"areas": []}) if "areas" in prompt.schema["properties"] else "No."

    with pytest.raises(PermanentError, match="the model named no areas"):
        learned(sessions, Learning(), script)
    with pytest.raises(PermanentError, match=r"0 sessions to learn from, good on the whole.*of no use for the others"):
        learned(sessions, Learning(areas=False), script)


def test_a_file_is_read_as_the_set_that_was_written(tmp_path: Path) -> None:
    """With any ids of sessions; accepting changes no version, another edit does."""
    sessions = [labelled(n, told) for n, told in enumerate(SESSIONS)]
    odd = ["no", "1", "a: b", "- x", "# y", "\x85\u2028z", "'", '"', "[a, b]", "{", "é\t", "~"]
    keys = zip(odd, odd[::-1], strict=True)
    renamed = [LabelledSession(key, one.recorded, one.label) for key, one in zip(keys, sessions, strict=True)]
    made, path = learned(renamed, Learning()), tmp_path / "set.yaml"
    path.write_text(rubric_set_text(made))
    assert read_rubric_set(path) == made
    accepted = path.read_text().replace("accepted_by: ''", "accepted_by: ada")
    path.write_text(accepted)
    assert (read_rubric_set(path).accepted_by, read_rubric_set(path).digest) == ("ada", made.digest)
    path.write_text(accepted.replace("weight: 2", "weight: 3", 1))
    assert read_rubric_set(path).digest != made.digest
