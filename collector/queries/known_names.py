"""Names to filter by that neither the stored data nor this program has, with the known ones."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Final

from tracejury.collector.store.lists.known import KINDS, StoredNames
from tracejury.collector.store.scope import Scope
from tracejury.judges.llm.criteria import GPA_JUDGES
from tracejury.schemas.filters import SCORE
from tracejury.schemas.score_filter import scores
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES
from tracejury.schemas.verdicts import DETECTORS

from .explain.glossary import glossary
from .explain.pack_terms import CATEGORY, CHECK, PACK

MOST: Final = 20
"""Known names of a kind that are listed."""


def unknown_names(scope: Scope, asked: Mapping[str, str], task_keys: Sequence[str] = ()) -> dict[str, list[str]]:
    """Of the names in `asked`, by kind, the unknown ones: for each up to `MOST` known names, the nearest first.

    Of a `score` its judges are looked up. What is of no kind in `KINDS`, and what is "", is left out. `task_keys`:
    attributes that name a task.

    Raises:
        RetryableError, StoreError: the store failed.
    """
    names = StoredNames(scope, task_keys)
    found: dict[str, list[str]] = {}
    for kind, given in asked.items():
        for name in [one.split()[0] for one in scores(kind, given)] if kind == SCORE.name else [given]:
            if kind in KINDS and name and name not in _own(kind) and not names.holds(kind, name):
                found.setdefault(kind, _nearest(name, [*names.near(kind, name, MOST), *_own(kind)]))
    return found


def _own(kind: str) -> Collection[str]:
    """Names that are known without any data."""
    if kind == "category":
        of_packs = [
            (term.see[0].partition("-")[0], term.title) for term in glossary().values() if term.kind == CATEGORY
        ]
        trail = [*TRAIL_CATEGORIES, *(f"{TRAIL}/{name}" for name in TRAIL_CATEGORIES)]
        return [*trail, *(name for pack, one in of_packs for name in (one, f"{pack}/{one}"))]
    if kind == "taxonomy":
        return [TRAIL, *(term.key for term in glossary().values() if term.kind == PACK)]
    if kind == SCORE.name:
        return GPA_JUDGES.values()
    if kind == "judge":
        return [DETECTORS, *(term.key for term in glossary().values() if term.kind in ("judge", "detector", CHECK))]
    return ()


def _nearest(name: str, known: Collection[str]) -> list[str]:
    short = [one for one in dict.fromkeys(known) if not one.startswith(f"{TRAIL}/")]
    return sorted(short, key=lambda one: -SequenceMatcher(None, name[:100].lower(), one.lower()).ratio())[:MOST]
