"""The decisive errors of a folder whose annotations say who is to blame and when: asked, scored, replayed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from check_replies import entry
from click.testing import CliRunner, Result
from fair_judge import over_http
from llm_scripts import Call, Play
from llm_server import LlmServer, llm_server
from trail_folder import error, write

from tracejury.collector.cli.root import root
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import answer

RIGHT, WRONG, OPEN, SILENT, UNLABELLED = (letter * 32 for letter in "abcde")
STEPS = [[0, "planner", f"{2:016x}"], [1, "solver", f"{3:016x}"], [2, "writer", f"{5:016x}"]]
WHY = "The mean was never computed. Instead: say that the file is missing."


def annotate(folder: Path, name: str, **keys: Any) -> None:
    path = folder / "annotations" / f"{name}.json"
    path.write_text(json.dumps({"errors": [error(5)], "scores": [], **keys}))


def labelled(folder: Path, *labels: tuple[str, str, int]) -> Path:
    names = [name for name, _, _ in labels]
    write(folder, names, {name: [error(5)] for name in names})
    for name, agent, step in labels:
        annotate(folder, name, steps=STEPS, label={"agent": agent, "step": step})
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The answer of each trace (5) is invented; people blame it in all labelled traces but one."""
    blamed = [(RIGHT, "writer", 2), (WRONG, "planner", 0), (OPEN, "writer", 2), (SILENT, "writer", 2)]
    made = labelled(tmp_path / "x", *blamed, (UNLABELLED, "writer", 2))
    annotate(made, UNLABELLED)
    return made


def deciding(text: str, *, decides: bool) -> str:
    """An answer that names the item at the answer (S4), or none."""
    items = re.findall(r"^(\d+) (R\d+\.S\d+)$", text, re.MULTILINE)
    answers = [
        entry("decisive-error", int(n), "decisive" if decides and label.endswith(".S4") else "no-part", reason=WHY)
        for n, label in items
    ]
    return json.dumps({"answers": answers, "also": [], "summary": None})


def model(call: Call) -> Play:
    """The fair judge, which finds the invented answer; it decided, nobody can tell, or there is no reply."""
    if "# decisive-error" not in call.prompt:
        return over_http(call)
    if f"question {SILENT}" in call.prompt:
        return Play(status=400)
    return Play(text=deciding(call.prompt, decides=f"question {OPEN}" not in call.prompt))


def evaluated(folder: Path, *options: str | Path, style: str = "json") -> Result:
    words = ["evaluate", "trail", folder, "--judges", "production", "--only-judges", "--format", style, *options]
    return CliRunner().invoke(root, list(map(str, words)), env={"COLUMNS": "400"})


def report(folder: Path, *options: str | Path) -> dict[str, Any]:
    done = evaluated(folder, *options)
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def asking(server: LlmServer) -> list[str]:
    return ["--model", "openai/fair", "--api-base", server.base, "--retries", "0", "--verify", "off"]


def counts(row: dict[str, Any]) -> tuple[int, ...]:
    return tuple(row[name] for name in ("traces", "right_step", "right_agent", "open", "unanswered"))


def test_the_decisive_error_is_scored_by_step_and_agent(folder: Path, tmp_path: Path) -> None:
    """Beside baselines over the same traces; no answer counts as wrong. Replayed, the same comes again."""
    cassette = tmp_path / "c.jsonl"
    with llm_server(model) as server:
        first = report(folder, *asking(server), "--cassette", cassette)
        off = report(folder, *asking(server), "--no-decisive")
    rows = first["decisive"]
    assert counts(rows["decisive-error"]) == (4, 1, 1, 1, 1)
    assert rows["decisive-error"]["step_accuracy"] == 1 / 4
    assert rows["decisive-error"]["intervals"]["step_accuracy"] == [
        pytest.approx(0.046, abs=0.001),
        pytest.approx(0.699, abs=0.001),
    ]
    assert counts(rows["first step"]) == (4, 1, 1, 0, 0)
    assert counts(rows["step blamed most often"]) == (4, 3, 3, 0, 0)
    assert counts(rows["agent blamed most often"]) == (4, 3, 3, 0, 0)
    assert "author of the first failed execution" in rows
    assert first["spend"]["by_purpose"]["decisive"]["calls"] == 3
    replayed: list[str | Path] = ["--cassette-mode", "replay", "--cassette", cassette, "--verify", "off"]
    assert report(folder, *replayed)["decisive"] == rows
    table = " ".join(evaluated(folder, *replayed, style="table").stdout.split())
    assert "decisive-error 4 0.250 0.046 to 0.699 0.250 0.046 to 0.699 1 1" in table
    assert off["decisive"] == {}
    assert off["spans"] == first["spans"]
    assert "decisive" not in off["spend"]["by_purpose"]


def test_it_is_told_for_each_labelled_trace_and_is_no_finding(folder: Path) -> None:
    """With the reasons; a trace without a label is not asked about."""
    with llm_server(model) as server:
        results = {r["trace"]: r for r in report(folder, *asking(server))["results"]}
    (named,) = results[RIGHT]["decisive"]["findings"]
    assert (named["span_id"], named["explanation"]) == (f"{5:016x}", WHY)
    assert {f["judge"] for run in results[RIGHT]["runs"] for f in run["findings"]} == {"logical-consistency"}
    assert results[OPEN]["decisive"]["reasons"] == ["cannot tell"]
    assert list(results[SILENT]["decisive"]["failures"]) == ["decisive-error"]
    assert results[UNLABELLED]["decisive"] is None


def test_the_prompt_is_written_once_all_else_is_answered(tmp_path: Path) -> None:
    """In the mode "ask" it is of a later round; where judges found nothing, it is about the detectors' errors."""
    folder, prompts = labelled(tmp_path / "x", (RIGHT, "writer", 2), (WRONG, "planner", 0)), tmp_path / "p"
    ask: list[str | Path] = [
        "--cassette",
        tmp_path / "c.jsonl",
        "--cassette-mode",
        "ask",
        "--prompts",
        prompts,
        "--model",
        "reader",
    ]
    purposes = []
    for _ in range(5):
        done = evaluated(folder, *ask, "--verify", "off", "--no-hints")
        waiting = [p for p in sorted(prompts.glob("*.md")) if not p.with_suffix(".json").exists()]
        if not waiting:
            break
        plans = [p for p in waiting if p.read_text().startswith("# plan")]
        others = [p for p in waiting if p not in plans]
        purposes.append({p.read_text().split()[1] for p in others})
        for path in (*plans, *others[:1]):  # the other one waits for a further round
            text = path.read_text()
            schema = json.loads(text.rpartition("# JSON schema of the answer\n")[2])
            deciding_now = text.startswith("# decisive")
            path.with_suffix(".json").write_text(
                deciding(text, decides=True) if deciding_now else answer(Prompt((), schema=schema))
            )
    assert done.exit_code == 0, done.stderr
    assert purposes == [{"closing"}, {"closing"}, {"decisive"}, {"decisive"}]
    assert counts(json.loads(done.stdout)["decisive"]["decisive-error"]) == (2, 1, 1, 0, 0)


def test_a_label_without_its_step_is_one_line(tmp_path: Path) -> None:
    """Before any model is asked."""
    folder = write(tmp_path / "x", [RIGHT], {RIGHT: []})
    annotate(folder, RIGHT, steps=STEPS, label={"agent": "writer", "step": 9})
    done = evaluated(folder, "--model", "openai/none")
    assert done.exit_code != 0
    assert done.stderr.strip().splitlines()[-1].endswith('the label blames step 9, which "steps" does not have')
