"""Reasons summed up and weighed: how much is asked, what answers that are of no use cost, and what no text can do."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from deliberations import rehearse
from hypothesis import given, settings
from hypothesis import strategies as st
from labelled_folders import BAD, GOOD, labelled, learns, rubrics_for
from prompt_attacks import ATTACKS, MARK

from tracejury.judges.llm.answer_types import AnswerError
from tracejury.judges.llm.client import Prompt
from tracejury.judges.llm.scripted import ScriptedClient
from tracejury.judges.rubrics.learning.areas import AreaDrafts
from tracejury.judges.rubrics.learning.learned_rubrics import learned_set
from tracejury.judges.rubrics.learning.reasons import MOST_REASON, Reason
from tracejury.judges.rubrics.learning.summaries import RubricDrafts
from tracejury.judges.rubrics.learning.training import Learning, Training
from tracejury.judges.rubrics.learning.weights import RubricWeights
from tracejury.judges.rubrics.rubric_set import Area, Label, RubricSet
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.shown import shown_line

AREAS = tuple(Area(name=name, text=f"How it is with {name}.") for name in ("a", "b", "c", "d", "e"))
SCOPE = Learning()
TRAINING: Training = [(labelled(0, GOOD), "good"), (labelled(1, BAD), "bad")]


def reasons(good: int, bad: int, areas: Sequence[Area] = AREAS, text: str = "It was so.") -> list[Reason]:
    """So many sessions of each label, with one reason an area."""
    sides: tuple[tuple[Label, int], ...] = (("good", good), ("bad", bad))
    return [
        Reason(shown_line(f"{text} ({label} {number})", MOST_REASON), ("shop", f"{label}-{number:03}"), label, area)
        for label, count in sides
        for number in range(count)
        for area in ([one.name for one in areas] or [""])
    ]


def learned(
    script: Callable[[Prompt], Any], given: Sequence[Reason], how: Learning = SCOPE, areas: Sequence[Area] = AREAS
) -> tuple[RubricSet, ScriptedClient]:
    client = ScriptedClient(script)
    return rehearse(learned_set(TRAINING, areas, given, how, Counter(), "scripted"), client), client


@pytest.mark.parametrize(
    ("how", "areas", "calls", "rubrics"),
    [
        # Each area: 4 + 1 of good sessions, 7 + 2 + 1 of bad ones; then two merge, two weigh.
        (Learning(), AREAS, 25 + 50 + 2 + 2, 12),
        # One group: 4 + 1 and (7 batches of 5, then 2) of 10.
        (Learning(areas=False), (), 5 + 9 + 2, (12, 10)),
        (Learning("spur"), (), (4 + 1) + (7 + 2), (10, 10)),
    ],
)
def test_batches_are_summed_up_until_few_are_left(
    how: Learning, areas: Sequence[Area], calls: int, rubrics: int | tuple[int, int]
) -> None:
    """Of 73 good and 133 bad sessions as in the paper, with one reason an area; all are covered."""
    made, client = learned(rubrics_for, reasons(73, 133, areas), how, areas)
    counts = rubrics if isinstance(rubrics, tuple) else (rubrics, rubrics)
    assert (len(client.prompts), len(made.of("good")), len(made.of("bad"))) == (calls, *counts)
    assert {key for one in made.of("bad") for key in one.sessions} == {("shop", f"bad-{n:03}") for n in range(133)}
    assert "reasons-in-no-rubric" not in made.counts
    assert not any(one.make_or_break for one in made.of("good"))
    assert all(one.make_or_break for one in made.of("bad")) is (how.method == "scope")
    assert {(p.temperature, p.top_p) for p in client.prompts} == {(0.0, 0.99)}


RUBRIC = {"name": "a", "text": "A sign.", "covers": [1]}
MANY = [{**RUBRIC, "name": f"r-{chr(97 + n)}", "covers": [1, 2][: 1 + n % 2]} for n in range(13)]


@pytest.mark.parametrize(
    ("said", "counted", "sessions"),
    [
        (MANY, {"rubrics-surplus": 3}, [2] * 6 + [1] * 4),
        ([RUBRIC, {**RUBRIC, "covers": [1, 2]}], {"rubrics-surplus": 1}, [2]),
        ([{**RUBRIC, "covers": [1, 2, 0, 9, 9]}], {"numbers-unknown": 2}, [2]),
        ([RUBRIC, {**RUBRIC, "name": "b", "covers": [0]}], {"numbers-unknown": 1, "rubrics-without-reason": 1}, [1]),
    ],
)
def test_an_answer_that_does_not_fit_is_asked_for_once_more_then_tidied(
    said: list[dict[str, Any]], counted: dict[str, int], sessions: list[int]
) -> None:
    """What covers least goes, and is counted."""

    def script(prompt: Prompt) -> str:
        return json.dumps({"rubrics": said}) if "(good 0)" in prompt.messages[1].text else learns(prompt)

    made, client = learned(script, reasons(2, 3, ()), Learning("spur"), ())
    assert sum("cannot be used" in p.messages[-1].text for p in client.prompts) == 1
    assert {name: made.counts[name] for name in counted} == counted
    assert [len(one.sessions) for one in made.of("good")] == sessions


def test_a_batch_without_a_usable_answer_is_lost_and_missing_weights_are_five() -> None:
    """Each counted; the other batches stand."""

    def script(prompt: Prompt) -> str:
        if "(bad 0)" in prompt.messages[1].text and "rubrics" in prompt.schema["properties"]:
            return "I would rather not."
        if "weights" in prompt.schema["properties"]:
            odd = [{"rubric": n, "weight": w, "make_or_break": False} for n, w in ((1, 11), (99, 1))]
            return json.dumps({"weights": odd})
        return learns(prompt)

    made, _ = learned(script, reasons(2, 25, ()), Learning(areas=False), ())
    assert {key: made.counts[key] for key in ("batches-lost", "reasons-lost", "reasons-in-no-rubric")} == {
        "batches-lost": 1, "reasons-lost": 20, "reasons-in-no-rubric": 20,
    }  # fmt: skip
    assert {one.weight for one in made.rubrics} == {5}
    assert made.counts["weights-missing"] == len(made.rubrics)
    assert made.counts["numbers-unknown"] == 2
    told = "no rubric of sessions that are bad on the whole: 3 reasons were found; the model's answers were refused: "
    with pytest.raises(PermanentError, match=f"{told}.*JSON"):
        learned(script, reasons(2, 3, ()), Learning(areas=False), ())


def test_names_are_unique_over_both_labels() -> None:
    """The set's file says which error is which by them."""

    def script(prompt: Prompt) -> str:
        if "weights" in prompt.schema["properties"]:
            return learns(prompt)
        return json.dumps({"rubrics": [{**RUBRIC, "name": "x" * 60}]})

    made, _ = learned(script, reasons(1, 1, ()), Learning(areas=False), ())
    assert [one.name for one in made.rubrics] == ["x" * 60, f"{'x' * 56}-bad"]


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS)
def test_hostile_reasons_and_areas_add_no_line_of_ours(attack: str) -> None:
    """Nor a numbered line: every prompt has as many lines as with harmless texts."""

    def shape(text: str) -> list[list[str]]:
        areas = (Area(name=" ".join(text.split())[:300] or "x", text="How it is."),)
        _, client = learned(rubrics_for, reasons(3, 3, areas, text), areas=areas)
        texts = [message.text for prompt in client.prompts for message in prompt.messages]
        return [[line for line in one.split("\n") if line[:1] != " "] for one in map(without_digests, texts)]

    assert shape(attack) == shape(MARK)


def without_digests(text: str) -> str:
    """Fences without what names them."""
    return "\n".join(" ".join(line.split()[:-2]) if line.startswith("=== ") else line for line in text.split("\n"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 30) | st.floats() | st.text(max_size=20),
    lambda below: st.lists(below, max_size=5) | st.dictionaries(st.sampled_from(
        ["areas", "rubrics", "weights", "name", "text", "covers", "rubric", "weight", "make_or_break"]), below),
    max_leaves=25,
)  # fmt: skip
TEXT = st.text(st.characters(exclude_categories=()), max_size=400)
ROWS = {
    "areas": st.fixed_dictionaries({"name": TEXT, "text": TEXT}),
    "rubrics": st.fixed_dictionaries({"name": TEXT, "text": TEXT, "covers": st.lists(st.integers(-2, 30), max_size=8)}),
    "weights": st.fixed_dictionaries(
        {"rubric": st.integers(-2, 30), "weight": st.integers(-2, 30), "make_or_break": st.booleans()}
    ),
}  # fmt: skip


@given(st.sampled_from([AreaDrafts, RubricDrafts, RubricWeights]), JSON | TEXT)
def test_any_reply_is_read_or_refused_in_one_line(kind: type[AreaDrafts], said: object) -> None:
    text = said if isinstance(said, str) else json.dumps(said)
    told = ""
    try:
        kind.read(text)
    except AnswerError as error:
        told = str(error)
    assert "\n" not in told


@settings(max_examples=50, deadline=None)
@given(st.data())
def test_any_answers_make_a_sound_set_or_none(data: st.DataObject) -> None:
    """Whatever a model says; a set knows only sessions that there are, and its names and texts are one line each."""

    def script(prompt: Prompt) -> str:
        (key,) = prompt.schema["properties"]
        return json.dumps({key: data.draw(st.lists(ROWS[key], max_size=15))})

    found = reasons(3, 3)
    try:
        made, _ = learned(script, found)
    except PermanentError:
        return  # nothing was learned of a label
    assert {key for one in made.rubrics for key in one.sessions} <= {one.session for one in found}
    assert all(one.sessions and one.text == " ".join(one.text.split()) for one in made.rubrics)
    assert RubricSet.model_validate(made.model_dump(mode="json")) == made
