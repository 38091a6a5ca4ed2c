"""Labels that are deleted by name, and ids that stand in several traces."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from labels_world import ONE, REVIEW, SCORE, TRACE, StoredWorld

from tracejury.collector.store.shared_store import SharedStore
from tracejury.schemas.annotations import LABELS, Annotation
from tracejury.schemas.queries.labels import Labelled, LabelQuery
from tracejury.schemas.queries.reader import Position

OTHER = "c" * 32


@pytest.fixture
def world(store: SharedStore) -> StoredWorld:
    """Labels alone."""
    return StoredWorld(store)


@pytest.mark.parametrize(
    ("named", "gone", "left"),
    [
        ({"trace_id": TRACE}, 4, 2),
        ({"annotator": "ann"}, 4, 2),
        ({"annotator": "ann", "trace_id": TRACE}, 3, 3),
        ({"trace_id": TRACE, "agent_run_id": "run-1"}, 4, 2),
        ({"id": "1"}, 2, 4),
        ({"id": "1", "trace_id": OTHER}, 1, 5),
        ({"annotator": "nobody"}, 0, 6),
    ],
)
def test_named_labels_are_deleted(world: StoredWorld, named: dict[str, Any], gone: int, left: int) -> None:
    """Every version of them, withdrawn ones too; nothing else; the second time there are none."""
    moved = replace(ONE, span_id="d" * 16, changed_at=6)
    bob = replace(SCORE, annotator="bob", withdrawn=True)
    other = replace(ONE, trace_id=OTHER)
    world.labels.save(
        Labelled([ONE, moved, other], [SCORE, bob], [REVIEW, replace(REVIEW, trace_id=OTHER, annotator="x")])
    )
    assert world.labels.delete(LabelQuery(0, **named)) == gone
    assert world.labels.delete(LabelQuery(0, **named)) == 0
    assert sum(len(world.labels.find(kind, LabelQuery(100, withdrawn=True))) for kind in LABELS) == left


def test_one_id_in_several_traces_is_several_labels(world: StoredWorld) -> None:
    """Pages of a list lose none of them, whichever way they are read, though they changed at one time."""
    all_of_them = [replace(ONE, trace_id=f"{n:032x}") for n in range(5)]
    world.labels.save(Labelled(all_of_them))
    for way in ("before", "after"):
        at, found = (Position(9, "") if way == "before" else Position(0)), list[Annotation]()
        while page := world.labels.find(Annotation, LabelQuery(2, **{way: at})):  # type: ignore[arg-type]
            found += page
            at = Position(page[-1].changed_at, page[-1].place)
        assert sorted(a.trace_id for a in found) == [a.trace_id for a in all_of_them]
