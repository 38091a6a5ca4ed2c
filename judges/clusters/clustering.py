"""Clusters of errors as they are shown, with the names that are kept, and what a model is to name."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from .error_group import MOST_TEXTS, ClusteredError, ErrorGroup, Grouped, by_category, by_text, largest_first

MOST_NAMED: Final = 1_000
"""Errors of a group with which its name is stored."""


@dataclass(frozen=True, slots=True)
class StoredName:
    """The name of an error's type, and when it was given, unix nanos."""

    name: str
    at: int


@dataclass(frozen=True, slots=True)
class ClusterUnits:
    """What is named as a whole: the errors of one text where there are few texts, else those of one small group.

    `kept`: types whose name is known, as groups; `unnamed`: what a model is to name, the largest first; `single`:
    errors of no group.
    """

    kept: Sequence[ErrorGroup]
    unnamed: Sequence[ErrorGroup]
    single: Sequence[ClusteredError]


def clustered(errors: Sequence[ClusteredError], names: Mapping[str, StoredName]) -> Grouped:
    """All errors in types whose name is kept and in groups without one. `names`: by the id of an error."""
    units = cluster_units(errors, names)
    rest = Grouped(units.unnamed, units.single)
    if _few(errors):
        rest = alike(error for unit in units.unnamed for error in unit.errors)
    return Grouped(largest_first([*units.kept, *rest.groups]), rest.single)


def cluster_units(errors: Sequence[ClusteredError], names: Mapping[str, StoredName]) -> ClusterUnits:
    """What has a name, and what a model would be asked about: each of up to 200 texts, else small groups."""
    found = Grouped(by_text(errors)) if _few(errors) else alike(errors)
    kept: defaultdict[tuple[str, str], list[ErrorGroup]] = defaultdict(list)
    unnamed: list[ErrorGroup] = []
    single: list[ClusteredError] = []
    alone = set(found.single)
    for unit in (*found.groups, *by_text(found.single)):
        if name := kept_name(unit.errors, names):
            kept[unit.tool, name].append(unit)
        elif unit.errors[0] in alone:
            single += unit.errors
        else:
            unnamed.append(unit)
    return ClusterUnits(largest_first(joined(own, name) for (_, name), own in kept.items()), unnamed, sorted(single))


def joined(groups: Sequence[ErrorGroup], name: str) -> ErrorGroup:
    """One type of several groups, with the example of the largest."""
    errors = tuple(sorted(error for group in groups for error in group.errors))
    return ErrorGroup(errors, largest_first(groups)[0].example, name, named=True)


def kept_name(errors: Sequence[ClusteredError], names: Mapping[str, StoredName]) -> str:
    """The name that more than half of these errors have, of those that were there when it was given; "" for none.

    A name is stored with up to `MOST_NAMED` errors of a group, so of more no more are asked for.
    """
    votes = Counter(names[error.id].name for error in errors if error.id in names)
    if not votes:
        return ""
    name, count = min(votes.items(), key=lambda vote: (-vote[1], vote[0]))
    given = max(names[error.id].at for error in errors if error.id in names and names[error.id].name == name)
    there = sum(error.seen <= given for error in errors)
    return name if 2 * count > min(there, MOST_NAMED) else ""


def alike(errors: Iterable[ClusteredError]) -> Grouped:
    """Groups by the likeness of texts; by category where scikit-learn, the extra `clusters`, is not installed."""
    try:
        from .engine import by_likeness
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("sklearn", "scipy", "numpy"):
            raise
        return by_category(errors)
    return by_likeness(errors)


def _few(errors: Iterable[ClusteredError]) -> bool:
    return len({(error.block, error.text) for error in errors}) <= MOST_TEXTS
