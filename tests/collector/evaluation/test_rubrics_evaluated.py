"""`tracejury evaluate rubrics` against a server that plays a model; what each split learns from and is tested on."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from check_replies import entry, numbers
from click.testing import CliRunner, Result
from labelled_folders import BAD, GOOD, Told, labelled, labelled_folder, learner, session_model
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from pack_bench import SERVICE
from processes import COMMAND, PATIENCE
from scope_sets import set_file, set_of

from tracejury.collector.cli.root import root
from tracejury.collector.evaluation.rubrics_run import RubricsPlan, plan_rubrics, run_splits
from tracejury.judges.llm.client import Prompt
from tracejury.judges.rubrics.evaluation.splits import Split, splits

DISSATISFIED: Final = Told(BAD.answer, good=False, satisfied=False)
CONTENT: Final = Told(GOOD.answer, good=False)
"""A hard negative that shows nothing: only a judge that makes quotes up says that it is bad."""
ANGRY: Final = Told(GOOD.answer, good=True, satisfied=False)
SESSIONS: Final = [*[GOOD] * 5, *[DISSATISFIED] * 5, *[BAD] * 5, *[CONTENT] * 5, *[ANGRY] * 5]
LEARNED: Final = ("SCOPE", "SCOPE without areas", "SPUR", "SPUR from good")
SITUATIONS: Final = {
    id(GOOD): "correct", id(DISSATISFIED): "hallucination-with-access", id(BAD): "hallucinated-edit"
}  # fmt: skip
_NUMBER: Final = re.compile(r"refund (\d+) open")


def judged(prompt: str) -> str:
    """Good rubrics at 8 with a right answer; bad ones at 9 with a wrong one, or with a quote that nobody wrote."""
    wrong, at = "quite sure" in prompt, int(_NUMBER.findall(prompt)[-1])
    sureness = {"label": "E1.S3", "quote": "I am quite sure of it"}
    made_up = {"label": "E1.S3", "quote": "Nobody ever said this in any session."}
    answers = []
    for check, items in numbers(prompt).items():
        answer, proof = "0", {}
        if check == "scope-good" and not wrong:
            answer = "4"
        if check == "scope-bad" and (wrong or SESSIONS[at] is CONTENT):
            answer, proof = "9", sureness if wrong else made_up
        if check == "scope-situation":
            answer, proof = (SITUATIONS[id(SESSIONS[at])], sureness) if wrong else ("correct", {})
        answers += [entry(check, item, answer, **proof) for item in items]
    return json.dumps({"answers": answers, "also": [], "summary": None})


def answered(schema: Any, prompt: str) -> str:
    """What the model says, to learn and to judge."""
    return judged(prompt) if "# scope-" in prompt else learner(schema, prompt)


def play(call: Call) -> Play:
    return Play(text=answered(call.schema, call.prompt))


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    with llm_server(play) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sessions with situations, and an error planted in each bad one, at its last call."""
    made = labelled_folder(tmp_path_factory.mktemp("sessions"), SESSIONS)
    file = made / "labels.jsonl"
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    for number, (line, told) in enumerate(zip([*lines], SESSIONS, strict=True)):
        line["situation"] = SITUATIONS.get(id(told), "")
        if not told.good:
            at = {"trace_id": f"{number + 1:032x}", "span_id": "ab1".rjust(16, "0")}
            lines.append(
                {"kind": "annotation", "opinion": "missed", "annotator": "ada", "category": "x", "taxonomy": "scope"}
                | at
            )
    file.write_text("".join(f"{json.dumps(line)}\n" for line in reversed(lines)))
    return made


def run(folder: Path, *args: str, model: LlmServer | None = None) -> Result:
    by = ["--model", "openai/scripted", "--api-base", model.base] if model else []
    return CliRunner().invoke(root, ["evaluate", "rubrics", str(folder), *args, *by], env={"COLUMNS": "300"})


def test_a_cassette_gives_the_same_tables_and_figures_by_hand(model: LlmServer, folder: Path, tmp_path: Path) -> None:
    """Two calls a session and arm at most: switches, veto and gate ask nothing."""
    cassette = ("--cassette", str(tmp_path / "c.jsonl"))
    first = run(folder, *cassette, model=model)
    assert first.exit_code == 0, first.output
    stages = [line for line in first.stderr.splitlines() if " of " in line]
    assert stages == [f"splits tested: {n} of 5" for n in range(1, 6)]
    calls = model.counts.calls
    again = run(folder, *cassette, "--cassette-mode", "replay")
    assert (again.stdout, model.counts.calls) == (first.stdout, calls)
    report = json.loads(run(folder, *cassette, "--cassette-mode", "replay", "--format", "json").stdout)
    assert report["splits"] == {str(k): {"learned from": 10, "tested on": 15} for k in range(1, 6)}
    assert {part: row["labelled"] for part, row in report["sessions"].items()} == {
        "overall": 25, "easy": 10, "hard negatives": 10, "hard positives": 5, "gold": 25
    }  # fmt: skip
    means = {
        arm: [row[part]["mean"] for part in ("overall", "easy", "hard negatives", "hard positives")]
        for arm, row in report["accuracy"].items()
    }
    close = pytest.approx
    assert means["all bad"] == [close(0.6), 0.5, 1, 0]
    assert means["satisfied = good"] == [close(0.4), 1, 0, 0]
    for arm in LEARNED:
        assert means[arm] == [close(0.8), 1, 0.5, 1]
        assert means[f"{arm}, raw"] == [1, 1, 1, 1]
    overall = report["good sessions, overall"]["SCOPE"]
    assert {name: overall[name]["mean"] for name in ("precision", "recall", "f1")} == {
        "precision": close(2 / 3), "recall": 1, "f1": close(0.8)
    }  # fmt: skip
    assert report["accuracy"]["SCOPE"]["overall"]["deviation"] == close(0)
    assert [*report["accuracy by split"]["SCOPE"].values()] == [close(0.8)] * 5
    compared = report["accuracy of SCOPE less that of"]
    assert compared["satisfied = good"]["overall"] == close(0.4)
    assert compared["SCOPE, raw"]["hard negatives"] == -0.5
    low, high = compared["SCOPE, raw"]["overall, 95%"]
    assert low < -0.2 < high
    found = report["planted errors localised by"]
    assert [found[what]["share"]["mean"] for what in ("bad rubrics", "situation")] == [close(2 / 3)] * 2
    assert [row["kappa"]["mean"] for row in report["agreement with labels"].values()] == [1] * 4
    assert report["situation"] == {
        "correct": {"sessions": 5, "tests": 15, "judged bad": 0, "share": 0},
        "hallucination-with-access": {"sessions": 5, "tests": 15, "judged bad": 15, "share": 1},
        "hallucinated-edit": {"sessions": 5, "tests": 15, "judged bad": 15, "share": 1},
    }
    for rubric in report["rubric"].values():
        assert (rubric["sessions hit"], rubric["bad"]) == ((9, 3) if rubric["label"] == "good" else (6, 6))
    for told in ("satisfied = good", "SPUR from good, raw", "0.800 (0.000)", "hallucination-with-access"):
        assert told in first.stdout


def test_learning_sees_no_test_session_and_order_does_not_matter() -> None:
    """Of each split, by what its prompts show; only SCOPE asks the situation."""
    sessions = [labelled(number, told) for number, told in enumerate(SESSIONS)]
    drawn = splits(sessions, 5)

    def outcome(split: Split) -> tuple[Any, list[Prompt]]:
        model, client = session_model(lambda prompt: answered(prompt.schema, _text(prompt)))
        (found,) = asyncio.run(run_splits(RubricsPlan([split], (), {}), model, 4096))
        return found, client.prompts

    for split in (drawn[0], drawn[4]):
        found, prompts = outcome(split)
        shown = {True: Counter[int](), False: Counter[int]()}
        for prompt in prompts:
            shown["# scope-" in _text(prompt)].update({int(n) for n in _NUMBER.findall(_text(prompt))})
        tested, learned = ({int(one.key[1][-2:]) for one in own} for own in (split.tested, split.learned))
        assert shown[True] == dict.fromkeys(tested, len(LEARNED))
        assert {*shown[False]} == learned
        assert sum("# scope-situation" in _text(prompt) for prompt in prompts) == len(tested)
        assert {*found.sets} == {*LEARNED}
        for rubrics in found.sets.values():
            assert {key[1] for key in rubrics.learned_from} == {one.key[1] for one in split.learned}
        turned = Split(split.name, split.learned[::-1], split.tested[::-1])
        again, _ = outcome(turned)
        assert (again.sets, again.judged) == (found.sets, found.judged)


def _text(prompt: Prompt) -> str:
    return "\n".join(message.text for message in prompt.messages)


def test_a_set_is_tested_on_sessions_that_it_has_not_seen(model: LlmServer, folder: Path, tmp_path: Path) -> None:
    """Accepted or not; by one call a session. One that has seen them all, and options of learning, are one line."""
    seen = [[SERVICE, f"chat-{n:02}"] for n in range(25)]
    data = set_of([5, 5], [5, 5], make_or_break=1) | {"accepted_by": "", "learned_from": seen[:10]}
    file = set_file(tmp_path, data)
    result = run(folder, "--set", str(file), "--format", "json", model=model)
    assert result.exit_code == 0, result.output
    report = json.loads(result.stdout)
    assert (model.counts.calls, report["splits"][""]["tested on"]) == (15, 15)
    assert report["left out"] == {"sessions-learned-from": {"count": 10}}
    assert report["accuracy"]["SCOPE"]["overall"] == {
        "splits": [pytest.approx(2 / 3)], "mean": pytest.approx(2 / 3), "deviation": None
    }  # fmt: skip
    assert {(name, row["sessions hit"]) for name, row in report["rubric"].items()} == {
        ("good-0", 10), ("good-1", 10), ("bad-0", 5), ("bad-1", 5)
    }  # fmt: skip
    table = run(folder, "--set", str(file), model=model).stdout
    assert "tested on" in table
    assert "by split" not in table
    spur = set_of([5], [5], make_or_break=0) | {"method": "spur", "learned_from": seen[:10]}
    report = json.loads(run(folder, "--set", str(set_file(tmp_path, spur)), "--format", "json", model=model).stdout)
    assert [*report["accuracy"]] == ["all bad", "satisfied = good", "SPUR", "SPUR, raw"]
    calls = model.counts.calls
    set_file(tmp_path, data | {"learned_from": seen})
    for args, told in (
        ((), "was learned from all 25 labelled sessions: none is left to test"),
        (("--whole", "service"), "--whole is for sets that are learned: leave out --set"),
    ):
        refused = run(folder, "--set", str(file), *args, model=model)
        assert (refused.exit_code != 0, told in refused.stderr) == (True, True), refused.stderr
    assert model.counts.calls == calls


def test_what_cannot_be_learned_is_said(model: LlmServer, folder: Path, tmp_path: Path) -> None:
    """All of it in one line before any call; an arm alone, in a note; no label of satisfaction, no SPUR."""
    place = tmp_path / "few"
    place.mkdir()
    few = run(labelled_folder(place, SESSIONS[:20]), model=model)
    assert (few.exit_code, few.stderr.count("\n"), model.counts.calls) == (1, 1, 0)
    assert "split 1, two of 5 folds: 8 labelled sessions: at least 10 are needed to learn from" in few.stderr
    unknown = [Told(told.answer, good=told.good, satisfied=None) for told in SESSIONS]
    place = tmp_path / "unknown"
    place.mkdir()
    result = run(labelled_folder(place, unknown), model=model)
    assert result.exit_code == 0, result.output
    assert re.search(r"\n1 SPUR +0 labelled sessions with a label of satisfaction", result.stdout)
    assert "SPUR from good, raw" in result.stdout
    empty = tmp_path / "empty"
    empty.mkdir()
    assert "no traces in" in run(empty, model=model).stderr
    assert "no model is named" in run(folder).stderr


def test_generated_sessions_are_silver_but_for_situations_that_people_alone_can_tell(
    folder: Path, tmp_path: Path
) -> None:
    """These are left out where nobody but the generator labelled them."""
    lines = [json.loads(line) for line in (folder / "labels.jsonl").read_text().splitlines()]
    for line in lines:
        told = SESSIONS[int(line["session_id"][-2:])] if line["kind"] == "session" else None
        if told is not GOOD:
            line["annotator"] = "generator"
        if told is BAD:
            line["situation"] = "trusted-wrong-fact"
    labels = tmp_path / "labels.jsonl"
    labels.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    plan = plan_rubrics(folder, labels, 3, None)
    assert plan.left_out == {"sessions-unsure": 5}
    assert len(plan.planted) == 15
    tested = {one.key[1]: one.label for split in plan.splits for one in split.tested}
    assert Counter(label.by_people for label in tested.values()) == {True: 5, False: 15}


def test_what_was_stopped_goes_on_where_it_was(model: LlmServer, folder: Path, tmp_path: Path) -> None:
    """A budget that is reached, and Ctrl-C while the model is silent: one line, then only what is missing is asked."""
    cassette = tmp_path / "c.jsonl"
    (tmp_path / "c.yaml").write_text("judges: {budget: {tokens_per_day: 60000}}")
    args = ["--cassette", str(cassette), "--concurrency", "1"]
    stopped = run(folder, *args, "--config", str(tmp_path / "c.yaml"), model=model)
    lines = [line for line in stopped.stderr.splitlines() if not line.startswith("splits tested: ")]
    assert (stopped.exit_code, len(lines)) == (1, 1), stopped.stderr
    assert "goes on from here" in lines[0]
    model.script = lambda _: Play(stall=True)
    words = ["evaluate", "rubrics", str(folder), *args, "--model", "openai/scripted", "--api-base", model.base]
    before = model.counts.calls
    with subprocess.Popen([*COMMAND, *words], stderr=subprocess.PIPE, text=True) as process:  # noqa: S603
        try:
            model.wait_until(lambda counts: counts.calls > before, PATIENCE)
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert told.splitlines()[-1].startswith("tracejury: stopped; the same command with its --cassette goes on")
    model.script = play
    kept = sum('"key"' in line for line in cassette.read_text().splitlines())
    before = model.counts.calls
    assert run(folder, *args, model=model).exit_code == 0
    whole = sum('"key"' in line for line in cassette.read_text().splitlines())
    assert model.counts.calls - before == whole - kept > 0
