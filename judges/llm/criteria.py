"""Criteria from YAML: the built-in sets, users' folders, users' single judges, judges that installed packages offer."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from importlib.metadata import EntryPoint, entry_points
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from tracejury.schemas.errors import ConfigError

from .criteria_types import GPA_JUDGES, Criteria, CriteriaSet, Example, Principle, Rules
from .data_files import problems_of, read_model

__all__ = [
    "BUILT_IN",
    "GPA_JUDGES",
    "GROUP",
    "Criteria",
    "CriteriaSet",
    "Example",
    "Principle",
    "Rules",
    "extended",
    "load_judge",
    "load_set",
    "offered_judges",
]

BUILT_IN: Final = ("production", "paper")
GROUP: Final = "tracejury.judges"
"""Entry point group: each entry is a `Criteria`, a path to a YAML file, or a function that returns one of them."""

RULES_FILE: Final = "_set.yaml"


def load_set(name_or_path: str) -> CriteriaSet:
    """A built-in set by its name, or the set in a folder: `_set.yaml` and one YAML file a judge.

    Raises:
        ConfigError: no such set, or what is wrong in which of its files, in one line.
    """
    if name_or_path in BUILT_IN:
        root = resources.files(__package__.rpartition(".")[0])
        return _read_set(root / "criteria" / name_or_path, name_or_path)
    folder = Path(name_or_path)
    if not folder.is_dir():
        raise ConfigError(f"no criteria set {name_or_path[:200]!r}: use {', '.join(BUILT_IN)}, or a folder")
    return _read_set(folder, folder.name)


def load_judge(path: str | Path) -> Criteria:
    """One judge from a YAML file.

    Raises:
        ConfigError: what is wrong in it, in one line.
    """
    return read_model(Path(path), Criteria)


def offered_judges(
    offered: Iterable[EntryPoint] | None = None,
) -> tuple[tuple[Criteria, ...], tuple[tuple[str, str], ...]]:
    """Judges of installed packages, and (entry, one line why) for each that cannot be had: that is not fatal."""
    found: dict[str, Criteria] = {}
    broken: list[tuple[str, str]] = []
    for entry in sorted(entry_points(group=GROUP) if offered is None else offered, key=lambda e: (e.name, e.value)):
        try:
            criteria = _offered(entry)
        except Exception as error:  # noqa: BLE001 - a broken package must not stop the collector
            broken.append((entry.name, f"{type(error).__name__}: {' '.join(str(error).split())}"[:200]))
            continue
        if criteria.name in found:
            broken.append((entry.name, f"a judge named {criteria.name!r} is there already"))
        else:
            found[criteria.name] = criteria
    return tuple(found.values()), tuple(broken)


def extended(base: CriteriaSet, judges: Iterable[Criteria]) -> tuple[CriteriaSet, tuple[tuple[str, str], ...]]:
    """`base` with those of `judges` whose names are free, and (name, one line why) for the others."""
    names = {j.name for j in base.judges}
    free: list[Criteria] = []
    taken: list[tuple[str, str]] = []
    for judge in judges:
        if judge.name in names:
            taken.append((judge.name, f"a judge named {judge.name!r} is in the set {base.name!r} already"))
        else:
            names.add(judge.name)
            free.append(judge)
    return base.joined(tuple(free)), tuple(taken)


def _offered(entry: EntryPoint) -> Criteria:
    value = entry.load()
    if callable(value) and not isinstance(value, Criteria | str | Path):
        value = value()
    if isinstance(value, str | Path):
        return load_judge(value)
    if not isinstance(value, Criteria):
        raise TypeError("a judge is a Criteria object or the path of a YAML file")
    return value


def _read_set(folder: Traversable, name: str) -> CriteriaSet:
    files = sorted((f for f in folder.iterdir() if f.name.endswith((".yaml", ".yml"))), key=lambda f: f.name)
    rules = [f for f in files if f.name == RULES_FILE]
    if not rules:
        raise ConfigError(f"{folder}: a criteria set needs a file {RULES_FILE}")
    judges = [read_model(f, Criteria) for f in files if f.name != RULES_FILE]
    if not judges:
        raise ConfigError(f"{folder}: a criteria set needs at least one judge")
    order = list(GPA_JUDGES.values())
    judges.sort(key=lambda j: (order.index(j.name) if j.name in order else len(order), j.name))
    try:
        return CriteriaSet(name=name, rules=read_model(rules[0], Rules), judges=tuple(judges))
    except ValidationError as error:
        raise ConfigError(f"{folder}: {problems_of(error)}") from None
