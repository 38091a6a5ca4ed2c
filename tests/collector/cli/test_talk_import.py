"""`tracejury talk import`: cards with grading notes, of TED's data, of milestones and of oracles."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from tracejury.collector.cli.root import root
from tracejury.judges.packs.cards.task_cards import TaskCard, load_cards

TED = Path(__file__).parents[4] / "shared" / "data" / "ted"
CALLS: list[dict[str, Any]] = [
    {"id": "look", "tool": "get_order", "arguments": {"id": "7"}},
    {"id": "list", "tool": "list_orders"},
]
SAYS = {"id": "tell", "says": 'It says "done".'}
STEPS = [{**CALLS[0], "match": {"id": "present"}}, {"id": "pay", "tool": "pay", "arguments": {"eur": 20, "at": "x"},
          "match": {"at": "ignore"}, "write": True}]  # fmt: skip


def imported(tmp_path: Path, data: Any, form: str, *more: str) -> Result:
    file = tmp_path / "tasks.json"
    file.write_text(data if isinstance(data, str) else json.dumps(data))
    return run(file, form, tmp_path / "cards.yaml", *more)


def run(file: Path, form: str, out: Path, *more: str) -> Result:
    return CliRunner().invoke(root, ["talk", "import", str(file), "--from", form, "--out", str(out), *more])


def cards_in(tmp_path: Path) -> Mapping[str, TaskCard]:
    return load_cards([str(tmp_path / "cards.yaml")])


@pytest.mark.skipif(not TED.exists(), reason="the data of TED's authors is not here")
@pytest.mark.parametrize(("name", "told"), [("tau2bench", (21, 63)), ("toolsandbox", (37, 109))])
def test_the_data_of_teds_authors_makes_cards(tmp_path: Path, name: str, told: tuple[int, int]) -> None:
    """Every note, without the quotes that stand around it in the file and nothing else."""
    file = TED / f"{name}_dataset.json"
    result = run(file, "ted", tmp_path / "cards.yaml", "--max-turns", "15")
    assert (result.exit_code, result.stdout.split(" in ")[0]) == (0, f"{told[0]} cards with {told[1]} notes")
    tasks = {task["id"]: task for task in json.loads(file.read_text())}
    cards = cards_in(tmp_path)
    assert [*cards] == [*tasks]
    stripped = 0
    for card, task in zip(cards.values(), tasks.values(), strict=True):
        said, written = task["input"][0], [goal["details"].strip() for goal in task["metadata"]["subgoals"]]
        assert (card.instruction, card.stop, card.max_turns) == (said["content"], said["terminating_condition"], 15)
        for note, detail in zip(card.notes, written, strict=True):
            quoted = detail.startswith('"')
            stripped += quoted
            assert " ".join((detail.rstrip(",")[1:-1] if quoted else detail).split()) == note
    assert stripped == (64 if name == "toolsandbox" else 0)


def test_milestones_are_sentences_with_their_values_and_edges(tmp_path: Path) -> None:
    """Calls, words and states; ids come first where sentences begin alike."""
    long = {"tool": "update", "arguments": {"text": "x" * 100}}
    states = [
        {"id": "s1", "state": "the order is refunded."},
        {"id": "s2", "state": {"path": "orders.7", "changed": {"old": "open", "new": None}}},
        {"id": "s3", "state": {"path": ["orders", 0], "equals": True, "of": {"tool": "get"}}},
        {"id": "s4", "state": {"path": "", "added": {"a": 1}}},
    ]
    tasks = [
        {"id": 1, "instruction": "Do.", "milestones": [*CALLS, SAYS, *states],
         "edges": [["look", "tell"], ["s1", "tell"], ["tell", "list"]]},
        {"id": "b", "milestones": [{**long, "id": "one"}, {**long, "id": "two"}]},
    ]  # fmt: skip
    assert imported(tmp_path, tasks, "milestones").stdout.startswith("2 cards with 9 notes")
    cards = cards_in(tmp_path)
    assert (cards["1"].instruction, cards["1"].max_turns) == ("Do.", None)
    assert cards["1"].notes == (
        'The agent calls get_order with {"id": "7"}.',
        'The agent calls list_orders, after it tells the user: "It says \\"done\\".".',
        (
            'The agent tells the user: "It says \\"done\\".", after it calls get_order with {"id": "7"}, '
            "after the order is refunded."
        ),
        "the order is refunded.",
        'In the state, orders.7 changes from "open" to null.',
        "In the state, orders.0 of get is true at the end.",
        'In the state, {"a": 1} is added to the state itself.',
    )
    assert [note.split(":")[0] for note in cards["b"].notes] == ["one", "two"]


def test_oracles_become_notes_of_the_same_cards(tmp_path: Path) -> None:
    """Arguments that are not compared are not told; all else stays on the card."""
    oracle = {"steps": STEPS, "order": [["look", "pay"]], "state": [{"path": "paid", "equals": 20}]}
    card = {"id": "a", "instruction": "Pay.", "user_turns": ["Pay 7!"], "oracle": oracle}
    reads = {"id": "b", "oracle": {"steps": [{**CALLS[0], "equivalent": [{"tool": "find", "arguments": {"q": 7}}]}]}}
    assert imported(tmp_path, [card, reads], "oracle", "--max-turns", "3").exit_code == 0
    cards = cards_in(tmp_path)
    assert cards["a"].notes == (
        "The agent calls get_order with any id.",
        'The agent calls pay with {"eur": 20}, after it calls get_order with any id.',
        "In the state, paid is 20 at the end.",
    )
    assert cards["b"].notes == ('The agent calls get_order with {"id": "7"} or find with {"q": 7}.',)
    same = TaskCard.model_validate({**card, "notes": cards["a"].notes, "max_turns": 3})
    assert cards["a"] == same


def ted(*details: object, **more: object) -> dict[str, object]:
    return {
        "id": "t",
        "input": [{"content": "Do."}],
        "metadata": {"subgoals": [{"details": d} for d in details]},
        **more,
    }


def milestones(*found: object, edges: Sequence[Sequence[str]] = ()) -> dict[str, object]:
    return {"id": "t", "milestones": found, "edges": edges}


@pytest.mark.parametrize(
    ("form", "data", "why"),
    [
        ("ted", "[{", "tasks.json is not JSON"),
        ("ted", ["x"], "task 1: "),
        ("ted", [ted("a"), {"id": "u"}], "task 2: input: "),
        ("ted", [ted()], "task 1: notes: "),
        ("ted", [ted(' "" ,')], "task 1: notes.0: "),
        ("ted", [ted(7)], "task 1: metadata.subgoals.0.details: "),
        ("ted", [ted("x" * 100, "x" * 101)], "1 and 2 are alike in their first 100 characters"),
        ("ted", [ted("a"), ted("b")], "task 2: id: a task before it has the id 't', too"),
        ("ted", [ted("a", input=[])], "task 1: input: "),
        ("ted", [milestones(SAYS)], "task 1: input: "),
        ("milestones", [ted("a")], "task 1: "),
        ("milestones", milestones(), "task 1: milestones: "),
        ("milestones", milestones(SAYS, SAYS), "two have the id 'tell'"),
        ("milestones", milestones({**SAYS, "tool": "x"}), "say one of tool, says and state"),
        ("milestones", milestones({**SAYS, "arguments": {"a": 1}}), "arguments are of a tool"),
        ("milestones", milestones(SAYS, edges=[["tell", "no"]]), "edges: there is no milestone 'no'"),
        ("milestones", milestones(*CALLS, edges=[["look", "list"], ["list", "look"]]), "edges: a cycle: "),
        ("oracle", {"id": "a"}, "'a': it has no oracle with steps or state, of which notes could be made"),
        ("oracle", {"id": "a", "notes": ["x"], "oracle": {"steps": STEPS}}, "'a': it has notes already"),
        ("oracle", [ted("a")], "card 1: "),
    ],
)
def test_what_makes_no_cards_is_one_line(tmp_path: Path, form: str, data: Any, why: str) -> None:
    """And no file is left."""
    result = imported(tmp_path, data, form)
    assert (result.exit_code, len(result.stderr.splitlines()), why in result.stderr) == (2, 1, True), result.stderr
    assert not (tmp_path / "cards.yaml").exists()


def test_limits_and_files_of_others(tmp_path: Path) -> None:
    """`--max-turns` is 1 to 20, and no file is overwritten."""
    for turns in ("0", "21"):
        assert imported(tmp_path, ted("a"), "ted", "--max-turns", turns).exit_code == 2
    (tmp_path / "tasks.jsonl").write_text(json.dumps(ted("a")))
    words = ["talk", "import", str(tmp_path / "tasks.jsonl"), "--from", "ted", "--out", str(tmp_path / "cards.yaml")]
    lines = CliRunner().invoke(root, words)
    assert (lines.exit_code, "tasks.jsonl: JSON Lines are not read" in lines.stderr) == (2, True)
    assert imported(tmp_path, ted("a"), "ted").exit_code == 0
    again = imported(tmp_path, ted("b"), "ted")
    assert (again.exit_code, "no file is overwritten" in again.stderr) == (2, True)
    assert cards_in(tmp_path)["t"].notes == ("a",)
