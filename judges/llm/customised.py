"""A criteria set with a user's own instructions and few-shot examples for its judges."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

from pydantic import Field, RootModel

from tracejury.schemas.errors import ConfigError

from .criteria_types import Criteria, CriteriaSet, Example, Instructions, Name
from .data_files import model_of, read_model

Examples = Mapping[str, tuple[Example, ...]]
"""By judge's name."""


class ExamplesFile(RootModel[dict[Name, Annotated[tuple[Example, ...], Field(min_length=1, max_length=5)]]]):
    """A file of examples: judge's name to one or several, each with `step` and `finding`."""


class InstructionsByJudge(RootModel[dict[Name, Instructions]]):
    """Instructions by judge's name."""


def load_examples(path: str) -> Examples:
    """The examples of a YAML or JSON file; none for "".

    Raises:
        ConfigError: it cannot be read, or what is wrong in it, in one line.
    """
    return read_model(Path(path), ExamplesFile).root if path else {}


def customised(criteria: CriteriaSet, instructions: Mapping[str, str], examples: Examples) -> CriteriaSet:
    """The set with these in the place of those of its files.

    Raises:
        ConfigError: a judge that is named is not in the set, or instructions are too long.
    """
    told = model_of(instructions, InstructionsByJudge, "judges.instructions").root
    names = {judge.name for judge in criteria.judges}
    own: Mapping[str, Mapping[str, object]] = {"instructions": told, "examples": examples}
    for key, given in own.items():
        if unknown := [name for name in given if name not in names]:
            there = ", ".join(sorted(names))
            raise ConfigError(f"judges.{key}: no judge named {unknown[0][:60]!r} in the set: it has {there}")

    def with_own(judge: Criteria) -> Criteria:
        return judge.model_copy(update={key: given[judge.name] for key, given in own.items() if judge.name in given})

    return criteria.model_copy(update={"judges": tuple(map(with_own, criteria.judges))})
