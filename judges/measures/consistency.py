"""The semantic consistency index: the similarity of a judge's reasons when it judges the same again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import fsum, hypot, isfinite, log
from statistics import fmean
from typing import Protocol

from tracejury.judges.bootstrap import Interval, intervals

Vector = Sequence[float]


class Embedder(Protocol):
    """Turns texts into vectors whose angle tells how alike they are in meaning."""

    @property
    def name(self) -> str:
        """Model and version, printed beside every figure that it made."""

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One vector a text, in order, all of one length."""


@dataclass(frozen=True, slots=True)
class Consistency:
    """The index, at most 1 (always the same reasons), or why there is none (`reason`, where `index` is None).

    Over `subjects` with at least two reasons; `left_out`: those with fewer. `interval`: 95% over subjects. `embedder`:
    what the reasons were compared with; indices of two embedders cannot be compared.
    """

    index: float | None
    interval: Interval | None
    subjects: int
    left_out: int
    embedder: str
    reason: str = ""


class TfIdf:
    """An `Embedder` without a model: how often a text has each word, weighed by how few of the texts have it.

    It sees that two reasons use the same words, not that they mean the same. Weights as scikit-learn has them: counts
    times ln((1 + n) / (1 + texts with the word)) + 1 (after Salton and Buckley 1988).
    """

    name = "TF-IDF over words, without a model"

    def embed(self, texts: Sequence[str]) -> Sequence[Vector]:
        """One number a word of all texts; a text without any word is one of its own."""
        counts = [Counter(re.findall(r"\w+", text.lower()) or [text]) for text in texts]
        having = Counter(word for own in counts for word in own)
        weights = {word: log((1 + len(texts)) / (1 + number)) + 1 for word, number in having.items()}
        return [[own[word] * weight for word, weight in weights.items()] for own in counts]


def semantic_consistency(reasons: Mapping[str, Sequence[str]], embedder: Embedder) -> Consistency:
    """The index over subjects (by id), each with a judge's reasons for its score in each repetition.

    A blank reason says nothing, and is left out. Each text is embedded once.

    Raises:
        ValueError: the embedder gives another number of vectors than it got texts, or vectors that cannot be compared.
    """
    said = {subject: [text for text in texts if text.strip()] for subject, texts in reasons.items()}
    texts = list(dict.fromkeys(text for own in said.values() if len(own) > 1 for text in own))
    vectors = dict(zip(texts, embedder.embed(texts) if texts else (), strict=True))
    rows = [[vectors[text] for text in own] if len(own) > 1 else [] for own in said.values()]
    return consistency(rows, embedder.name)


def consistency(subjects: Sequence[Sequence[Vector]], embedder: str = "") -> Consistency:
    """Mean cosine over the pairs of a subject's vectors, averaged over subjects with at least two.

    "What is your agent's GPA?" (semantic consistency index). Each subject weighs the same, however often it was
    judged.

    Raises:
        ValueError: two vectors of a subject differ in length, or one is zero or not finite: it has no direction.
    """
    means = [fmean(cosine(a, b) for a, b in combinations(own, 2)) for own in subjects if len(own) > 1]
    left_out = len(subjects) - len(means)
    if not means:
        return Consistency(None, None, 0, left_out, embedder, "no subject has reasons from two runs")
    drawn = intervals(means, lambda draw: {"index": fmean(draw)})
    return Consistency(fmean(means), drawn["index"], len(means), left_out, embedder)


def cosine(a: Vector, b: Vector) -> float:
    """Cosine of the angle between two vectors, in [-1, 1].

    Raises:
        ValueError: they differ in length, or one is zero or not finite.
    """
    if len(a) != len(b):
        raise ValueError(f"vectors of {len(a)} and {len(b)} numbers")
    lengths = hypot(*a), hypot(*b)
    if not all(map(isfinite, lengths)) or not all(lengths):
        raise ValueError("a vector without direction")
    product = fsum((x / lengths[0]) * (y / lengths[1]) for x, y in zip(a, b, strict=True))
    return max(-1.0, min(1.0, product))
