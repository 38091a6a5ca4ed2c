"""Everything that pages and tables name is explained, once, and can be found."""

from __future__ import annotations

import re
from importlib import resources
from pathlib import Path

import pytest

from tracejury.collector.queries.explain.glossary import (
    explain,
    find_term,
    glossary,
    near_terms,
    read_data,
    rule_texts,
    slug,
)
from tracejury.collector.rates.judge_coverage import BY_HAND, NOT_ASKED, OPEN
from tracejury.judges.llm.criteria import BUILT_IN, load_set
from tracejury.judges.registry import default_suite
from tracejury.schemas.errors import NotFoundError
from tracejury.schemas.profiles import PROFILES
from tracejury.schemas.rates import By, Population
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Dimension, Severity
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


@pytest.mark.parametrize("name", [*PROFILES, *By, "population", "error-rate", "interval", "p-value"])
def test_profiles_and_what_rates_are_asked_by_are_explained(name: str) -> None:
    """A profile, each break-down that the pages offer, and their figures have a text, too."""
    assert find_term(name) is not None


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
    """Every reason that rates give."""
    assert [why for why in (OPEN, BY_HAND, NOT_ASKED) if find_term(why) is None] == []


def test_populations_are_told() -> None:
    """The text on populations speaks of all of them."""
    text = explain("population").text.lower()
    assert all(word in text for word in ("detectors", "judges", Population.BOTH))
