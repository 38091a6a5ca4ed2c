"""Groups by the likeness of texts: TF-IDF, truncated SVD, HDBSCAN. The only module that imports scikit-learn.

A text is counted at most as often as a group must have errors: more copies decide nothing and take time. Texts are
sorted first, so errors give the same groups in any order.
HDBSCAN: Campello, Moulavi and Sander, "Density-based clustering based on hierarchical density estimates" (2013).
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import groupby, islice
from typing import Any, Final

import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer
from sklearn.preprocessing import normalize

from .error_group import ClusteredError, ErrorGroup, Grouped, largest_first

COMPONENTS: Final = 50
"""Of the decomposition."""

LEAST: Final = 5
"""Errors of a group at least."""

ALIKE: Final = 0.7
"""Mean cosine between the texts of a group and its centre at least; chosen by hand: chance is near .5 in a block."""

_PER: Final = 1_000
"""Errors for each of which a group must have one."""

TERMS: Final = 4
"""Terms in a name."""

_NOISE: Final = -1

_WORD: Final = r"\b(?![es]\d+\b)[^\W\d]\w+\b"
"""Numbers, and labels of steps (E1.S2, S2), are values of one error: by them, errors of one kind would fall apart."""


def by_likeness(errors: Iterable[ClusteredError]) -> Grouped:
    """Groups of at least max(5, n / 1,000) errors, each within one taxonomy and tool."""
    own: defaultdict[tuple[tuple[str, str], str], list[ClusteredError]] = defaultdict(list)
    for error in sorted(errors):
        own[error.block, error.text].append(error)
    if not own:
        return Grouped(())
    least = max(LEAST, sum(map(len, own.values())) // _PER)
    keys = sorted(own)
    rows = [at for at, key in enumerate(keys) for _ in range(min(least, len(own[key])))]
    vectors, weights, terms = _vectors([keys[at][1] for at in rows])
    usual = weights.mean(axis=0)
    groups: list[ErrorGroup] = []
    single: list[ClusteredError] = []
    for _, members in groupby(range(len(rows)), key=lambda row: keys[rows[row]][0]):
        block = list(members)
        labels = _labels(vectors[block], [rows[row] for row in block], least)
        for label in sorted(set(labels)):
            these = [row for row, one in zip(block, labels, strict=True) if one == label]
            found = [error for at in dict.fromkeys(rows[row] for row in these) for error in own[keys[at]]]
            if label == _NOISE or len(found) < least:
                single += found
                continue
            nearest = these[int(np.argmax(vectors[these] @ vectors[these].mean(axis=0)))]
            own_terms = np.asarray(weights[these].mean(axis=0) - usual).ravel()
            name = _name(own_terms, terms) or found[0].category
            groups.append(ErrorGroup(tuple(sorted(found)), own[keys[rows[nearest]]][0], name))
    return Grouped(largest_first(groups), sorted(single))


def _vectors(texts: Sequence[str]) -> tuple[Any, Any, Sequence[str]]:
    """The texts as rows of length 1 and (sparse) by term, and the terms; a term of one text alone compares nothing."""
    vectorizer = TfidfVectorizer(min_df=2, sublinear_tf=True, token_pattern=_WORD)
    try:
        weights = vectorizer.fit_transform(texts)
    except ValueError:  # no term is in two texts
        return np.zeros((len(texts), 1)), np.zeros((len(texts), 1)), ("",)
    terms = vectorizer.get_feature_names_out()
    if weights.shape[1] > COMPONENTS < weights.shape[0]:
        found = TruncatedSVD(COMPONENTS, random_state=0).fit_transform(weights)
    else:
        found = weights.toarray()
    return normalize(found), weights, terms


def _labels(vectors: Any, texts: Sequence[int], least: int) -> Sequence[int]:
    """The number of a group for each row; `texts`: which rows are copies of one text."""
    if len(texts) < least:
        return [_NOISE] * len(texts)
    if len(set(texts)) == 1:
        return [0] * len(texts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of copies, whose distance is none
        found = HDBSCAN(min_cluster_size=least, allow_single_cluster=True, copy=True).fit_predict(vectors)
        if found.max() == 0 and not _alike(vectors[found == 0]):
            found = HDBSCAN(min_cluster_size=least, copy=True).fit_predict(vectors)
    for label in range(found.max() + 1):
        if not _alike(vectors[found == label]):
            found[found == label] = _NOISE
    return [int(label) for label in found]


def _alike(vectors: Any) -> bool:
    """Whether these texts are alike: the least dense group that is found may be all that is left."""
    return bool((vectors @ normalize(vectors.mean(axis=0, keepdims=True)).T).mean() >= ALIKE)


def _name(weights: Any, terms: Sequence[str]) -> str:
    """The heaviest terms of a group, by how much heavier they are in it than in all: none that hold a text together."""
    heaviest = (terms[at] for at in np.argsort(-weights, kind="stable") if weights[at] > 0)
    return ", ".join(islice((term for term in heaviest if term not in ENGLISH_STOP_WORDS), TERMS))
