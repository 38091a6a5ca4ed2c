"""Terms of packs: the pack, its checks with their measures, and the categories of what they find."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from tracejury.judges.checks.check_types import Check
from tracejury.judges.packs.pack_types import Pack
from tracejury.schemas.queries.glossary import Term, TermSection

from .slugs import slug

PACK, CHECK, CATEGORY = "pack", "check", "pack-category"
"""Kinds of their terms."""

_AVERAGE: Final = "The plain mean of those of its measures that are defined: {measures}."


def pack_terms(packs: Iterable[Pack]) -> Iterator[Term]:
    """The terms of packs, whether these are switched on or not."""
    for pack in packs:
        yield _pack(pack)
        for check in pack.checks:
            yield _check(pack, check)
            for category, text in check.categories.items():
                yield Term(_category_key(pack, category), CATEGORY, category, _sentence(text), (), (check.name,))


def pack_names(packs: Iterable[Pack], terms: Mapping[str, Term]) -> Iterator[tuple[str, Term]]:
    """(name, term) under which packs' terms are shown beside their keys: "PIPA S", "S", "State consistency"."""
    for pack in packs:
        measures = ", ".join(f"{check.measure} ({check.title})" for check in pack.checks)
        title = f"{pack.title} AVG"
        yield title, Term(slug(title), PACK, title, _AVERAGE.format(measures=measures), (), (pack.name,))
        for check in pack.checks:
            for name in (check.title, f"{pack.title} {check.title}", f"{pack.title} {check.measure}", check.measure):
                yield name, terms[check.name]
            for category in check.categories:
                yield category, terms[_category_key(pack, category)]


def _pack(pack: Pack) -> Term:
    sections = (
        TermSection("Measures", tuple(f"{c.measure}, {c.title}: {c.definition}" for c in pack.checks)),
        TermSection("Words", tuple(f"{word}: {text}" for word, text in pack.definitions.items())),
    )
    return Term(pack.name, PACK, pack.title, pack.description, sections, tuple(c.name for c in pack.checks))


def _check(pack: Pack, check: Check) -> Term:
    asks = (check.question, check.best, f"Answers, best first: {', '.join(check.answers)}.")
    reports = [f"category: {category}" for category in check.categories]
    reports += [f"dimension: {check.dimension}"] if check.dimension else []
    reports += [f"severity: {check.severity}", f"confidence: {check.confidence:g}"]
    sections = (
        TermSection("Asks of each item" if check.asks else "Without a model", tuple(text for text in asks if text)),
        TermSection("Reports", (check.explain, *reports)),
    )
    title = f"{check.title} ({pack.title} {check.measure})"
    see = (pack.name, *(_category_key(pack, category) for category in check.categories))
    dimension = (slug(check.dimension.value),) if check.dimension else ()
    return Term(check.name, CHECK, title, check.definition, sections, (*see, *dimension))


def _category_key(pack: Pack, category: str) -> str:
    return slug(f"{pack.name}/{category}")


def _sentence(text: str) -> str:
    told = f"{text[:1].upper()}{text[1:]}"
    return told if told.endswith(".") else f"{told}."
