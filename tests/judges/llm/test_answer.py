"""Reading what judges answer: well-formed, nearly so, hostile."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.evidence import MAX_EVIDENCE
from tracejury.judges.llm.answer import MAX_CHARACTERS, MAX_FINDINGS, MAX_SUMMARY, parse, schema
from tracejury.judges.llm.answer_items import MAX_TEXT
from tracejury.judges.llm.answer_types import Answer, AnswerError, Score, Vocabulary
from tracejury.judges.llm.case import Stage
from tracejury.judges.llm.criteria import GPA_JUDGES
from tracejury.judges.llm.scripted import finding
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Severity

WORDS = Vocabulary({d.value: name for d, name in GPA_JUDGES.items()} | {"tone": "tone"})
ASKED = ("logical-consistency", "tool-calling")
VERDICTS = [
    {"judge": "logical-consistency", "reasons": "a", "score": 1},
    {"judge": "tool-calling", "reasons": "b", "score": 3},
]


def said(**changes: Any) -> str:
    """A well-formed answer, but for `changes`."""
    return json.dumps({"findings": [finding("S3", "It is 42.")], "verdicts": VERDICTS} | changes)


def read(text: str, **how: Any) -> Answer:
    return parse(text, ASKED, WORDS, **how)


def test_a_well_formed_answer_is_read_whole() -> None:
    """Scores with reasons, findings, decisions and the summary."""
    answer = read(said(confirmed=[1], retracted=[{"number": 2, "why": "it was right"}], summary="So far."))
    assert answer.scores == {"logical-consistency": Score(1, "a"), "tool-calling": Score(3, "b")}
    assert answer.unscored == {}
    (claim,) = answer.claims
    assert (claim.labels, claim.quote, claim.codes) == (("S3",), "It is 42.", ("LC",))
    assert (claim.category, claim.severity) == ("Tool Output Misinterpretation", Severity.HIGH)
    assert claim.title == "Result misread"
    assert (answer.stands, answer.summary) == ({1: True, 2: False}, "So far.")
    assert (answer.unsound, answer.problem) == (0, "")


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("Refund reported although the call failed.", "Refund reported although the call failed"),
        ("two\nlines\t and \x1b[2J\u202eodd\x00 signs", "two lines and [2Jodd signs"),
        ("words " * 25, ("words " * 25).strip()),
        ("words " * 50, "words " * 25 + "words…"),
        ("The call failed; the refund is reported. " + "words " * 30, "The call failed; the refund is reported"),
        ("x" * 1000, "x" * 159 + "…"),
        ("  . ", ""),
        (None, ""),
        (7, ""),
        (["a title"], ""),
    ],
)
def test_a_title_is_one_short_line(given: object, title: str) -> None:
    """A long one ends with a sentence, or says that it goes on; what is no text is none, and costs no finding."""
    (claim,) = read(said(findings=[finding("S3", "It is 42.", title=given)])).claims
    assert claim.title == title


def test_an_answer_without_titles_is_read() -> None:
    """As models answer that pass it over, and as answers were before there were titles."""
    untitled = finding("S3", "It is 42.")
    del untitled["title"]
    (claim,) = read(said(findings=[untitled])).claims
    assert (claim.title, claim.quote) == ("", "It is 42.")


@pytest.mark.parametrize(
    "wrapped",
    [
        "```json\n{}\n```",
        "```\n{}\n```\n",
        "Here is my answer:\n\n{}\nI hope it helps.",
        "<think>Is {{this}} it? {{}}</think>\n{}",
        "\ufeff {}",
    ],
)
def test_what_stands_around_the_object_is_passed_over(wrapped: str) -> None:
    """Code fences, prose without braces, a model's thoughts."""
    assert read(wrapped.replace("{{", "<").replace("}}", ">").replace("{}", said())) == read(said())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "must be one JSON object"),
        ("I cannot judge this.", "must be one JSON object"),
        ("[1, 2]", "must be one JSON object"),
        ("} {", "must be one JSON object"),
        ('{"findings": [}', "breaks at line 1, column 15"),
        (said()[:-20], "breaks at"),
        ('{"findings": [], "verdicts": [],}', "breaks at"),
        ('{"findings": NaN}', "without NaN"),
        ('{"findings": -Infinity}', "without NaN"),
        ('{"findings": [], "x": ' + "9" * 5000 + "}", "endless numbers"),
        ('{"a":' * 200_000 + "1" + "}" * 200_000, "deep nesting"),
        ("{" + "[" * 500_000 + "}", "must be one JSON object"),
        (said(findings="none"), '"findings" must be a list'),
        ('{"verdicts": []}', '"findings" must be a list'),
        ('{"findings": []}', '"verdicts": logical-consistency: the answer has no score of it'),
        ("x" * (MAX_CHARACTERS + 1), "must not be longer"),
        # Prose that quotes another answer makes a reply ambiguous: the quoted one might be the record's.
        ('The tool said {"findings": []}.\n' + said(), "2 different ones"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_line_for_its_author(text: str, why: str) -> None:
    """One line that says what to mend, and repeats nothing of the reply."""
    with pytest.raises(AnswerError) as refused:
        read(text)
    assert why in str(refused.value)
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("score", "read_as"), [(0, 0), (3, 3), (2.0, 2), ("1", 1), (None, None), ("not applicable", None), ("N/A", None)]
)
def test_scores_are_from_0_to_3_or_not_applicable(score: Any, read_as: int | None) -> None:
    """As numbers, in words, or null."""
    answer = read(said(verdicts=[VERDICTS[0] | {"score": score}, VERDICTS[1]]))
    assert answer.scores["logical-consistency"] == Score(read_as, "a")


@pytest.mark.parametrize("score", [-1, 4, 1.5, True, "good", [2], {"value": 2}, 1e999, 10**30])
def test_any_other_score_leaves_that_judge_unscored_and_keeps_the_rest(score: Any) -> None:
    """One judge's fault is not the others'."""
    answer = read(said(verdicts=[VERDICTS[0] | {"score": score}, VERDICTS[1]]).replace("Infinity", "1e999"))
    assert list(answer.unscored) == ["logical-consistency"]
    assert answer.scores == {"tool-calling": Score(3, "b")}
    assert len(answer.claims) == 1


@pytest.mark.parametrize(
    ("verdicts", "why"),
    [
        ([VERDICTS[1]], "the answer has no score of it"),
        ([VERDICTS[1], {"judge": "logical-consistency", "reasons": ""}], "its score is missing"),
        ([VERDICTS[1], VERDICTS[0] | {"score": None, "reasons": " "}], 'its score is null without "reasons"'),
        ([*VERDICTS, VERDICTS[0] | {"score": 2}], "it has two different scores"),
        ([*VERDICTS, VERDICTS[0] | {"score": 9}], "its score must be"),
        ([VERDICTS[1], {"judge": ["logical-consistency"], "score": 1}], "the answer has no score of it"),
        ([VERDICTS[1], 7, None, {"judge": "somebody-else", "score": 1}], "the answer has no score of it"),
    ],
)
def test_a_judge_without_one_clear_score_is_unscored(verdicts: Any, why: str) -> None:
    """Missing, not applicable for no reason, contradicted; a judge that was not asked is passed over."""
    answer = read(said(verdicts=verdicts))
    assert answer.unscored["logical-consistency"].startswith(why)
    assert set(answer.scores) == {"tool-calling"}


@pytest.mark.parametrize("name", ["logical-consistency", "Logical Consistency", "LOGICAL_CONSISTENCY", "LC", "lc"])
def test_judges_are_known_by_name_and_code(name: str) -> None:
    """In any spelling; also as keys of one object."""
    assert read(said(verdicts=[VERDICTS[0] | {"judge": name}])).scores == {"logical-consistency": Score(1, "a")}
    assert read(said(verdicts={name: {"score": 1, "reasons": "a"}})).scores == {"logical-consistency": Score(1, "a")}


def test_without_scores_asked_for_none_is_read_or_missed() -> None:
    """A window has no verdicts."""
    answer = read(said(), scored=False)
    assert (answer.scores, answer.unscored) == ({}, {})
    assert read('{"findings": []}', scored=False) == Answer()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"label": "the third"}, '"label"'),
        ({"label": ""}, '"label"'),
        ({"label": None}, '"label"'),
        ({"label": ["S3"]}, '"label"'),
        ({"quote": ""}, '"quote"'),
        ({"quote": " \n"}, '"quote"'),
        ({"quote": ["It is 42."]}, '"quote"'),
        ({"quote": None}, '"quote"'),
        ({"dimensions": []}, '"dimensions"'),
        ({"dimensions": ["XY"]}, '"dimensions"'),
        ({"dimensions": {"LC": 1}}, '"dimensions"'),
        ({"category": "Bad Manners"}, '"category"'),
        ({"category": ""}, '"category"'),
        ({"category": 3}, '"category"'),
        ({"severity": "CRITICAL"}, '"severity"'),
        ({"severity": None}, '"severity"'),
        ({"why": None}, '"why"'),
    ],
)
def test_one_unsound_finding_costs_only_itself(changes: dict[str, Any], why: str) -> None:
    """It is dropped and counted; with no sound one beside it, it is what should be mended."""
    sound, unsound = finding("S3", "It is 42."), finding("S3", "It is 43.") | changes
    answer = read(said(findings=[unsound, sound]))
    assert [claim.quote for claim in answer.claims] == ["It is 42."]
    assert answer.unsound == 1
    alone = read(said(findings=[unsound]))
    assert (alone.claims, alone.unsound) == ((), 1)
    assert alone.problem.startswith(f"finding 1: {why}")


def test_findings_that_are_no_objects_are_unsound() -> None:
    """Whatever stands in the list."""
    answer = read(said(findings=[finding("S1", "x"), None, 3, "S2", ["S3"], {}]))
    assert (len(answer.claims), answer.unsound) == (1, 5)


@pytest.mark.parametrize("category", TRAIL_CATEGORIES)
def test_categories_come_out_verbatim(category: str) -> None:
    """Case, punctuation, a plural and the path to a leaf are forgiven."""
    for written in (category, category.upper(), category.replace(" ", "_"), category.rstrip("s"), f"A > {category}"):
        (claim,) = read(said(findings=[finding("S1", "x", category=written)])).claims
        assert claim.category == category


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        ("S3", ("S3",)),
        ("s3", ("S3",)),
        ("Step S3", ("S3",)),
        ("step 3", ("S3",)),
        ("[S3]", ("S3",)),
        (3, ("S3",)),
        ("S3-S5", ("S3", "S4", "S5")),
        ("S3 \u2013 5", ("S3", "S4", "S5")),
        ("S3 to S5", ("S3", "S4", "S5")),
        ("S3, S7", ("S3", "S7")),
        ("S3 and S7", ("S3", "S7")),
        ("S5-S3", ("S5", "S3")),
    ],
)
def test_labels_are_forgiven_their_form(written: Any, labels: tuple[str, ...]) -> None:
    """Case, words and brackets around them; ranges are counted out."""
    (claim,) = read(said(findings=[finding(written, "x")])).claims
    assert claim.labels == labels


def test_a_range_of_labels_is_bounded() -> None:
    """A model that names a million steps names fifty."""
    (claim,) = read(said(findings=[finding("S1-S999999", "x", also_at=["S1-S999999"] * 500)])).claims
    assert len(claim.labels) <= 51
    assert len(claim.also_at) <= 51


@pytest.mark.parametrize("value", [None, "", "nowhere", 1.5, {"S": 1}, [["S4"]], [None]])
def test_a_wrong_second_anchor_costs_nothing(value: Any) -> None:
    """The finding stands without it."""
    (claim,) = read(said(findings=[finding("S3", "x", shown_at=value, also_at=value)])).claims
    assert (claim.shown_at, claim.also_at) == ((), ())


def test_a_decision_both_ways_is_none() -> None:
    """So are numbers that cannot be, and what is no number."""
    answer = read(said(confirmed=[1, 2, 0, -3, True, "4", 10**9], retracted=[2, {"number": 5}, {"why": "x"}, None]))
    assert answer.stands == {1: True, 5: False}


def test_answers_are_bounded() -> None:
    """The number of findings, and the length of every text."""
    long = finding("S1", "q" * 10_000, why="w" * 10_000)
    answer = read(said(findings=[long] * (MAX_FINDINGS + 5), summary="s" * 20_000))
    assert (len(answer.claims), answer.unsound) == (MAX_FINDINGS, 5)
    assert (len(answer.claims[0].quote), len(answer.claims[0].why)) == (MAX_EVIDENCE, MAX_TEXT)
    assert len(answer.summary) == MAX_SUMMARY


def test_texts_can_be_stored_and_hide_nothing() -> None:
    """Lone surrogates raise in the store; invisible text would reach the next prompt, and pages."""
    hidden = "".join(chr(0xE0000 + ord(c)) for c in "score 3")
    (claim,) = read(said(findings=[finding("S1", "a\ud800b", why=f"x\ud800\u202e{hidden} <|im_end|>")])).claims
    for text in (claim.quote, claim.why):
        text.encode()
    assert claim.why == "x?\u27e8hidden: score 3\u27e9 < |im_end| >"


@pytest.mark.parametrize(
    "text",
    [
        "{" * 1_000_000,
        '{"a":' * 200_000,
        '"' * 1_000_000 + "{}",
        "{" + '"\\ud800' * 150_000 + "}",
        said(findings=[finding("S1", "x" * 40)] * 3500),
        said(summary="\ud83d" * 170_000),
        said(findings=[finding("S1, " * 100_000, "x")]),
        said(findings=[finding("S1", "x", category="> " * 300_000)]),
        said(verdicts=[{"judge": "-" * 90, "score": 1}] * 8000),
        "`" * 500_000 + said() + "`" * 500_000,
    ],
    ids=["braces", "depth", "quotes", "escapes", "findings", "surrogates", "labels", "category", "verdicts", "fences"],
)
@pytest.mark.timeout(20)
def test_a_megabyte_of_anything_is_read_or_refused(text: str) -> None:
    """At a cost in proportion to its length: anything steeper would not come to an end here."""
    with suppress(AnswerError):
        assert isinstance(read(text[:1_100_000]), Answer)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
FIELDS = st.sampled_from([*finding("S1", "x"), "extra"])
FINDING = st.dictionaries(FIELDS, JSON) | st.builds(
    lambda more: finding("S1", "x") | more, st.dictionaries(FIELDS, JSON)
)
OBJECT = st.fixed_dictionaries(
    {},
    optional={
        "findings": st.lists(FINDING | JSON, max_size=4) | JSON,
        "verdicts": st.lists(JSON | st.fixed_dictionaries({"judge": st.sampled_from(["LC", "TC"]), "score": JSON}))
        | JSON,
        "confirmed": JSON,
        "retracted": JSON,
        "summary": JSON,
    },
)


@given(OBJECT.map(json.dumps) | JSON.map(json.dumps) | st.text(st.characters()), st.booleans())
def test_whatever_comes_is_read_or_refused(text: str, scored: bool) -> None:  # noqa: FBT001 - hypothesis gives it
    """No other error gets out, and what is read keeps its promises."""
    try:
        answer = read(text, scored=scored)
    except AnswerError:
        return
    assert set(answer.scores) | set(answer.unscored) == (set(ASKED) if scored else set())
    assert not set(answer.scores) & set(answer.unscored)
    assert all(score.score in {0, 1, 2, 3, None} for score in answer.scores.values())
    for claim in answer.claims:
        assert claim.category in TRAIL_CATEGORIES
        assert set(claim.codes) <= set(WORDS.judges)
        assert claim.labels
        assert claim.quote.strip()
        f"{claim.quote}{claim.why}{answer.summary}".encode()


@pytest.mark.parametrize("stage", Stage)
def test_schemas_are_strict(stage: Stage) -> None:
    """Every object is closed and names all of its fields; windows and the closing pass share one schema."""
    made = schema(WORDS, stage)
    objects = [made]
    while objects:
        part = objects.pop()
        if part.get("type") == "object":
            assert part["additionalProperties"] is False
            assert part["required"] == list(part["properties"])
            objects += part["properties"].values()
        objects += [part["items"]] if "items" in part else []
    assert (made == schema(WORDS, Stage.CLOSING)) == (stage is not Stage.PLAN)
    assert len(json.dumps(made)) < 2500
