"""Splits of labelled sessions: what is learned from is never tested, and no order matters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from labelled_folders import GOOD, labelled

from tracejury.judges.measures.session_labels import AgreedLabel
from tracejury.judges.rubrics.evaluation.splits import Split, Whole, splits
from tracejury.judges.rubrics.learning.training import LabelledSession
from tracejury.judges.rubrics.rubric_set import SessionKey

WHOLE: Final[tuple[Whole, ...]] = ("situation", "service")
ONE: Final = labelled(0, GOOD)
LABELS: Final = (
    AgreedLabel(good=True, satisfied=True, situation="correct", annotators=("ada",)),
    AgreedLabel(good=True, satisfied=None, situation="", annotators=("ada",)),
    AgreedLabel(good=False, satisfied=True, situation="skipped-tool", annotators=("ada",)),
    AgreedLabel(good=False, satisfied=True, situation="propagated-error", annotators=("ada",)),
    AgreedLabel(good=False, satisfied=False, situation="trace-leak", annotators=("generator",)),
)
SESSIONS: Final = st.lists(
    st.tuples(st.sampled_from(LABELS), st.sampled_from(["a", "b", "c"])), min_size=1, max_size=60
).map(lambda drawn: [replace(ONE, key=(service, f"chat-{n}"), label=label) for n, (label, service) in enumerate(drawn)])


def folds(drawn: Sequence[Split]) -> list[set[SessionKey]]:
    """Fold k + 1 is what splits k and k + 1 both learn from."""
    return [
        {one.key for one in drawn[k - 1].learned} & {one.key for one in drawn[k].learned} for k in range(len(drawn))
    ]


@given(SESSIONS, st.integers(3, 7), st.sampled_from([None, *WHOLE]), st.randoms())
def test_what_is_learned_is_never_tested_and_each_session_is_tested_in_all_other_splits(
    sessions: list[LabelledSession], count: int, whole: Whole | None, random: Random
) -> None:
    drawn = splits(sessions, count, whole)
    tested = Counter(one.key for split in drawn for one in split.tested)
    assert tested == {one.key: count - 2 for one in sessions}
    for split in drawn:
        learned = {one.key for one in split.learned}
        assert learned.isdisjoint(one.key for one in split.tested)
        assert len(learned) + len(split.tested) == len(sessions)
    shuffled = [*sessions]
    random.shuffle(shuffled)
    again = splits(shuffled, count, whole)
    assert [{one.key for one in split.learned} for split in again] == [
        {one.key for one in split.learned} for split in drawn
    ]


@given(SESSIONS, st.integers(4, 7))
def test_folds_are_equal_within_label_satisfaction_and_situation(sessions: list[LabelledSession], count: int) -> None:
    labels = {one.key: one.label for one in sessions}
    found = folds(splits(sessions, count))
    assert max(map(len, found)) - min(map(len, found)) <= 1
    for label in LABELS:
        sizes = [sum(labels[key] == label for key in fold) for fold in found]
        assert max(sizes) - min(sizes) <= 1


@given(SESSIONS, st.integers(4, 7))
def test_whole_keeps_a_kind_of_error_or_a_service_in_one_fold(sessions: list[LabelledSession], count: int) -> None:
    labels = {one.key: one.label for one in sessions}
    by_situation, by_service = (folds(splits(sessions, count, whole)) for whole in WHOLE)
    for name in {label.situation for label in LABELS if not label.good}:
        assert sum(any(labels[key].situation == name for key in fold) for fold in by_situation) <= 1
    for service in "abc":
        assert sum(any(key[0] == service for key in fold) for fold in by_service) <= 1
    good = [sum(labels[key].good for key in fold) for fold in by_situation]
    assert max(good) - min(good) <= 1
