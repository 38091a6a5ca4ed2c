"""Dimensions of annotated errors: labelled, or by category; and the counts beside the paper's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from trajectories import load

from tracejury.judges.agreement import Annotated
from tracejury.judges.measures.dimension_labels import (
    DEFAULT_DIMENSIONS,
    JUDGES,
    PAPER_COUNTS,
    PAPER_SERVICE,
    default_dimensions,
    dimension_counts,
    parse_labels,
    with_dimensions,
)
from tracejury.schemas.errors import PermanentError
from tracejury.schemas.taxonomy import TRAIL_CATEGORIES, Dimension

DEV = Path(__file__).parents[4] / "shared" / "data" / "trail" / "gaia-dev"


def error(trace: str, category: str = "Formatting Errors") -> Annotated:
    return Annotated(trace, "a", category)


def test_every_category_has_defaults_and_every_dimension_a_judge() -> None:
    """The tables are whole: the 21 leaves, the 7 dimensions, in the paper 6."""
    assert set(DEFAULT_DIMENSIONS) == set(TRAIL_CATEGORIES)
    assert set(JUDGES) == {d.value for d in Dimension}
    assert {d for own in DEFAULT_DIMENSIONS.values() for d in own} <= set(JUDGES)
    assert set(PAPER_COUNTS) == set(JUDGES) - {"GF"}


def test_labels_go_by_place_and_defaults_by_category() -> None:
    """A labelled trace takes its labels in order; an error labelled with none keeps none; other traces get defaults."""
    labels = parse_labels({"t": [["LC", "PQ"], []], "spare": [["TC"]]})
    result = with_dimensions([error("t"), error("u"), error("t"), error("u", "No Such Leaf")], labels)
    assert [e.dimensions for e in result.errors] == [("LC", "PQ"), ("EE", "TC"), (), ()]
    assert (result.labelled, result.defaulted) == (2, 2)


@pytest.mark.parametrize(("labels", "errors"), [([["LC"]], 2), ([["LC"], ["EE"], []], 2), ([], 1)])
def test_as_many_labels_as_errors(labels: list[list[str]], errors: int) -> None:
    """One too few or too many would shift all that follow: refused, naming the trace."""
    with pytest.raises(PermanentError, match="of t have"):
        with_dimensions([error("t")] * errors, parse_labels({"t": labels}))


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ([], "no object"),
        ({"t": {"0": ["LC"]}}, "of t are no list"),
        ({"t": [["LC"], "LC"]}, "error 1 of t are no list"),
        ({"t": [["LC", "XX"]]}, "error 0 of t is labelled 'XX'"),
        ({"t": [[7]]}, "error 0 of t is labelled 7"),
        ({"t": [["lc"]]}, "'lc', which is no dimension"),
    ],
)
def test_broken_labels_are_refused_with_their_place(document: Any, said: str) -> None:
    """One line that a person can act on."""
    with pytest.raises(PermanentError, match=said):
        parse_labels(document)


def test_a_dimension_given_twice_counts_once() -> None:
    """Labels are sets with an order."""
    assert parse_labels({"t": [["LC", "EE", "LC"]]}) == {"t": (("LC", "EE"),)}


def test_every_dimension_is_counted() -> None:
    """Those without an error, too."""
    rows = dimension_counts(with_dimensions([error("t"), error("t", "Goal Deviation")], {}).errors)
    assert {r.dimension: r.errors for r in rows if r.errors} == {"EE": 1, "TC": 1, "LC": 1, "PA": 1, "TS": 1}
    assert [r.dimension for r in rows] == list(JUDGES)


def _dev_errors() -> list[Annotated]:
    errors = []
    for path in sorted((DEV / "annotations").glob("*.json")):
        text = re.sub(r",(?=\s*[}\]])", "", path.read_text())
        errors += [Annotated(path.stem, e["location"], e["category"]) for e in json.loads(text)["errors"]]
    return errors


@pytest.mark.trail
@pytest.mark.skipif(not DEV.exists(), reason="the TRAIL traces are not at hand")
def test_the_labels_of_trail_dev_count_as_published() -> None:
    """Labels LC 107, EE 121, PA 69, PQ 17, TS 88, TC 143 over the errors of the traces at hand."""
    labels = parse_labels(json.loads((DEV / "dimensions.json").read_text()))
    result = with_dimensions(_dev_errors(), labels)
    assert result.defaulted == 0
    path = next((DEV / "traces").iterdir())
    assert {span.raw.resource_attributes["service.name"] for span in load(path)[path.name.split(".")[0]]} == {
        PAPER_SERVICE
    }
    counts = {r.dimension: r.errors for r in dimension_counts(result.errors)}
    assert counts == {"LC": 107, "EE": 121, "PA": 69, "PQ": 17, "TS": 88, "TC": 143, "GF": 0}


@pytest.mark.trail
@pytest.mark.skipif(not DEV.exists(), reason="the TRAIL traces are not at hand")
def test_defaults_are_the_dimensions_that_most_of_a_categorys_errors_have() -> None:
    """The table follows its rule for every category with at least five labelled errors."""
    errors = with_dimensions(_dev_errors(), parse_labels(json.loads((DEV / "dimensions.json").read_text()))).errors
    checked = 0
    for category in TRAIL_CATEGORIES:
        own = [e for e in errors if e.category == category]
        if len(own) >= 5:
            most = {d for d in JUDGES if 2 * sum(d in e.dimensions for e in own) > len(own)}
            assert set(default_dimensions(category)) == most, category
            checked += 1
    assert checked >= 10
