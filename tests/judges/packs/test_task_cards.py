"""Task cards: files, folders, and what is refused in one line."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tracejury.judges.packs.cards.task_cards import ServiceTerms, SessionTerms, TaskCard, load_cards
from tracejury.judges.packs.cards.user_turns import Behaviour
from tracejury.schemas.errors import ConfigError

CARD = """
id: refund-7
instruction: Get a refund for order 7.
policies:
  - Ask for the user id first.
  - Refund by certificate only.
done: {attribute: shop.refunded, equals: true}
stop: The agent refuses.
agent: A shop's assistant.
notes: [Call refund(7)., " Tell\n  the user. "]
max_turns: 8
"""


def written(folder: Path, text: str, name: str = "card.yaml") -> str:
    path = folder / name
    path.write_text(text, "utf-8")
    return str(path)


def test_a_file_holds_one_card_or_a_list(tmp_path: Path) -> None:
    one = written(tmp_path, CARD)
    several = written(tmp_path, json.dumps([{"id": 1}, {"id": "2"}]), "cards.json")
    cards = load_cards([one, several])
    assert list(cards) == ["refund-7", "1", "2"]
    card = cards["refund-7"]
    assert card.notes == ("Call refund(7).", "Tell the user.")
    assert (card.stop, card.agent, card.max_turns) == ("The agent refuses.", "A shop's assistant.", 8)
    assert card.policies[1] == "Refund by certificate only."
    assert card.done is not None
    assert card.done.equals is True


def test_a_folder_is_read_in_order(tmp_path: Path) -> None:
    written(tmp_path, "id: b", "2.yml")
    written(tmp_path, '{"id": "a"}', "1.json")
    written(tmp_path, "no card", "README.md")
    assert list(load_cards([str(tmp_path)])) == ["a", "b"]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("instruction: none", "card.yaml: id: this key is missing"),
        ("id: ''", "card.yaml: id: "),
        ("id: true", "card.yaml: id: must be text"),
        ("[{id: a}, {instruction: x}]", "card.yaml: card 2: id: this key is missing"),
        ("id: a\ncomments: [1]", "card.yaml: comments: there is no such key here"),
        ("id: a\ndone: {attribute: x}", "card.yaml: done.equals: this key is missing"),
        ("id: a\npolicies: one", "card.yaml: policies: must be a list"),
        ("id: a\npolicies: [3]", "card.yaml: policies.0: must be text"),
        ("[id: a", "card.yaml is not YAML: line 1, column 7: "),
        ("id: 2020-99-99", "card.yaml is not YAML: "),
        ("- a\n- b", "card.yaml: card 1: must be a mapping"),
        ("7", "card.yaml: must be a mapping"),
        ("id: a\nuser_turns: []", "card.yaml: user_turns"),
        ("id: a\nuser_turns: {hungry: [hi]}", "card.yaml: user_turns.hungry"),
        ("id: a\nuser_turns: {ideal: [hi, bye], goal-switching: [hi]}", "card.yaml: user_turns: each behaviour"),
        ("id: a\nnotes: []", "card.yaml: notes: "),
        ("id: a\nnotes: [call it, ' ']", "card.yaml: notes.1: "),
        ("id: a\nnotes: [call it, 7]", "card.yaml: notes.1: must be text"),
        (
            f"id: a\nnotes: [call it, {'a' * 100} b, {'a' * 100} c]",
            "card.yaml: notes: 2 and 3 are alike in their first 100",
        ),
        (f"id: a\nnotes: {[f'call {n}' for n in range(101)]}", "card.yaml: notes: "),
        ("id: a\nmax_turns: 0", "card.yaml: max_turns: "),
        ("id: a\nmax_turns: 21", "card.yaml: max_turns: "),
        ("[{id: a}, {id: a}]", "card.yaml: card 2: id: "),
    ],
)
def test_what_is_wrong_is_one_line_with_file_and_key(tmp_path: Path, text: str, told: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_cards([written(tmp_path, text)])
    assert f"{tmp_path}/{told}" in str(caught.value)
    assert "\n" not in str(caught.value)


CARRIED = """
id: a
oracle: {{steps: [{{id: look, tool: get}}, {{id: pay, tool: pay}}, {{id: mail, tool: mail}}]}}
user_turns: [hi, bye]
carries: {carries}
"""


def test_a_card_says_which_turn_carries_which_steps(tmp_path: Path) -> None:
    card = load_cards([written(tmp_path, CARRIED.format(carries="[[look, mail], [pay]]"))])["a"]
    assert card.carries == (("look", "mail"), ("pay",))


@pytest.mark.parametrize(
    ("carries", "told"),
    [
        ("[[look, pay, mail]]", "2 turns of the user need as many entries, not 1"),
        ("[[], [look, pay, mail]]", "turn 1 carries no step: each asks for a part of the task"),
        ("[[look], [pay, post]]", "there is no step 'post'"),
        ("[[look], [pay]]", "the step 'mail' must be carried by one turn, not by 0"),
        ("[[look, pay], [mail, pay]]", "the step 'pay' must be carried by one turn, not by 2"),
        ("[look, pay]", "card.yaml: carries.0"),
    ],
)
def test_what_turns_cannot_carry(tmp_path: Path, carries: str, told: str) -> None:
    """All at the end is not carried turn by turn."""
    with pytest.raises(ConfigError) as raised:
        load_cards([written(tmp_path, CARRIED.format(carries=carries))])
    assert told in str(raised.value)
    assert "carries" in str(raised.value)


def test_user_turns_are_a_list_or_by_behaviour(tmp_path: Path) -> None:
    listed = load_cards([written(tmp_path, "id: a\nuser_turns: [hi, ' bye ']")])["a"]
    assert listed.user_turns == {Behaviour.IDEAL: ("hi", "bye")}
    named = load_cards([written(tmp_path, "id: a\nuser_turns: {ideal: [hi], Goal_Switching: [ho]}")])["a"]
    assert named.user_turns == {Behaviour.IDEAL: ("hi",), Behaviour.GOAL_SWITCHING: ("ho",)}
    assert load_cards([written(tmp_path, "id: a")])["a"].user_turns == {}


def test_two_cards_of_one_id_in_two_files(tmp_path: Path) -> None:
    first, second = written(tmp_path, "id: a", "1.yaml"), written(tmp_path, "id: a", "2.yaml")
    with pytest.raises(ConfigError) as caught:
        load_cards([first, second])
    assert str(caught.value) == f"{second}: id: {first} has a card 'a' already"


def test_no_such_file_no_json_no_cards(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read .*nowhere\.yaml: No such file"):
        load_cards([str(tmp_path / "nowhere.yaml")])
    with pytest.raises(ConfigError, match="is not JSON: "):
        load_cards([written(tmp_path, "{id: a}", "card.json")])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ConfigError, match="needs at least one"):
        load_cards([str(tmp_path / "empty")])


def test_policies_of_card_and_service_are_joined_once_each() -> None:
    card = TaskCard(id="a", policies=("Ask  for\nthe id.", "Be brief."))
    joined = SessionTerms(card, ServiceTerms(policies=("Be brief.", "Be kind.")))
    assert joined.policies == ("Ask for the id.", "Be brief.", "Be kind.")
    assert SessionTerms().policies == ()


def test_the_card_of_the_guide_is_one(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs" / "packs.md").read_text("utf-8")
    found = re.search(r"```yaml\n(id: .*?)```", guide, re.DOTALL)
    assert found is not None
    (card,) = load_cards([written(tmp_path, found[1])]).values()
    assert (card.id, len(card.policies)) == ("refund-7", 2)
