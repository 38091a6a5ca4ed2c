"""Matches told by a person's file, compared with another rater's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tracejury.collector.evaluate.matches import PairCounts, compare, load_matches
from tracejury.collector.sources import BrokenFileError


def test_a_file_of_matches(tmp_path: Path) -> None:
    """By trace; the matches of a stored report are read as well."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"t": [[0, "f"], [0, "g"]], "u": []}))
    expected = {"t": {(0, "f"), (0, "g")}, "u": frozenset[object]()}
    assert load_matches(path) == expected
    path.write_text(json.dumps({"traces": 3, "matches": {"t": [[0, "f"], [0, "g"]], "u": []}}))
    assert load_matches(path) == expected


@pytest.mark.parametrize(
    "document",
    [[], {"t": 1}, {"t": [1]}, {"t": [[0]]}, {"t": [["f", 0]]}, {"t": [[-1, "f"]]}, {"t": [[True, "f"]]}],
)
def test_other_files_are_refused(tmp_path: Path, document: object) -> None:
    """By name."""
    path = tmp_path / "m.json"
    path.write_text(json.dumps(document))
    with pytest.raises(BrokenFileError, match=r"m\.json"):
        load_matches(path)


def test_pairs_of_traces_that_both_looked_at_are_compared() -> None:
    """2 errors and 2 findings make 4 pairs; unknown findings and errors, and other traces, are left out."""
    first = {"t": frozenset({(0, "f"), (1, "g"), (0, "gone")}), "only": frozenset({(0, "f")})}
    second = {"t": frozenset({(0, "f"), (1, "f"), (7, "f")}), "other": frozenset[tuple[int, str]]()}
    counts = compare(first, second, {"t": 2, "only": 1, "other": 1}, {"t": {"f", "g"}})
    assert counts == PairCounts(both=1, first=1, second=1, neither=1)
