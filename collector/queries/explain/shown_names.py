"""Other names under which pages and tables show terms, beside keys and titles."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from tracejury.judges.records import FAMILY_NAMES, family
from tracejury.schemas.queries.glossary import Term, TermSection
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, with_group

JOINT: Final = "+"
"""Between the dimensions of one finding: "PA+TS+LC"."""


def shown_names(terms: Sequence[Term], titles: Mapping[str, str]) -> Iterator[tuple[str, Term]]:
    """(name, term) of categories with their group, and of families and titles of detectors.

    `titles`: the title of the findings of each detector, by the detector's name.
    """
    by_title = {term.title: term for term in terms if term.kind == "category"}
    yield from ((with_group(TRAIL, category), by_title[category]) for category in TRAIL_CATEGORIES)
    detectors = [term for term in terms if term.kind == "detector"]
    for name in sorted(FAMILY_NAMES):
        members = [term for term in detectors if family(term.key) == name]
        yield name, _joined(name, "These detectors share a record.", "Detectors", members)
    for title in sorted(set(titles.values())):
        members = [term for term in detectors if titles.get(term.key) == title]
        text = "The title of the errors that these detectors report."
        yield title, members[0] if len(members) == 1 else _joined(title, text, "Detectors", members)


def joined_dimensions(terms: Sequence[Term | None]) -> Term | None:
    """The term of several dimensions that stand together; None where one is no dimension."""
    found = [term for term in terms if term is not None and term.kind == "dimension"]
    if len(found) < len(terms):
        return None
    name = JOINT.join(term.key.upper() for term in found)
    return _joined(name, "The dimensions of one error; the first is the primary one.", "Dimensions", found)


def _joined(name: str, text: str, heading: str, members: Sequence[Term]) -> Term:
    lines = tuple(f"{term.title}: {term.text}" for term in members)
    return Term(name.lower(), "word", name, text, (TermSection(heading, lines),), tuple(term.key for term in members))
