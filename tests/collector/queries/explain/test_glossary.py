"""Everything that pages and tables name is explained, once, and can be found."""

from __future__ import annotations

import re
from importlib import resources
from itertools import permutations
from pathlib import Path
from statistics import fmean

import pytest

from tracejury.collector.queries.explain.glossary import explain, find_term, glossary, near_terms, read_data, rule_texts
from tracejury.collector.queries.explain.slugs import slug
from tracejury.collector.store.derived.judge_coverage import BY_HAND, NOT_ASKED, OPEN
from tracejury.judges.checks.check_types import Check
from tracejury.judges.llm.criteria import BUILT_IN, load_set
from tracejury.judges.packs.loader import known_packs
from tracejury.judges.records import COUNTED, FAMILY_NAMES, family
from tracejury.judges.registry import default_suite, priors
from tracejury.schemas.agent_errors import ErrorRole
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.not_judged import NotJudged
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.rates import By, Population
from tracejury.schemas.taxonomy import TRAIL, TRAIL_CATEGORIES, Dimension, Severity, with_group
from tracejury.schemas.verdicts import Outcome

DETECTORS = [detector.name for detector in default_suite().detectors]
JUDGES = sorted({criteria.name for name in BUILT_IN for criteria in load_set(name).judges})
NAMED = {
    "detector": DETECTORS,
    "judge": JUDGES,
    "dimension": [d.value for d in Dimension],
    "category": list(TRAIL_CATEGORIES),
    "severity": [s.value for s in Severity],
    "outcome": [o.value for o in Outcome],
}


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, names in NAMED.items() for name in names])
def test_whatever_is_named_is_explained_as_what_it_is(kind: str, name: str) -> None:
    """Every detector of the suite, judge of the sets, dimension, category, severity and outcome has its text."""
    term = explain(name)
    assert term.kind == kind
    assert len(term.text) > 20


PIPA = next(pack for pack in known_packs()[0] if pack.name == "pipa")


@pytest.mark.parametrize("check", PIPA.checks, ids=lambda check: check.name)
def test_a_check_of_a_built_in_pack_is_explained_by_each_of_its_names(check: Check) -> None:
    """Whether the pack is switched on or not: its name, its measure's name and letter, and what it finds."""
    term = explain(check.name)
    assert (term.kind, term.title) == ("check", f"{check.title} (PIPA {check.measure})")
    for name in (check.title, f"PIPA {check.measure}", f"pipa {check.measure.lower()}", f"PIPA {check.title}"):
        assert explain(name) is term
    lines = [line for section in term.sections for line in section.lines]
    assert check.explain in lines
    assert {check.question, check.best} - {None} <= set(lines)
    for category in (check.category, *check.also):
        found = explain(category)
        assert (found.kind, found.see) == ("pack-category", (check.name,))
        assert explain(f"pipa/{category}") is found
        assert found.key in term.see


def test_a_built_in_pack_is_explained() -> None:
    """With its measures, the words that it uses, and their mean."""
    term = explain("PIPA")
    assert (term.key, term.kind, term.text) == ("pipa", "pack", PIPA.description)
    (measures, words) = term.sections
    assert [line.split(",")[0] for line in measures.lines] == ["S", "A", "O", "P", "R"]
    assert len(words.lines) == len(PIPA.definitions)
    assert "S (State consistency)" in explain("PIPA AVG").text


@pytest.mark.parametrize("name", ["exchange", "pack", "check", "measure", "ungrounded"])
def test_words_of_packs_are_explained(name: str) -> None:
    assert explain(name).kind == "word"


@pytest.mark.parametrize("name", [*PROFILES, *By, "population", "error-rate", "interval", "p-value"])
def test_profiles_and_what_rates_are_asked_by_are_explained(name: str) -> None:
    """A profile, each break-down that the pages offer, and their figures have a text, too."""
    assert find_term(name) is not None


def _shown_of_rules() -> set[str]:
    """Names that stand in lines of errors: of each detector its name, title, category and joined dimensions."""
    return {
        name
        for rule in default_suite().detectors
        for name in (
            rule.name,
            str(getattr(rule, "title", "")) or rule.name,
            with_group(TRAIL, str(getattr(rule, "category", "")) or TRAIL_CATEGORIES[0]),
            "+".join(getattr(rule, "dimensions", ())) or "PQ",
        )
    }


def _shown_of_judges() -> set[str]:
    judges = [criteria for name in BUILT_IN for criteria in load_set(name).judges]
    codes = [criteria.code for criteria in judges]
    names = {name for criteria in judges for name in (criteria.name, criteria.title, *criteria.categories)}
    return names | {"+".join(pair) for pair in permutations(codes[: len(Dimension)], 2)} | {"+".join(Dimension)}


def test_every_name_that_is_shown_is_explained() -> None:
    """Of detectors and judges, families of detectors, populations and the roles of an error's spans."""
    shown = _shown_of_rules() | _shown_of_judges() | set(TRAIL_CATEGORIES) | FAMILY_NAMES | {*Population, *ErrorRole}
    assert len(shown) > 200
    assert sorted(name for name in shown if find_term(name) is None) == []


def test_dimensions_that_stand_together_are_explained_one_by_one() -> None:
    """In their order, whatever the case; with what is no dimension there is no such term."""
    term = explain("PA+TS+LC")
    assert (term.title, term.see) == ("PA+TS+LC", ("pa", "ts", "lc"))
    assert [line.split(":")[0] for line in term.sections[0].lines] == [explain(key).title for key in term.see]
    assert explain(term.key) == explain("pa+ts+lc") == term
    assert [find_term(name) for name in ("PA+finding", "+".join(["PA"] * 50))] == [None] * 2


def test_a_title_is_explained_by_the_detectors_that_report_it() -> None:
    """By the one, or by all of them."""
    assert explain("Answer given right after a failure").key in DETECTORS
    assert explain("Call timed out").see == ("timeout-error", "timeout-error-at-tool", "timeout-error-read")


def test_a_family_is_no_word() -> None:
    """Its star tells it from one."""
    assert [family(name) for name in explain("model-*").see] == ["model-*"] * 5
    assert (explain("model").kind, explain("error").title) == ("word", "Error")


@pytest.mark.parametrize("rule", sorted(priors().keys() - COUNTED))
def test_the_confidence_of_a_detector_can_be_recomputed_from_its_record(rule: str) -> None:
    """From the counts that are shown: shares, their mean, the factor where it is unproven, the bound of a candidate."""
    lines = next(section.lines for section in explain(rule).sections if section.title == "Record")
    counts = [
        (int(right), int(claims)) for right, claims in re.findall(r"right in ([\d]+) of ([\d]+) ", "\n".join(lines))
    ]
    mean = fmean((right + 1) / (claims + 2) for right, claims in [*counts, (0, 0)])
    factor = next((float(n) for line in lines for n in re.findall(r"confidence ([\d.]+) times", line)), 1.0)
    most = next((float(n) for line in lines for n in re.findall(r"at most ([\d.]+)", line)), 1.0)
    assert f"= {mean:.3f}" in lines[len(counts) + 1]
    assert min(mean * factor, most) == pytest.approx(priors()[rule].mean, abs=0.001)


@pytest.mark.parametrize("rule", sorted(COUNTED))
def test_a_rule_that_compares_figures_says_why_no_record_bears_its_confidence(rule: str) -> None:
    (line,) = next(section.lines for section in explain(rule).sections if section.title == "Record")
    assert (
        line == f"it compares recorded figures with a bound, so no data set tells: confidence {priors()[rule].mean:.3f}"
    )


def test_other_names_are_of_terms_that_exist() -> None:
    """And none hides a term's own key."""
    others = read_data("other_names.yaml")
    assert set(others) <= set(glossary())
    assert {slug(name) for names in others.values() for name in names} & set(glossary()) == set()


def test_no_text_is_of_a_detector_that_is_gone() -> None:
    """What is written out by name belongs to a detector of the suite."""
    assert set(read_data("detectors.yaml")["rules"]) <= set(DETECTORS)


def test_no_two_detectors_share_a_text() -> None:
    """The forms of a kind of failure are told apart."""
    texts = [explain(name).text for name in DETECTORS]
    assert len(set(texts)) == len(texts)


def test_what_a_term_refers_to_exists() -> None:
    """Links between terms lead somewhere."""
    terms = glossary()
    assert [(term.key, key) for term in terms.values() for key in term.see if key not in terms] == []


def test_written_out_texts_go_before_made_ones() -> None:
    """A form fills in the kind; a rule that is written out has its own words."""
    data = {
        "rules": {"b-error": "own"},
        "forms": {"{kind}-error": "failed: {what}"},
        "kinds": {"a": "it broke", "b": "it burst"},
    }
    assert rule_texts(data) == {"a-error": "failed: it broke", "b-error": "own"}


@pytest.mark.parametrize(
    ("typed", "near"),
    [
        ("plan-qualty", "plan-quality"),
        ("Formating Errors", "formatting-errors"),
        ("interval", "interval"),
        ("ungrounded", "ungrounded-turn"),
    ],
)
def test_an_unknown_term_suggests_near_ones(typed: str, near: str) -> None:
    """By spelling, and by what holds the word."""
    assert near in near_terms(typed)


def test_an_unknown_term_is_one_line() -> None:
    """It names near ones; of a long one only the beginning."""
    with pytest.raises(NotFoundError, match=r"^nothing is known of 'gaol fulfilment'; near: goal-fulfilment"):
        explain("gaol fulfilment")
    with pytest.raises(NotFoundError) as caught:
        explain("\x1b[2J" * 1000)
    assert len(str(caught.value)) < 200
    assert "\x1b" not in str(caught.value)


def test_titles_and_any_case_are_found() -> None:
    """As it stands on a page, so it can be typed."""
    assert slug("Formatting Errors") == "formatting-errors"
    assert explain("formatting ERRORS") is explain("formatting-errors")
    assert explain("Plan Quality (PQ)").key == "pq"


def test_every_word_that_a_page_explains_is_known() -> None:
    """A template that names a term in so many words finds it."""
    folder = resources.files("tracejury.collector.web") / "templates"
    texts = [path.read_text() for path in Path(str(folder)).rglob("*.html")]
    named = {name for text in texts for name in re.findall(r"""explain\(["']([^"']+)["'][,)]""", text)}
    assert len(named) > 15
    assert sorted(name for name in named if find_term(name) is None) == []


def test_why_a_run_is_not_judged_is_known() -> None:
    """Every reason that rates give; those of traces in the words that lists have for them."""
    assert [why for why in (OPEN, BY_HAND, NOT_ASKED) if find_term(why) is None] == []
    of_outcomes = {NotJudged.WAITING, NotJudged.FAILED, NotJudged.OUR_CALLS}  # pending, failed, filtered
    assert {why: explain(why).title for why in NotJudged if why not in of_outcomes} == {
        why: why.words for why in NotJudged if why not in of_outcomes
    }


def test_populations_are_told() -> None:
    """The text on populations speaks of all of them."""
    text = explain("population").text.lower()
    assert all(word in text for word in ("detectors", "judges", Population.BOTH))
