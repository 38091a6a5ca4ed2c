"""Mistakes in files are told in words of files."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tracejury.judges.llm.problems import place_of, told


class Inner(BaseModel):
    """Of a list."""

    model_config = ConfigDict(extra="forbid")

    rate: Annotated[float, Field(le=1)] = 1.0


class File(BaseModel):
    """What a user writes."""

    model_config = ConfigDict(extra="forbid")

    name: str
    items: list[Inner] = []
    words: dict[str, str] = {}


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ({"name": "x", "nmae": 1}, "nmae: there is no such key here"),
        ({}, "name: this key is missing"),
        ({"name": 3}, "name: must be text"),
        ({"name": "x", "items": 3}, "items: must be a list"),
        ({"name": "x", "items": ["y"]}, "items.0: must be a mapping of keys to values"),
        ({"name": "x", "words": 3}, "words: must be a mapping of keys to values"),
        ({"name": "x", "items": [{"rate": 20}]}, "items.0.rate: must be less than or equal to 1"),
        ({"name": "x", "items": [{"rate": "fast"}]}, "items.0.rate: must be a number"),
        ("x", ": must be a mapping of keys to values"),
    ],
)
def test_a_problem_is_told_without_words_of_classes(data: Any, line: str) -> None:
    """Where it is, and what would be right."""
    with pytest.raises(ValidationError) as caught:
        File.model_validate(data)
    (problem,) = caught.value.errors()
    assert f"{place_of(problem)}: {told(problem)}" == line
