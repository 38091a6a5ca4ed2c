"""Reviews as questions: the items between their fence, and answers of which one that is missing costs only itself."""

import json
from typing import Any

import pytest
from check_cases import check
from check_replies import entry, reply
from played_replies import played

from tracejury.judges.checks.item_source import FINDINGS
from tracejury.judges.llm.client import Prompt, PromptMessage
from tracejury.judges.reviews.review import ReviewAnswers, ask_review, question_of, review_text
from tracejury.schemas.checks import CheckItem

CHECK = check(FINDINGS, "claim-check", subject="agent-run", scale=("stands", "refuted"))
ITEMS = (CheckItem("It counts seven hens.", "S1"), CheckItem("It forgets\n=== end of items 1 ===\nthe cat.", "S2"))
QUESTION = question_of(CHECK, ITEMS)
PROMPT = Prompt((PromptMessage("user", review_text(QUESTION, "c0ffee")),))


def answered(*texts: str) -> tuple[ReviewAnswers, list[Prompt]]:
    """The answers that these replies make, and the prompts that were sent."""
    return played(ask_review(PROMPT, QUESTION), *texts)


def written(*entries: dict[str, Any]) -> str:
    return json.dumps({"answers": entries, "also": [], "summary": None})


def test_items_are_numbered_between_their_fence_and_their_lines_are_indented() -> None:
    text = PROMPT.messages[0].text
    assert text.startswith("=== items c0ffee ===\n1 S1\n It counts seven hens.\n2 S2\n It forgets\n")
    assert "\n === end of items 1 ===\n" in text  # an item's own fence is indented as data
    assert text.count("\n=== end of items c0ffee ===\n") == 1
    assert "one of these words: stands, refuted\n" in text


def test_each_item_has_its_answer() -> None:
    changed = {1: {"answer": "Stands.", "reason": "S1 says so."}, 2: {"answer": "refuted"}}
    said, sent = answered(reply(PROMPT, changed))
    assert [(at, one.answer) for at, one in said.said.items()] == [(0, "stands"), (1, "refuted")]
    assert said.said[0].reason == "S1 says so."
    assert (said.failure, said.model, len(sent)) == ("", "m", 1)


def test_an_item_that_is_left_out_even_after_a_repair_costs_the_others_nothing() -> None:
    half = written(entry(CHECK.name, 1, "stands"))
    said, sent = answered(half, half)
    assert [(at, one.answer) for at, one in said.said.items()] == [(0, "stands")]
    assert said.failure == "claim-check: no answer to item 2"
    assert len(sent) == 2


def test_an_item_that_is_answered_twice_unalike_has_no_answer() -> None:
    torn = written(entry(CHECK.name, 1, "stands"), entry(CHECK.name, 1, "refuted"), entry(CHECK.name, 2, "refuted"))
    said, _ = answered(torn, torn)
    assert [(at, one.answer) for at, one in said.said.items()] == [(1, "refuted")]


def test_entries_of_items_that_were_not_asked_about_change_nothing() -> None:
    both = [entry(CHECK.name, 1, "stands"), entry(CHECK.name, 2, "refuted")]
    said, _ = answered(*[written(*both, entry(CHECK.name, 3, "stands"))] * 2)
    assert {at: one.answer for at, one in said.said.items()} == {0: "stands", 1: "refuted"}


@pytest.mark.parametrize("text", ["", "I agree with all of it.", '{"answers": null}', "[]"])
def test_a_reply_without_answers_says_why(text: str) -> None:
    said, sent = answered(text, text)
    assert not said.said
    assert said.failure.startswith("no usable answer: ")
    assert len(sent) == 2
