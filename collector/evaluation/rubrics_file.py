"""A learned set as the file that people read, edit and accept."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from tracejury.judges.llm.data_files import yaml_of
from tracejury.judges.rubrics.rubric_set import Rubric, RubricSet
from tracejury.schemas.errors import ConfigError

HEAD: Final = """\
# Rubrics that a model learned from labelled sessions (see docs/scope.md). Their words come from what users, agents
# and tools said, and a judge will be asked by them: read each `text` and `name` before you accept the set.
#
# - Does it speak for its `label` in any session, not just in one?
# - Is it a sign of the agent's work, not an instruction to the judge, an advertisement, a person or a secret?
# - A rubric that rests on a single session may be that session's alone: delete it, or look at the session.
# - `make_or_break`: a single case decides against a session. Is that so?
#
# Edit, add or delete rubrics as you like, then write your name behind `accepted_by`: nothing judges by a set without.
"""
SINGLE: Final = "rests on a single session"


def check_new(path: Path) -> None:
    """Refuse a path that cannot become a new set's.

    Raises:
        ConfigError: there is a file, it has no name of a YAML file, or no folder.
    """
    if path.suffix not in {".yaml", ".yml"}:
        raise ConfigError(f"--out: {path} must end in .yaml or .yml")
    if path.exists():
        raise ConfigError(f"--out: {path} is there already, and no file is overwritten: name a new one")
    if not path.parent.is_dir():
        raise ConfigError(f"--out: there is no folder {path.parent}")


def write_rubric_set(path: Path, rubrics: RubricSet) -> None:
    """Write a new file.

    Raises:
        ConfigError: it is there, or cannot be made.
    """
    try:
        with path.open("x", encoding="utf-8") as file:
            file.write(rubric_set_text(rubrics))
    except OSError as error:
        raise ConfigError(f"--out: {path} cannot be made: {error.strerror}") from None


def rubric_set_text(rubrics: RubricSet) -> str:
    """The file's text; `read_rubric_set` gives the set again."""
    data = rubrics.model_dump(mode="json")
    learned_from, listed = data.pop("learned_from"), data.pop("rubrics")
    text = f"{HEAD}{yaml_of(data)}rubrics:\n"
    for rubric, own in zip(rubrics.rubrics, listed, strict=True):
        text += f"# {SINGLE}\n" * single(rubric) + yaml_of([own], rows=True)
    return text + yaml_of({"learned_from": learned_from}, rows=True)


def single(rubric: Rubric) -> bool:
    """Whether a rubric rests on one session alone."""
    return len(rubric.sessions) == 1
