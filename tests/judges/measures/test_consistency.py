"""The semantic consistency index on vectors whose angles are known."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, radians, sin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracejury.judges.measures.consistency import TfIdf, consistency, cosine, semantic_consistency


def at(degrees: float, length: float = 1.0) -> tuple[float, float]:
    return length * cos(radians(degrees)), length * sin(radians(degrees))


class Compass:
    """Embeds a number of degrees as that direction, and counts what it is asked."""

    name = "compass"

    def __init__(self) -> None:
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        self.asked += texts
        return [at(float(text)) for text in texts]


def test_index_by_hand() -> None:
    """Mean over subjects of the mean over pairs: 0, 60 and 120 degrees give (.5 + .5 - .5) / 3, two equal ones 1."""
    result = semantic_consistency({"t": ["0", "60", "120"], "u": ["45", "45"]}, Compass())
    assert result.index == pytest.approx((1 / 6 + 1) / 2)
    assert (result.subjects, result.left_out, result.embedder) == (2, 0, "compass")
    assert result.interval == pytest.approx((1 / 6, 1.0))


def test_blank_and_single_reasons_take_no_part() -> None:
    """A run without a reason says nothing of consistency; what has no pair is not even embedded."""
    compass = Compass()
    result = semantic_consistency({"t": ["0", "90", " \n"], "u": ["7", ""], "v": []}, compass)
    assert result.index == pytest.approx(0.0)
    assert (result.subjects, result.left_out) == (1, 2)
    assert compass.asked == ["0", "90"]


def test_each_text_is_embedded_once() -> None:
    """The same words in many runs cost one call to the model."""
    compass = Compass()
    semantic_consistency({"t": ["1", "1", "2"], "u": ["2", "1"]}, compass)
    assert sorted(compass.asked) == ["1", "2"]


@pytest.mark.parametrize("reasons", [{}, {"t": ["0"]}, {"t": ["", " "]}])
def test_nothing_to_compare(reasons: dict[str, list[str]]) -> None:
    """One run has no consistency: absent with the reason."""
    result = semantic_consistency(reasons, Compass())
    assert (result.index, result.interval, result.subjects) == (None, None, 0)
    assert result.reason == "no subject has reasons from two runs"


def test_without_a_model_words_are_compared() -> None:
    """Reasons in the same words are alike, whatever their case; a text without any word can be compared, too."""
    said = {
        "same": ["The plan was followed.", "the plan WAS followed"],
        "near": ["The plan was followed.", "The plan was skipped."],
        "far": ["The plan was followed.", "Nobody asked."],
        "odd": ["…", "…"],
    }
    found = {
        subject: semantic_consistency({subject: texts} | {"all": ["the was", "plan"]}, TfIdf())
        for subject, texts in said.items()
    }
    index = {subject: (row.index or 0) for subject, row in found.items()}
    assert index["same"] == index["odd"] == pytest.approx(1 / 2)  # beside two texts that share no word
    assert index["same"] > index["near"] > index["far"] == 0
    assert found["same"].embedder == "TF-IDF over words, without a model"


class Forgetful(Compass):
    """Loses the last text."""

    def embed(self, texts: Sequence[str]) -> list[tuple[float, float]]:
        return super().embed(texts)[:-1]


def test_an_embedder_that_loses_a_text_is_refused() -> None:
    """Vectors must not be given to other texts than theirs."""
    with pytest.raises(ValueError, match="shorter"):
        semantic_consistency({"t": ["1", "2"]}, Forgetful())


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((1.0,), (1.0, 0.0)),
        ((0.0, 0.0), (1.0, 0.0)),
        ((float("nan"), 1.0), (1.0, 0.0)),
        ((float("inf"), 0.0), (1.0, 0.0)),
    ],
)
def test_vectors_that_cannot_be_compared_are_refused(a: Sequence[float], b: Sequence[float]) -> None:
    """Another length, no direction, no number."""
    with pytest.raises(ValueError, match="vector"):
        cosine(a, b)


@given(st.floats(-180, 180), st.floats(-180, 180), st.floats(1e-3, 1e3))
def test_the_cosine_sees_angles_only(a: float, b: float, length: float) -> None:
    """Length does not matter, nor which comes first, and it never leaves [-1, 1]."""
    value = cosine(at(a), at(b, length))
    assert value == pytest.approx(cos(radians(a - b)), abs=1e-9)
    assert value == pytest.approx(cosine(at(b), at(a)), abs=1e-9)
    assert -1 <= value <= 1


def test_vectors_may_be_huge_or_tiny() -> None:
    """No overflow on the way."""
    assert cosine((1e200, 1e200), (1e-200, 0.0)) == pytest.approx(0.5**0.5)


def test_subjects_weigh_the_same() -> None:
    """However often one was judged: ten equal reasons of one subject do not hide the other's."""
    result = consistency([[at(0)] * 10, [at(0), at(90)]])
    assert result.index == pytest.approx(0.5)
