"""A learned set for people: what is to be read before it is accepted. Its words are a model's, made safe."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import RenderableType

from tracejury.collector.evaluation.rubrics_file import SINGLE, single
from tracejury.judges.rubrics.rubric_set import Rubric, RubricSet

from .tables import content, plain_table


def rubric_set_json(rubrics: RubricSet) -> dict[str, Any]:
    """The set as its file has it."""
    return rubrics.model_dump(mode="json")


def rubric_set_table(rubrics: RubricSet) -> RenderableType:
    """A row for each rubric."""
    table = plain_table("label", "weight", "sessions", "rubric", "text")
    for one in rubrics.rubrics:
        weight = "make-or-break" if one.make_or_break else str(one.weight)
        marked = f"{one.text} [{SINGLE}]" if single(one) else one.text
        table.add_row(one.label, weight, str(len(one.sessions)), content(one.name, 60), content(marked, 400))
    return table


def learning_remarks(rubrics: RubricSet) -> Iterator[str]:
    """What was counted, and what is to be done with the file."""
    counts = rubrics.counts
    yield "counted: " + ", ".join(f"{name.replace('-', ' ')} {number}" for name, number in counts.items())
    doubtful: list[Rubric] = [one for one in rubrics.rubrics if single(one)]
    if doubtful:
        yield f"{len(doubtful)} of {len(rubrics.rubrics)} rubrics rest on a single session: look at these first"
