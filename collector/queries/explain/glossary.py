"""The glossary: terms of `words.yaml`, judges by their criteria, detectors of the suite.

Beside keys and titles it knows the other names under which pages and tables show terms. Of a built-in detector it tells
the record, and how the confidence follows from it, for people to recompute.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib import resources
from statistics import fmean
from typing import Any, Final

import yaml

from tracejury.judges.base import scope_of
from tracejury.judges.detectors import BUILT_IN as RULES
from tracejury.judges.llm.criteria import BUILT_IN, GPA_JUDGES, load_set, offered_judges
from tracejury.judges.llm.criteria_types import Criteria
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.records import COUNTED, FAMILY_NAMES, NEXT_AGENT, UNPROVEN, family, is_supported, records
from tracejury.judges.registry import default_suite, priors
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.profiles import DEFAULT_PROFILE, threshold
from tracejury.schemas.queries.glossary import Term, TermSection
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, with_group
from tracejury.schemas.text.counting import counted

from .pack_terms import CATEGORY, CHECK, PACK, pack_names, pack_terms
from .slugs import slug

KINDS: Final[Mapping[str, str]] = {
    "figure": "Figures",
    "dimension": "Dimensions",
    "category": "Categories (TRAIL)",
    "severity": "Severities",
    "judge": "LLM judges",
    "detector": "Detectors",
    PACK: "Packs",
    CHECK: "Checks of packs",
    CATEGORY: "Categories of packs",
    "outcome": "Outcomes of judging",
    "why": "Why a run stands in no rate",
    "profile": "Profiles",
    "state": "States",
    "word": "Words",
}
"""Kinds of terms with their headings, in the order in which they are listed."""
_NEAR: Final = 5
_MOST_JOINED: Final = len(Dimension)
_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

JOINT: Final = "+"
"""Between the dimensions of one finding: "PA+TS+LC"."""

_PROFILE: Final = f"{DEFAULT_PROFILE} ({threshold(DEFAULT_PROFILE):g})"


@cache
def glossary() -> Mapping[str, Term]:
    """All terms by key, in the order in which they are listed."""
    # Packs first: where a package names one as something else, that keeps its meaning.
    terms = [*pack_terms(known_packs()[0]), *_words(), *_scales(), *_judges(), *_detectors()]
    order = list(KINDS)
    return {t.key: t for t in sorted({t.key: t for t in terms}.values(), key=lambda term: order.index(term.kind))}


def find_term(name: str) -> Term | None:
    """The term of a key, title or other name that is shown, whatever the case; None: there is none."""
    parts = name.split(JOINT, _MOST_JOINED)
    if len(parts) > 1 and (joined := joined_dimensions([_names().get(slug(part)) for part in parts])):
        return joined
    return _names().get(slug(name))


def explain(name: str) -> Term:
    """The term of a name.

    Raises:
        NotFoundError: there is none; the line names near ones.
    """
    term = find_term(name)
    if term is None:
        near = near_terms(name)
        hint = f"; near: {', '.join(near)}" if near else "; the list without a name has all there is"
        raise NotFoundError(f"nothing is known of {name[:60]!r}{hint}")
    return term


def near_terms(name: str) -> Sequence[str]:
    """Keys that are spelt alike, or hold the word, the nearest first."""
    wanted = slug(name[:100])
    names = _names()
    close = difflib.get_close_matches(wanted, list(names), n=_NEAR, cutoff=0.6)
    close += [other for other in names if len(wanted) > 2 and wanted in other]  # noqa: PLR2004  shorter stands in many
    return list(dict.fromkeys(names[other].key for other in close))[:_NEAR]


def by_kind(terms: Iterable[Term]) -> Mapping[str, Sequence[Term]]:
    """The terms under the heading of their kind."""
    found: dict[str, list[Term]] = {}
    for term in terms:
        found.setdefault(KINDS[term.kind], []).append(term)
    return found


@cache
def _names() -> Mapping[str, Term]:
    terms = glossary()
    titles = {d.name: str(title) for d in default_suite().detectors if (title := getattr(d, "title", ""))}
    names = {slug(name): term for name, term in pack_names(known_packs()[0], terms)}
    names |= {slug(name): term for name, term in shown_names(list(terms.values()), titles)}
    names |= {slug(name): terms[key] for key, others in read_data("other_names.yaml").items() for name in others}
    return names | {slug(term.title): term for term in terms.values() if term.kind != CATEGORY} | dict(terms)


def _words() -> Iterator[Term]:
    for kind, words in read_data("words.yaml").items():
        for name, said in words.items():
            yield Term(slug(name), kind, said.get("title", name), said["text"])


def _scales() -> Iterator[Term]:
    # The paper's definitions are of the dimensions; the production set's say how its judges look for them.
    published = {criteria.name: criteria for criteria in load_set("paper").judges}
    for dimension, judge in GPA_JUDGES.items():
        criteria = published[judge]
        title = f"{criteria.title} ({dimension.value})"
        yield Term(slug(dimension.value), "dimension", title, criteria.definition, see=(judge,))
    for severity, text in load_set(BUILT_IN[0]).rules.severities.items():
        yield Term(slug(severity.value), "severity", severity.value, f"{text[:1].upper()}{text[1:]}.")


def _judges() -> Iterator[Term]:
    seen: dict[str, Criteria] = {}
    for criteria in [c for name in BUILT_IN for c in load_set(name).judges] + list(offered_judges()[0]):
        seen.setdefault(criteria.name, criteria)
    for criteria in seen.values():
        yield judge_term(criteria)


def judge_term(criteria: Criteria) -> Term:
    """A judge by its criteria."""
    dimension = (slug(criteria.dimension.value),) if criteria.dimension else ()
    return Term(
        criteria.name,
        "judge",
        criteria.title,
        criteria.definition,
        (
            TermSection("Counts", criteria.in_scope),
            TermSection("Does not count", criteria.out_of_scope),
            TermSection(
                "Scores", tuple(f"{score}: {criteria.scale[score]}" for score in sorted(criteria.scale, reverse=True))
            ),
        ),
        (*dimension, *(slug(category) for category in criteria.categories)),
    )


def _detectors() -> Iterator[Term]:
    texts, built_in = rule_texts(read_data("detectors.yaml")), {detector.name for detector in RULES}
    for detector in default_suite().detectors:
        text = texts.get(detector.name) or _own_words(detector)
        facts = [f"{label}: {value}" for label, value in _facts(detector)]
        see = (
            slug(str(getattr(detector, "category", ""))),
            *(slug(str(d)) for d in getattr(detector, "dimensions", ())),
        )
        sections = [TermSection("Reports", tuple(facts))] if facts else []
        if detector.name in built_in:
            sections.append(TermSection("Record", tuple(record_lines(detector.name))))
        yield Term(detector.name, "detector", detector.name, text, tuple(sections), tuple(key for key in see if key))


def rule_texts(data: Mapping[str, Any]) -> Mapping[str, str]:
    """A text by the name of each rule: `rules` as they are, `forms` for each of `kinds`."""
    made = {
        form.format(kind=kind): text.format(what=what)
        for form, text in data["forms"].items()
        for kind, what in data["kinds"].items()
    }
    return {**made, **data["rules"]}


def _facts(detector: Any) -> Iterator[tuple[str, str]]:
    if title := getattr(detector, "title", ""):
        yield "title", str(title)
    if category := getattr(detector, "category", ""):
        yield "category", str(category)
    if dimensions := getattr(detector, "dimensions", ()):
        yield "dimensions, the first is the primary one", ", ".join(str(d) for d in dimensions)
    if severity := getattr(detector, "severity", ""):
        yield "severity", str(severity)
    yield "scope, the part of a trace that decides", scope_of(detector).value


def _own_words(detector: Any) -> str:
    words = " ".join((type(detector).__doc__ or "").split())
    return words or "A rule of an installed package, which says nothing of itself."


def read_data(name: str) -> Any:
    """A data file of this package."""
    text = (resources.files(__package__) / name).read_text("utf-8")
    return yaml.load(text, Loader=_LOADER)  # noqa: S506  the safe loader, in C where there is one


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


def record_lines(rule: str) -> Iterator[str]:
    """Its share of right errors by data set, then the confidence as their mean (records.py)."""
    if rule in COUNTED:
        yield f"it compares recorded figures with a bound, so no data set tells: confidence {priors()[rule].mean:.3f}"
        return
    record = records().get(family(rule), {})
    for data_set, one in record.items():
        found = f"right in {one.right} of {counted(one.claims, 'error')}, over {counted(one.agents, 'agent')}"
        yield f"{data_set}: {found}; expected share ({one.right} + 1) / ({one.claims} + 2) = {one.expected:.3f}"
    yield f"the next agent, of which nothing is known: expected share (0 + 1) / (0 + 2) = {NEXT_AGENT.expected:.3f}"
    shares = [*(one.expected for one in record.values()), NEXT_AGENT.expected]
    mean = fmean(shares)
    shown = " + ".join(f"{share:.3f}" for share in shares)
    formula = f"({shown}) / {len(shares)} = {mean:.3f}"
    if is_supported(record):
        yield f"confidence, the mean of the shares: {formula}"
    else:
        mean *= UNPROVEN
        why = "fewer than two data sets support it" if record else "no data set has a case of it"
        yield f"mean of the shares: {formula}"
        yield f"unproven, since {why}: confidence {UNPROVEN:.4f} times that mean = {mean:.3f}, below {_PROFILE}"
    if (most := priors()[rule].mean) < round(mean, 4):
        yield f"a candidate, which stays below {_PROFILE} whatever its record: confidence at most {most:.3f}"
